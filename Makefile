# Everything runs from a virtual environment that make creates and fills itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench fuzz docs clean

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

fuzz: $(STAMP)  ## feed broken and hostile files to the readers for FUZZ_SECONDS
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

docs: $(STAMP)  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean:  ## remove what the other commands made
	rm -rf $(VENV) demo docs/_build docs/auto_examples docs/api/generated dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
