# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2
TIMES ?= 10
EXAMPLES ?= 3000
# RECORD=--record keeps the counts of attacks for docs/reliability.md; RECORD="--record --resume" goes on where that was cut off.
RECORD ?=

.DEFAULT_GOAL := help
# Compiled modules are kept: each of three test processes would compile them anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo test test-engines test-spark test-slow attack check format bench bench-check docs lock release clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' Makefile | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

demo: $(VENV)/.core ## Run the paper's experiment on a simulated month whose truth is known
	$(BIN)/warmstart demo

test: check ## Check the code and run the tests
	@$(MAKE) --no-print-directory -j 2 test-engines test-spark

# Tests of a file share logs and policies, so that a worker takes whole files.
test-engines: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow and not spark"

# One session, beside the others; what it says comes in one piece.
test-spark: $(VENV)/.dev
	@$(BIN)/python -m pytest -m "not slow and spark" >$(VENV)/spark.log 2>&1; code=$$?; cat $(VENV)/spark.log; exit $$code

test-slow: $(VENV)/.dev ## Run the long statistical tests
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

attack: $(VENV)/.dev ## Fuzz the parsers; kill, starve and cut off every command; compare engines with plain Python
	$(BIN)/python -m tests.attack --times $(TIMES) --examples $(EXAMPLES) $(RECORD)
	$(BIN)/python -m tests.differential $(RECORD)

check: $(VENV)/.dev ## Lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## Run the benchmarks, keep their ratios in benchmarks/results
	$(BIN)/python -m benchmarks.check --record
	$(BIN)/python -m benchmarks --record
	$(BIN)/python -m benchmarks.tables

bench-check: $(VENV)/.dev ## Fail where a benchmark is a quarter slower or larger than recorded
	$(BIN)/python -m benchmarks.check

docs: $(VENV)/.dev ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lock: $(VENV)/.dev ## Pin the dependencies anew
	$(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --no-emit-index-url --no-annotate --no-header pyproject.toml -o requirements/core.txt
	$(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --no-emit-index-url --no-annotate --no-header pyproject.toml --group dev --extra spark -c requirements/core.txt -o requirements/dev.txt

release: $(VENV)/.dev ## Build sdist and wheel, try them on every Python at hand, list hashes, parts and licences
	$(BIN)/python scripts/release.py

clean: ## Remove everything that was made
	rm -rf $(VENV) site dist warmstart-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "warmstart needs Python 3.11 or later; say which with: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: requirements/core.txt pyproject.toml | $(BIN)/python
	$(PIP) install -r requirements/core.txt
	$(PIP) install --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(PIP) install -r requirements/dev.txt
	$(PIP) install --no-deps --editable .
	@touch $@ $(VENV)/.core
