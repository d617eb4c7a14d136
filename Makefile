# Everything runs from a virtual environment that make creates and fills itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench scaling fuzz docs torture oldest package clean

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("tl1pca needs Python 3.11 or newer; set PYTHON=python3.x") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $(STAMP)

demo: $(STAMP)  ## find the bad rows of a built-in data set; figures and tables go to demo/
	$(BIN)/tl1pca demo --out demo

test: $(STAMP)  ## run the tests
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) -q

lint: $(STAMP)  ## ruff, mypy (strict) and the layers of the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)  ## time and quality as ratios against peers; tables go to benchmarks/results/
	$(BIN)/python benchmarks/speed.py

scaling: $(STAMP)  ## growth with rows and partitions; tables go to benchmarks/results/scaling.md
	$(BIN)/python benchmarks/scaling.py

fuzz: $(STAMP)  ## feed broken and hostile files to the readers for FUZZ_SECONDS
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

docs: $(STAMP)  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

torture: $(STAMP)  ## kills, faults, interrupts, 10,000 hard cases, load; up to half an hour
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m torture.run --workers $(WORKERS)

oldest:  ## run the tests with the oldest Python and libraries that are promised
	$(PYTHON) tests/oldest.py .venv-oldest -n $(WORKERS)

package:  ## build sdist and wheel and use them in a clean environment
	$(PYTHON) tests/package.py .venv-package

clean:  ## remove what the other commands made
	rm -rf $(VENV) .venv-oldest .venv-package demo docs/_build docs/auto_examples docs/api/generated dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
