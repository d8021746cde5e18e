"""Run the command: ``python -m kernelfit``."""

from kernelfit.cli.main import main

main()
