import kernelfit
from kernelfit.utils.environment import NEEDED


def test_versions_are_shown(capsys):
    kernelfit.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["kernelfit"] == kernelfit.__version__
    assert {"python", "platform", *NEEDED} <= lines.keys()
    assert "not installed" not in [lines[name] for name in NEEDED]
