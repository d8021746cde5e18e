"""Draw the imports between the packages of kernelfit into ARCHITECTURE.md.

``python tools/draw_imports.py`` rewrites the picture between its two marks; ``--check`` fails
where it is not up to date.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "kernelfit"
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- imports: begin -->\n", "<!-- imports: end -->\n"


def edges():
    """Return how many modules of one package import from another."""
    found = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        if len(parts) == 1:
            continue  # the public names, which are imported on first use
        targets = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kernelfit."):
                targets.add(node.module.split(".")[1])
        found.update((parts[0], target) for target in targets if target != parts[0])
    return found


def picture():
    """Return the picture as a Mermaid flow chart; a label counts the importing modules."""
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {a} -- {count} --> {b}" for (a, b), count in sorted(edges().items())]
    return "\n".join([*lines, "```"]) + "\n"


def redrawn(page):
    """Return the page with the picture renewed."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + picture() + END + tail


def main():
    """Renew the picture, or say by the exit status whether it is up to date."""
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        return int(redrawn(page) != page)
    PAGE.write_text(redrawn(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
