# The commands for people and for CI. Each makes what it needs: an environment in .venv, and what is installed in it.

VENV ?= .venv
PYTHON ?= python3
SQUAD ?= ../shared/data/squad-v1.1-dev/dev-v1.1.even.json
BIN := $(VENV)/bin
# A process for each core, a file of tests to each. One for a debugger: make test ARGS="-n0 --pdb"
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile
TORCH ?= 2.13.0
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test test-all test-stores test-scale check format bench docs site lock clean

help:  ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

demo: $(VENV)/.installed  ## cut, index and search a small encyclopedia
	$(BIN)/factoid demo

test: $(VENV)/.installed-dev  ## run the tests; ARGS="-k store" passes options to pytest
	$(PYTEST) $(ARGS)

test-all: $(VENV)/.installed-dev  ## run the slow tests as well: kills, full disks, damage, all settings
	$(PYTEST) -m "not network" $(ARGS)

test-stores: $(VENV)/.installed-dev  ## install Chroma, PostgreSQL, Qdrant and Milvus, and run the tests over them
	$(PIP) install --quiet -c constraints.txt --group stores
	$(PYTEST) -m "not network" tests/existing tests/test_examples.py \
	  tests/scale/test_load.py tests/scale/test_planner.py tests/scale/test_page.py \
	  tests/typed/test_examples.py::test_mypy_over_stores_of_others $(ARGS)

test-scale: $(VENV)/.installed-dev  ## install Ray, and run the tests of building and loading shards, kills too
	$(PIP) install --quiet -c constraints.txt --group scale
	$(PYTEST) -m "not network" tests/scale $(ARGS)

check: $(VENV)/.installed-dev  ## format, lint, types here and of examples, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev  ## mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed  ## measure what each way to score finds: make bench SQUAD=dev-v1.1.json
	$(BIN)/python -m benchmarks.ranking $(SQUAD) $(ARGS)

docs: $(VENV)/.installed  ## write docs/cli.md, quoted code and the picture of the first page
	$(BIN)/python tools/cli_help.py
	$(BIN)/python tools/quotes.py
	$(BIN)/python tools/picture.py

site: $(VENV)/.installed-docs  ## build the documentation as a site into build/site; a broken link is an error
	$(BIN)/zensical build --clean --strict

lock:  ## write constraints.txt: the newest packages of all that is installed together, resolved and not installed
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	build/lock/bin/python -m pip install --quiet --dry-run --ignore-installed --report build/lock/report.json \
	  "torch==$(TORCH)" -e ".[all,demo]" --group dev --group docs --group stores
	build/lock/bin/python tools/lock.py build/lock/report.json > build/lock/constraints.txt
	mv build/lock/constraints.txt constraints.txt

clean:  ## remove the environment and everything that was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The files whose dates say that an installation is up to date.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "factoid needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"
	touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	@echo "Installing factoid and its extras into $(VENV): some minutes the first time"
	$(PIP) install --quiet -c constraints.txt -e ".[all,demo]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt --group dev
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt --group docs
	touch $@
