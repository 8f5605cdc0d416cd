# Everything a contributor does, by name. `make test` is all that a fresh Debian or Ubuntu machine needs.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
PYTHON_SOURCES := src tests docs native hatch_build.py
TRACE := src/steno/native/steno-trace
TRACE_SOURCES := $(wildcard native/trace/*.c native/trace/*.h)
# What the tests drive for real: terminals, editors, pagers, shells, git, script(1).
PROGRAMS := git gcc script scriptreplay vim less fzf tmux dash strace gdb rsync bwrap

.PHONY: test check native native-test unit bench demo docs fmt soak programs player clean
.DEFAULT_GOAL := test

test: check native native-test player
	STENO_NODE_MODULES=$(CURDIR)/$(VENV)/node_modules $(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak"

check: $(VENV)/.ready programs
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

native: $(TRACE)

$(TRACE): $(TRACE_SOURCES) native/compile.py | programs
	$(PYTHON) native/compile.py $@ -Werror

# No warning, and the parts of steno-trace that are pure: tested and fuzzed with every check that the compiler can put in.
native-test: programs
	$(PYTHON) native/compile.py native/build/steno-trace -Werror
	sh native/test.sh

unit: $(VENV)/.ready
	$(BIN)/python -m pytest tests/unit

soak: $(VENV)/.ready programs
	$(BIN)/python -m pytest -m soak

# An hour or so, and only worth it on a quiet machine; BENCH=--quick tries it out in a few minutes.
bench: $(VENV)/.ready programs native
	$(BIN)/python tests/bench/run.py $(BENCH)

demo: $(VENV)/.ready
	PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

# The help of every command, the table of redaction rules and what becomes of every system call, written into the
# docs; tests hold them fresh.
docs: $(VENV)/.ready
	$(BIN)/python docs/generate_cli.py --write
	$(BIN)/python tests/unit/redact/test_docs.py
	$(BIN)/python docs/generate_readme.py --write
	$(BIN)/python native/generate.py --write

fmt: $(VENV)/.ready
	$(BIN)/ruff check --fix --exit-zero $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)

programs:
	@PYTHON=$(PYTHON) sh tests/install-programs.sh $(PROGRAMS)

$(VENV)/.ready: pyproject.toml hatch_build.py
	@echo "steno: making a virtual environment in $(VENV) and installing Steno with its test tools into it"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

# The asciicast player that one test plays our recordings with; without npm that test says it is skipped.
player: $(VENV)/.ready
	@if command -v npm >/dev/null && [ ! -d $(VENV)/node_modules/asciinema-player ]; then \
		echo "steno: installing asciinema-player into $(VENV) for one test"; \
		npm install --silent --no-save --no-audit --no-fund --fetch-retries 1 --fetch-timeout 20000 \
			--prefix $(VENV) asciinema-player \
			|| echo "steno: asciinema-player cannot be installed here; its test will say that it is skipped"; \
	fi

clean:
	rm -rf $(VENV) build dist native/build src/steno/native .mypy_cache .ruff_cache .pytest_cache .hypothesis
