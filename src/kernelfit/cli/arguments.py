"""What arguments may be, checked before anything is loaded that takes time."""

from pathlib import Path

METHODS = ("auto", "svm", "ridge", "tkl", "dank", "knpl", "mkl", "union")
RIVALS = ("linear", "forest", "boosting", "baseline")  # scikit-learn's
STDIN = Path("-")


class TableError(ValueError):
    """What is wrong with a file, in one sentence."""


def need_file(path: Path) -> None:
    """Raise TableError unless there is a file."""
    if not path.is_file():
        why = "is a folder" if path.exists() else "does not exist"
        raise TableError(f"expected a file, got {str(path)!r}, which {why}")


def need_table(path: Path) -> None:
    """Raise TableError unless there is a file, or the path stands for standard input."""
    if path != STDIN:
        need_file(path)


def called(path: Path) -> Path:
    """Return what messages call a table."""
    return Path("standard input") if path == STDIN else path


def need_folder(path: Path) -> None:
    """Raise TableError unless a file can be written: in a folder that exists, over no folder."""
    if path.is_dir():
        raise TableError(f"expected a file to write, got {str(path)!r}, which is a folder")
    if not path.resolve().parent.is_dir():
        raise TableError(
            f"expected a folder for {path}, got {str(path.parent)!r}, which does not exist"
        )


def read_kinds(texts: list[str]) -> dict[str, str]:
    """Return kinds of columns from words such as "zip=category"; ValueError where they are none."""
    kinds = {}
    for text in texts:
        name, mark, kind = text.rpartition("=")
        if not (name and mark and kind):
            raise ValueError(f"expected --kind to be such as zip=category, got {text!r}")
        kinds[name] = kind
    return kinds


def read_names(text: str, known: tuple[str, ...], what: str) -> list[str]:
    """Return comma-separated names; ValueError unless all are known."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        got = ", ".join(unknown) or "none"
        raise ValueError(f"expected {what} among {', '.join(known)}, got {got}")
    return names
