# Two commands matter: `make run` and `make test`. Everything works on a machine with Python 3.11+, make and a package registry.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
# Where this is set, as in many containers, each process of each test would compile all it imports anew.
unexport PYTHONDONTWRITEBYTECODE
# Fast tests wait now and then: four workers fill two cores. Tests of processes wait a lot: six of them. Each with a thread per
# core for its arithmetic, they would wait for each other. Files run in the order of the tree. The plugin that tries a
# test again talks to a server at each test, also when it tries nothing again.
QUICK := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --dist loadfile --no-loadscope-reorder
ELSEWHERE := integration or browser or attack or fault
FAST := $(QUICK) -n 4 -p no:rerunfailures -m "not (process or long or $(ELSEWHERE))"
TYPES := $(BIN)/mypy && $(BIN)/lint-imports
PROCESS := $(QUICK) -n 6 -m "process and not ($(ELSEWHERE))"
# Whole stacks, and attacks on sandboxes.
STACKS := $(BIN)/pytest --dist loadfile --no-loadscope-reorder
LONG := $(QUICK) -n 2 -m "long and not (process or $(ELSEWHERE))"

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Threadbook needs Python 3.11 or newer, this is " + sys.version.split()[0] + ". Set PYTHON=python3.11 (or newer) and try again.")'
	@echo "[1/3] making .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo "[2/3] installing Threadbook and what it needs into .venv (about 120 packages, one to three minutes the first time)"
	@$(BIN)/python scripts/install.py .
	@echo "[3/3] installed: $(BIN)/threadbook --help"
	@touch $@

.venv/.dev: .venv/.installed
	@echo "[+] installing what the checks and tests need"
	@$(BIN)/python scripts/install.py '.[dev]'
	@touch $@

.venv/.deploy: .venv/.dev
	@echo "[+] installing the checkers of deploy/"
	@$(BIN)/python scripts/install.py '.[dev,deploy]'
	@touch $@

install: .venv/.installed  ## make .venv with everything that running needs

run: install  ## start it all here, ask a sample question, stay up (Ctrl-C ends it)
	@$(BIN)/threadbook up

demo: install  ## the same without a page: a file, a follow-up, a database; exits 0 only if all of it arrived
	@$(BIN)/threadbook demo

check: lint types  ## format, lint, types, import contracts

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/.dev
	$(TYPES)

fix: .venv/.dev  ## format the code and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The types are checked beside the tests: the checker fills one core, and tests wait now and then. Its words come last.
test: lint  ## check + the fast tests
	@mkdir -p build
	@($(TYPES)) >build/types.log 2>&1 & types=$$!; \
	  $(FAST); tests=$$?; wait $$types; checked=$$?; cat build/types.log; exit $$((tests ? tests : checked))

test-integration: .venv/.dev  ## what takes long, real sessions, real Redis and Postgres, and the whole stack
	$(LONG)
	$(PROCESS)
	$(STACKS) -n 4 -m "integration and not attack"
	$(STACKS) -n 2 -m attack

test-wheel: .venv/.dev  ## the wheel in an empty environment: every command there
	$(BIN)/python scripts/try_wheel.py

coverage: .venv/.dev  ## branch coverage of the fast and integration tests together: per package, then what is not covered
	$(BIN)/coverage erase
	$(FAST) --cov --cov-report=
	$(LONG) --cov --cov-append --cov-report=
	$(PROCESS) --cov --cov-append --cov-report=
	$(STACKS) -n 4 --cov --cov-append --cov-report= -m "integration and not attack"
	$(STACKS) -n 2 --cov --cov-append --cov-report= -m attack
	$(BIN)/python scripts/coverage_by_package.py

test-newcomer:  ## from git clone to the answer to an own question, timed; empty environment
	@$(PYTHON) scripts/try_newcomer.py

test-again: .venv/.dev  ## N=20 times all fast and integration tests under load, without second tries; lists what failed even once
	$(BIN)/python scripts/test_again.py --times $(or $(N),20)

test-attacks: .venv/.dev  ## the attacks again, as an ordinary user, without user namespaces and in a bare container (needs root)
	@for machine in ordinary-user ordinary-user-refused bare-container; do echo "== $$machine"; \
	  $(BIN)/python tests/attacks/situations.py $$machine -- $(BIN)/pytest -p no:cacheprovider -m attack tests/attacks || exit 1; \
	done

mutate-walls: .venv/.dev  ## takes each rule of the sandbox away and sees which attack gets through (MINUTES=120, needs root)
	PYTHONPATH=. $(BIN)/python tests/attacks/mutations.py --minutes $(or $(MINUTES),120) --table build/walls.md

fuzz: .venv/.dev  ## MINUTES=30 of the processor of odd input at every door; what breaks a reader is kept in tests/fuzz/corpus
	PYTHONPATH=. $(BIN)/python tests/fuzz/door.py --minutes $(or $(MINUTES),30)
	@if $(BIN)/python -c 'import atheris' 2>/dev/null; then PYTHONPATH=. $(BIN)/python tests/fuzz/guided.py --minutes $(or $(MINUTES),30); \
	  else echo "left out: the run that is guided by coverage (pip install atheris)"; fi

test-faults: .venv/.dev  ## everything is killed, lost or full at every moment; writes the table of docs/reliability.md
	UPDATE_RELIABILITY=1 $(BIN)/pytest -m fault tests/faults

soak: .venv/.dev  ## MINUTES=5 of random faults over many threads; SEED= repeats a draw
	PYTHONPATH=.:tests:tests/faults UPDATE_RELIABILITY=1 $(BIN)/python tests/faults/soak.py --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

soak-year: .venv/.dev  ## a simulated year: THREADS=10000 with TURNS=100 a day; says what each store holds
	PYTHONPATH=.:tests:tests/faults $(BIN)/python tests/faults/year.py --threads $(or $(THREADS),10000) --turns $(or $(TURNS),100)

soak-postgres: .venv/.dev  ## MINUTES=5 of turns while Postgres is restarted every 5 to 40 s
	PYTHONPATH=.:tests:tests/faults UPDATE_RELIABILITY=1 $(BIN)/python tests/faults/soak.py --only-postgres --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

test-browser: .venv/.dev  ## the playground's page in Chromium
	$(STACKS) -n 2 -m browser

test-all: test test-integration test-attacks test-faults test-browser  ## everything

check-deploy: .venv/.deploy  ## each file of deploy/ by its own checker; says which checkers are not installed
	@$(BIN)/python scripts/check_deploy.py

build/trl/.installed: tests/training/requirements.txt
	@$(PYTHON) -m venv --clear build/trl
	@echo "[+] installing datasets, TRL and torch into build/trl (1.5 GB with torch for the CPU)"
	@build/trl/bin/pip install -q --disable-pip-version-check -r tests/training/requirements.txt
	@touch $@

check-trl: .venv/.dev build/trl/.installed  ## every format of `threadbook export` loaded by datasets, used by TRL's formatters and trainers
	PYTHONPATH=.:tests $(BIN)/python tests/training/check_trl.py build/trl/bin/python

build/litellm/.installed: tests/proxies/requirements.txt
	@$(PYTHON) -m venv --clear build/litellm
	@echo "[+] installing the LiteLLM proxy into build/litellm (750 MB)"
	@build/litellm/bin/pip install -q --disable-pip-version-check -r tests/proxies/requirements.txt
	@touch $@

check-litellm: .venv/.dev build/litellm/.installed  ## models asked through a real LiteLLM proxy: its mock replies, an endpoint behind it
	PYTHONPATH=.:tests $(BIN)/python tests/proxies/check_litellm.py build/litellm/bin/litellm

docs: .venv/.deploy  ## the site of the documents in build/site; a link that leads nowhere is an error
	$(BIN)/mkdocs build --strict --quiet

build/shipped: pyproject.toml constraints.txt
	@$(PYTHON) -m venv --clear $@
	@$@/bin/pip install -q --disable-pip-version-check -c constraints.txt '.[s3]'

sbom: .venv/.deploy build/shipped  ## build/sbom.cdx.json and build/licenses.md: what an installation gets
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o build/sbom.cdx.json build/shipped/bin/python
	$(BIN)/pip-licenses --python build/shipped/bin/python --format markdown --with-urls --order license --output-file build/licenses.md

bench: .venv/.dev  ## side-by-side measurements, printed as ratios, raw figures in bench/results.json
	$(BIN)/python -m bench

eval: .venv/.dev  ## our suite of questions: MODEL=offline, or any model that the key opens; JOBS=2 at once
	$(BIN)/python -m bench.suite .eval/suite
	$(BIN)/threadbook eval .eval/suite/suite.jsonl --model $(or $(MODEL),offline) -j $(or $(JOBS),2) --out .eval/$(or $(MODEL),offline)

.PHONY: fuzz mutate-walls help install run demo check lint types fix test coverage test-again test-newcomer test-integration test-wheel test-browser test-faults soak soak-postgres soak-year test-all check-deploy check-trl check-litellm docs sbom bench eval
