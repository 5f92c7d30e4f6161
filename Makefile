# Two doors: `make demo` to see it, `make test` to check it. Each makes what it needs, from a bare clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt
# Inside a guest no bytecode is written (its file times cannot be trusted), so it is written here.
COMPILE := $(BIN)/python -m compileall -q netlab namespaces traces agents envs

.PHONY: demo test test-kernels lint types imports check bench clean

demo: $(VENV)/.core-installed
	@$(BIN)/netlab demo
	@echo "next: . $(VENV)/bin/activate; netlab --help"

test: $(VENV)/.test-installed
	@tools/system-packages
	@$(BIN)/netlab guest fetch --if-possible
# The kernel for virtual time compiles beside the checks: minutes the first time, nothing once it is in the cache.
	$(BIN)/netlab guest build --if-possible & build=$$!; trap 'kill $$build 2>/dev/null' EXIT INT TERM; \
	    $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports --no-cache \
	    && wait $$build
	$(BIN)/python -m pytest --second-process

# The kernel tests on Debian's 6.12 and 6.1 as well, in QEMU: on demand, about ten minutes a kernel.
test-kernels: $(VENV)/.kernels-installed
	@tools/system-packages --kernels
	@$(BIN)/python tools/test-kernels

# The same checks one by one, for the person at work.
lint: $(VENV)/.test-installed
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
types: $(VENV)/.test-installed
	$(BIN)/mypy
imports: $(VENV)/.test-installed
	$(BIN)/lint-imports
check: lint types imports
bench: $(VENV)/.test-installed
	@$(BIN)/netlab bench

$(BIN)/python:
	@tools/make-venv $(PYTHON) $(VENV)

$(VENV)/.core-installed: setup.cfg constraints.txt | $(BIN)/python
	@echo "installing netlab into $(VENV)"
	@$(PIP) -e .
	@$(COMPILE)
	@touch $@

$(VENV)/.test-installed: setup.cfg constraints.txt | $(BIN)/python
	@echo "installing netlab and what its tests need into $(VENV)"
	@$(PIP) -e '.[test,dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/.core-installed

$(VENV)/.kernels-installed: $(VENV)/.test-installed
	@$(PIP) -e '.[kernels]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
