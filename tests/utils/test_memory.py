import pytest

from kernelfit.utils import memory

GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GiB available, whose control groups a test may write."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_CGROUPS", groups)
    monkeypatch.setattr(memory, "_of_process", lambda: iter(()))
    return proc, groups


def write_group(folder, limit, usage, stat, names):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, usage, stat), strict=True):
        (folder / name).write_text(f"{value}\n")


def test_what_the_system_gives(system):
    assert memory.available_memory() == 8 * GIB
    assert memory.cache_bytes("auto") == 2 * GIB
    assert memory.cache_bytes("auto", GIB) == GIB / 4
    assert memory.cache_bytes(3.5) == 3.5 * 2**20


def test_limits_of_control_groups_of_version_2(system):
    proc, groups = system
    (proc / "self" / "cgroup").write_text("0::/jobs/mine\n")
    names = ("memory.max", "memory.current", "memory.stat")
    write_group(groups / "jobs" / "mine", "max", GIB, "anon 5", names)
    assert memory.available_memory() == 8 * GIB
    write_group(groups / "jobs", 6 * GIB, 3 * GIB, f"anon 5\ninactive_file {GIB}", names)
    assert memory.available_memory() == 4 * GIB  # of the group above, files can be dropped
    write_group(groups / "jobs" / "mine", 2 * GIB, 3 * GIB, "anon 5", names)
    assert memory.available_memory() == 1  # nothing is left


def test_limits_of_control_groups_of_version_1(system):
    proc, groups = system
    (proc / "self" / "cgroup").write_text("5:cpu:/x\n4:memory,hugetlb:/docker/1\n")
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
    # In the container, the path that the file names is not there.
    write_group(groups / "memory", 3 * GIB, 2 * GIB, f"total_inactive_file {GIB}", names)
    assert memory.available_memory() == 2 * GIB


def test_nothing_is_known(system, monkeypatch):
    monkeypatch.setattr(memory, "_of_system", lambda: iter(()))
    assert memory.available_memory() == 4 * GIB


def test_this_machine():
    assert all(bytes_ > 0 for bytes_ in memory._of_system())
    assert 0 < memory.available_memory() < 2**60
