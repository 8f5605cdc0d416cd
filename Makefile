# Everything a contributor does, by name. `make test` is all that a fresh Debian or Ubuntu machine needs.

VENV := .venv
BIN := $(VENV)/bin
DEMO := .demo
PYTHON ?= python3
SUITE = STENO_NODE_MODULES=$(CURDIR)/$(VENV)/node_modules $(BIN)/python tests/whole_suite.py
PYTHON_SOURCES := src tests bench docs native hatch_build.py
NATIVE := src/steno/native
TRACE_SOURCES := $(wildcard native/trace/*.[ch] native/generated/*.[ch] native/probe/*.h)
BPF_OBJECT := native/probe/probe.bpf.o
# What the tests drive for real: terminals, editors, pagers, shells, git, script(1), a browser.
PROGRAMS := clang bpftool git gcc script scriptreplay vim less fzf tmux dash strace gdb rsync bwrap socat chromium
# The same from npm. New versions of the agents come every few days: these are the ones that were looked at.
PACKAGES := asciinema-player axe-core@4.14.0 @modelcontextprotocol/server-filesystem @openai/agents zod \
	@anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33

.PHONY: test quick kernel browser agents check native bpf native-test web bench demo lock docs screenshot fmt soak soak-debian programs packages clean
.DEFAULT_GOAL := test

# All tests, or those of one feature (T=mcp, T=agents/hooks): a folder or a file below tests/.
ifdef T
test: $(VENV)/.ready native
	$(SUITE) -m "not soak" tests/$(T)
else
test: check native native-test packages
	$(SUITE) -m "not soak"
endif

# By level, which a test has by what it uses (tests/support/plugin.py). The first starts no process: less than 90 s.
quick: $(VENV)/.ready native
	$(SUITE) -m "pure and not soak"

kernel browser: $(VENV)/.ready native programs packages
	$(SUITE) -m "$@ and not soak"

agents: $(VENV)/.ready native programs packages
	$(SUITE) -m "agent and not soak"

check: $(VENV)/.ready programs
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

native: $(NATIVE)/steno-trace $(NATIVE)/steno-probe $(NATIVE)/probe.bpf.o

$(NATIVE)/steno-trace: $(TRACE_SOURCES) native/compile.py
	$(PYTHON) native/compile.py $@ -Werror

$(NATIVE)/steno-probe: native/probe/loader.c native/probe/handover.h native/probe/record.h native/compile.py
	$(PYTHON) native/compile.py $@ -Werror

$(NATIVE)/probe.bpf.o: $(BPF_OBJECT)
	cp $< $@

# The eBPF object is committed, so that nobody needs clang to install Steno; a test makes it again and compares.
bpf: programs
	sh native/probe/make-object.sh $(BPF_OBJECT)

# No warning, and the parts of steno-trace that are pure: tested and fuzzed with every check that the compiler can put in.
native-test: programs
	$(PYTHON) native/compile.py native/build/steno-trace -Werror
	sh native/test.sh

# The script and the style of the report are committed, so that nobody needs node to install Steno; a test makes them again.
web:
	sh web/install.sh $(VENV)/web
	web/node_modules/.bin/tsc -p web
	node web/build.mjs

soak: $(VENV)/.ready programs
	$(BIN)/python -m pytest -m soak
	$(BIN)/python -m pytest -m "hypothesis and not soak" --hypothesis-profile=thorough

# Both commands of the README on bootstrapped systems that have nothing else; root and debootstrap are needed.
soak-debian:
	sh tests/plain-debian.sh bookworm demo test
	sh tests/plain-debian.sh trixie demo test

# Only worth it on a quiet machine: the commands take about twenty minutes there (BENCH='--only commands'), the rest
# as long again. Each row is printed when it is measured; BENCH=--quick tries it out in a few minutes.
bench: $(VENV)/.ready programs native
	$(BIN)/python bench/run.py $(BENCH)

# Steno in an environment of its own, without the test tools, recording something real.
demo:
	@PYTHON=$(PYTHON) sh docs/demo.sh $(DEMO)

# The help of every command, the table of redaction rules and what becomes of every system call, written into the
# docs; tests hold them fresh.
docs: $(VENV)/.ready
	$(BIN)/python docs/generate_cli.py --write
	$(BIN)/python tests/redact/test_docs.py
	$(BIN)/python docs/generate_model.py --write
	$(BIN)/python docs/generate_tables.py --write
	$(BIN)/python docs/generate_agents.py --write
	$(BIN)/python docs/generate_policy_schema.py
	$(BIN)/python docs/generate_words.py --write
	$(BIN)/python docs/generate_readme.py --write
	$(BIN)/python native/generate.py --write

# The picture in the README: a real run, its report, a real browser.
screenshot: $(VENV)/.ready programs native
	PYTHONPATH=tests $(BIN)/python docs/generate_screenshot.py

fmt: $(VENV)/.ready
	$(BIN)/ruff check --fix --exit-zero $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)

programs:
	@PYTHON=$(PYTHON) sh tests/install-programs.sh $(PROGRAMS)

# Every package at the version and with the digests of requirements.lock; hatchling, which builds Steno, is among them.
$(VENV)/.ready: pyproject.toml requirements.lock hatch_build.py
	@echo "steno: making a virtual environment in $(VENV) and installing Steno with its test tools into it"
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "steno: missing: python3-venv; run: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# After a change of the dependencies in pyproject.toml or web/package.json; needs uv and npm.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--custom-compile-command "make lock" --group dev --output-file requirements.lock pyproject.toml
	sh web/install.sh --lock

# An asciicast player, a judge of accessibility, an MCP server, a framework and real agents, which the tests drive; about
# 430 MB to fetch.
packages: $(VENV)/.ready
	@sh tests/install-packages.sh $(VENV) $(PACKAGES)
	@sh web/install.sh $(VENV)/web || true

clean:
	rm -rf $(VENV) $(DEMO) build dist native/build src/steno/native .mypy_cache .ruff_cache .pytest_cache .hypothesis
