# demo, test, lint, docs, matrix, fuzz, bench: each makes the virtual environment it needs, so each works
# alone in a fresh clone with Python 3.11 or later and pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs matrix fuzz bench clean

# On one thread, like its rivals in scikit-learn.
demo: export OPENBLAS_NUM_THREADS = 1
demo: export OMP_NUM_THREADS = 1
demo: $(VENV)/.demo
	mkdir -p demo_output
	$(BIN)/kernelfit demo --folder demo_output

# Two test processes on one BLAS and OpenMP thread each.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pages into docs/_build/html, the gallery's pictures included; a warning is an error.
docs: export OPENBLAS_NUM_THREADS = 1
docs: export OMP_NUM_THREADS = 1
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The tests with other arithmetic, other dependencies, other Pythons and without numba; one setting
# alone by `make matrix ONLY=oldest`. tests/matrix.py names them all.
matrix: $(VENV)/.test
	$(BIN)/python -m tests.matrix $(ONLY)

# Random fits: `make fuzz SEED=10000 COUNT=500`.
SEED ?= 0
COUNT ?= 10000
fuzz: export OPENBLAS_NUM_THREADS = 1
fuzz: export OMP_NUM_THREADS = 1
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz --seed $(SEED) --count $(COUNT)

# Speed first, then the accuracy tables, which go on where they were interrupted.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build demo_output dist docs/_build docs/api docs/gallery docs/repository .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are older than pyproject.toml exactly when an installation is due.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[cli,report]"
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

# XGBoost is a rival in one of the tables.
$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable . "xgboost>=2.0"
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
