"""Load corrupted files: ``python -m tests.io.corrupt FOLDER COUNT SEED``, a process that may die.

Prints one line of JSON a file: how it was corrupted, what `load` answered, and how much memory it
took. A loaded model is asked for predictions, which may fail but not crash.
"""

import hashlib
import io
import json
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np

import kernelfit
from tests.io import models

STRINGS = ["", "x" * 50, "../../etc/passwd", "os:system", "builtins:eval", "kernelfit.cli:app"]
STRINGS += ["kernelfit.io.files:save", "kernelfit.utils.jit:jit", "sklearn.tree:ExtraTreeRegressor"]
STRINGS += ["kernelfit.kernels.radial:RBF", "kernelfit.kernels.forest:Forest", "<f4", "<U1", "|O"]
NUMBERS = [-1, 0, 1, 7, 10**9, 2**63, 2**64 - 1, 10**30, -0.5, 1e308]
VALUES = [*STRINGS, *NUMBERS, None, True, [], {}, [1, 2], {"array": 0}, {"object": 0}]
VALUES += [{"array": 10**6}, {"object": -1}, {"tuple": []}, {"float": "nan"}, {"function": "eval"}]
VALUES += [{"scalar": ["<i8", 3]}, {"set": [1]}, {"dict": []}, {"objects": [[2], [1, 2]]}]


def entries(blob):
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive(parts, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of repeated names
        for name, content in parts:
            file.writestr(name, content)
    return out.getvalue()


def flip(blob, rng):
    bits = bytearray(blob)
    for place in rng.integers(len(bits) * 8, size=rng.integers(1, 4)):
        bits[place // 8] ^= 1 << int(place % 8)
    return bytes(bits)


def truncate(blob, rng):
    return blob[: rng.integers(len(blob))]


def overwrite(blob, rng):
    start, length = rng.integers(len(blob)), rng.integers(1, 200)
    return blob[:start] + rng.bytes(length) + blob[start + length :]


def places(value, path=()):
    """Yield the path of every value in some JSON."""
    yield path
    if not isinstance(value, dict | list):
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from places(one, (*path, key))


def edit_json(blob, rng):
    """Replace, repeat or remove values anywhere in the manifest."""
    parts = entries(blob)
    manifest = json.loads(parts["manifest.json"])
    for _ in range(rng.integers(1, 3)):
        every = [path for path in places(manifest) if path]
        *above, last = every[rng.integers(len(every))]
        target = manifest
        for key in above:
            target = target[key]
        how = rng.integers(4)
        if how == 0:
            del target[last]
        elif how == 1 and isinstance(target, dict):
            target[STRINGS[rng.integers(len(STRINGS))]] = target.pop(last)
        elif how == 2 and isinstance(target[last], int | float):
            target[last] = NUMBERS[rng.integers(len(NUMBERS))]
        else:
            target[last] = VALUES[rng.integers(len(VALUES))]
    parts["manifest.json"] = json.dumps(manifest).encode()
    return archive(parts.items())


def edit_arrays(blob, rng):
    """Change numbers and shapes, with checksums that fit."""
    parts = entries(blob)
    manifest = json.loads(parts["manifest.json"])
    kinds = [name.removesuffix(".npy") for name in parts if name.endswith(".npy")]
    # Mostly the integers: they are what compiled loops trust.
    kind = "int64" if "int64" in kinds and rng.random() < 0.6 else kinds[rng.integers(len(kinds))]
    array = np.load(io.BytesIO(parts[f"{kind}.npy"]))
    for _ in range(rng.integers(1, 5) * bool(len(array))):
        value = NUMBERS[rng.integers(len(NUMBERS))]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array[rng.integers(len(array))] = np.float64(value).astype(array.dtype)
    if rng.random() < 0.3:
        array = array[: rng.integers(len(array) + 1)]
    for description in manifest["arrays"]:
        shape = description[1]
        if len(shape) == 2 and rng.random() < 0.1:
            description[1] = [shape[1], shape[0]]
        elif len(shape) == 2 and rng.random() < 0.1:
            description[1] = [1, shape[0] * shape[1]]
    manifest["checksums"][kind] = hashlib.sha256(array.tobytes()).hexdigest()
    out = io.BytesIO()
    np.save(out, array)
    parts[f"{kind}.npy"] = out.getvalue()
    parts["manifest.json"] = json.dumps(manifest).encode()
    return archive(parts.items())


def oversize(blob, rng):
    """Declare more than there is."""
    parts = entries(blob)
    manifest = json.loads(parts["manifest.json"])
    huge = int(10 ** rng.integers(6, 25))
    how = rng.integers(4)
    if how == 0:
        manifest["arrays"][rng.integers(len(manifest["arrays"]))][1] = [huge]
    elif how == 1:
        manifest["arrays"] *= int(rng.integers(2, 2000))
    elif how == 2:
        header = np.lib.format
        out = io.BytesIO()
        shape = {"descr": "<f8", "fortran_order": False, "shape": (huge,)}
        header.write_array_header_1_0(out, shape)
        parts["float64.npy"] = out.getvalue() + parts["float64.npy"][128:]
    else:
        manifest["objects"] = [[]] * 300_000
    parts["manifest.json"] = json.dumps(manifest, separators=(",", ":")).encode()
    return archive(parts.items())


def bomb(blob, rng):
    """Compress, nest or repeat entries, or write a long list of them."""
    parts = entries(blob)
    how = rng.integers(5)
    if how == 0:
        parts["float64.npy"] = bytes(5_000_000)
        return archive(parts.items(), zipfile.ZIP_DEFLATED)
    if how == 1:
        parts["manifest.json"] = b"[" * int(rng.integers(10, 1_000_000))
        return archive(parts.items())
    if how == 2:
        return archive([*parts.items(), *parts.items()])
    if how == 3:
        return archive([(f"{k}.npy", b"") for k in range(int(rng.integers(100, 3000)))])
    # The lists of entries say that one is larger than it is.
    changed = bytearray(blob)
    at = blob.rindex(b"PK\x01\x02")
    changed[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2
    return bytes(changed)


def climb(blob, rng):
    names = ["../evil", "/etc/evil", "..\\evil.npy", "float64.npy/../../evil", "C:evil", "bool/"]
    parts = list(entries(blob).items())
    name = names[rng.integers(len(names))]
    if rng.random() < 0.5:
        return archive([*parts, (name, b"evil")])
    return archive([(name, parts[0][1]), *parts[1:]])


WAYS = (flip, truncate, overwrite, edit_json, edit_arrays, edit_arrays, oversize, bomb, climb)


def main(folder, count, seed):
    """Corrupt every model of a folder in turn."""
    originals = sorted(Path(folder).glob("*.kernelfit"))
    known = {path: models.results(kernelfit.load(path)) for path in originals}
    target = Path(folder) / "corrupted"
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        path, way = originals[number % len(originals)], WAYS[number % len(WAYS)]
        blob = way(path.read_bytes(), rng)
        target.write_bytes(blob)
        record = {"number": number, "way": way.__name__, "model": path.stem}
        print(json.dumps(record), end=" ", flush=True)
        print(json.dumps(outcome(target, len(blob), known[path])), flush=True)


def outcome(path, size, known):
    """Return what comes of a file."""
    tracemalloc.start()
    model, answer = None, ""
    try:
        model = kernelfit.load(path)
    except ValueError as error:
        answer = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    said = "refused"
    if model is not None:
        said = "different"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                now = models.results(model)
            if all(np.array_equal(now[name], value) for name, value in known.items()):
                said = "equal"
        except (Exception, MemoryError) as error:
            said = f"fails: {type(error).__name__}"
    return {"size": size, "peak": peak, "said": said, "answer": answer}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
