# Everything a newcomer, a developer and CI do; CI calls the same targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Where pip keeps what it fetched; shared by the light and the full environment.
LIGHT := $(VENV)/.light
FULL := $(VENV)/.full
FUZZ := $(VENV)/.fuzz
# GUARDIAN_REAL_DATA in the environment names a folder of real exports for the tests that read them.
export HF_HUB_OFFLINE ?= 1
# Some machines forbid Python to keep bytecode; then each of the hundreds of commands that tests run compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check format lint types imports schemas dashboards bench simulate fuzz chaos soak clean help

help: ## Say what there is.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(LIGHT): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(FULL): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(LIGHT)

$(FUZZ): pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,fuzz]'
	@touch $@ $(FULL) $(LIGHT)

demo: $(LIGHT) ## Set up the light environment and run the coffee-shop story through broker, worker and store.
	@$(BIN)/guardian demo

# As many as there are cores, and one more; PROCESSES=0 runs the tests in one, as `python -m pytest tests` does.
PROCESSES ?= auto
test: $(FULL) ## Set up the full environment and run everything CI runs.
	@$(MAKE) --no-print-directory check
	$(BIN)/python -m pytest tests --numprocesses=$(PROCESSES) --dist=loadfile --no-loadscope-reorder

check: lint types imports schemas dashboards ## Format, lint, types, import floors, drift of schemas and dashboards.

format: $(FULL) ## Format and mend what can be mended.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(FULL)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(FULL)
	$(BIN)/mypy

imports: $(FULL)
	$(BIN)/lint-imports --no-cache

schemas: $(FULL)
	$(BIN)/python -m guardian.contracts.schema --check
	$(BIN)/python -m guardian.serve.openapi --check

dashboards: $(FULL)
	$(BIN)/python -m deploy.grafana.generate --check

bench: $(FULL) ## Run the benchmarks and print their tables.
	$(BIN)/python -m benchmarks

SEEDS ?= 200
simulate: $(FULL) ## Drive the write path through SEEDS simulated worlds of faults.
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --processes 2

MINUTES ?= 10
TARGET ?=
fuzz: $(FUZZ) ## Fuzz the readers for MINUTES each; TARGET names one of them.
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(TARGET:%=--target %)

# A run is told by its seed; CHAOS takes more options, such as CHAOS="--events 20000 --kills 30 --store loopback --seed 7".
CHAOS ?=
chaos: $(FULL) ## Kill real workers under load, a hundred times, and verify every record (CHAOS="--seed 7" and more options).
	$(BIN)/python -m tests.chaos $(CHAOS)

soak: $(FULL) ## Twenty minutes of steady load with restarts; memory must stay flat (SOAK="--minutes 60" and more options).
	$(BIN)/python -m tests.chaos.soak --picture docs/soak.svg $(SOAK)

clean: ## Remove the environments and caches.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
