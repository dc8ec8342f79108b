# The one entry: each target sets up what it needs by itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test check bench eval format requirements clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make the virtual environment

# uv where it is there, plain venv and pip where it isn't; both install the same hashed versions.
$(READY): requirements/dev.txt pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
	  uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

demo: setup ## Sync the built-in demo project and show a tour
	@$(BIN)/lore demo

# Hundreds of tests start `lore` as a process: without bytecode each of them would compile our sources again.
test: export PYTHONDONTWRITEBYTECODE :=
test: setup ## Run all tests
	$(BIN)/python -m pytest -p xdist -n 2 --dist worksteal

check: setup ## Lint, check the format and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup ## Measure, and print the tables
	$(BIN)/python -m bench

eval: setup ## Judge the answers of search against known ones
	$(BIN)/python -m bench.evaluation

format: setup ## Put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

requirements: ## Pin the newest versions that fit, with their hashes (needs uv)
	uv pip compile --quiet --universal --upgrade --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --python-version 3.11 pyproject.toml requirements/dev.in -o requirements/dev.txt

clean: ## Remove what was made here
	rm -rf $(VENV) .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
