"""Where the command begins: it needs typer, which kernelfit itself does not."""

import sys

from kernelfit.utils.version import __version__


def main() -> None:
    """Run the command, or say what it needs."""
    if sys.argv[1:] == ["--version"]:
        print(f"kernelfit {__version__}")
        return
    try:
        from kernelfit.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kernelfit"):
            raise
        sys.exit(f"kernelfit: the command needs {error.name}: pip install 'kernelfit[cli]'")
    app()
