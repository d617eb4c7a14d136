# Everything runs from a virtual environment that make creates and fills itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
FUZZ_SECONDS ?= 60
MINUTES ?= 60

.DEFAULT_GOAL := help
.PHONY: help demo test testall coverage lint bench scaling fuzz guided soak docs torture mutate oldest package firstcontact clean

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-13s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("tl1pca needs Python 3.11 or newer; set PYTHON=python3.x") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $(STAMP)

demo: $(STAMP)  ## find the bad rows of a built-in data set; pictures, tables and a report go to demo/
	$(BIN)/tl1pca demo --out demo

# Worksteal keeps neighbors together: what a file prepares is prepared once, not by every worker.
test: $(STAMP)  ## run the tests, but for the slow ones
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not slow"

testall: $(STAMP)  ## run all tests: kills, interrupts, memory limits and large files too
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# Forks beside threads wait for ever for a lock of the tracer: their tests are left out.
coverage: $(STAMP)  ## run the tests and say which lines and branches none of them reaches
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --cov --cov-report=term:skip-covered --ignore=tests/test_threads.py --ignore=tests/torture

lint: $(STAMP)  ## ruff, mypy (strict) and the layers of the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)  ## time and quality as ratios against peers; tables go to benchmarks/results/
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/middle.py

scaling: $(STAMP)  ## growth with rows and partitions; tables go to benchmarks/results/scaling.md
	$(BIN)/python benchmarks/scaling.py

fuzz: $(STAMP)  ## feed broken and hostile files to the readers for FUZZ_SECONDS
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

guided: $(STAMP)  ## coverage-guided fuzzing of model files for FUZZ_SECONDS; installs atheris
	$(BIN)/python -m pip install --quiet atheris
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python fuzz/guided.py load --seconds $(FUZZ_SECONDS)

soak: $(STAMP)  ## fits, saves and loads from threads, forks and spawned pools for MINUTES
	PYTHONPATH=tests $(BIN)/python -m torture.soak --minutes $(MINUTES)

docs: $(STAMP)  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

torture: $(STAMP)  ## kills, faults, interrupts, 10,000 hard cases, load; up to half an hour
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m torture.run

mutate: $(STAMP)  ## change one thing in the source at a time and see whether a test fails; about a quarter of an hour
	$(BIN)/python tests/mutation.py

oldest:  ## run the tests with the oldest Python and libraries that are promised
	$(PYTHON) tests/oldest.py .venv-oldest -n $(WORKERS)

package:  ## build sdist and wheel and use them in a clean environment
	$(PYTHON) tests/package.py .venv-package

firstcontact:  ## make demo and make test in private clones, as this user and as another, twice each; an hour
	$(PYTHON) tests/first_contact.py

clean:  ## remove what the other commands made
	rm -rf $(VENV) .venv-oldest .venv-package demo docs/_build docs/auto_examples docs/api/generated dist .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
