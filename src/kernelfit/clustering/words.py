"""Words of warnings and explanations."""


def plural(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 cluster" and "2 clusters"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
