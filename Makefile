# make quickstart | make test | make check: each creates .venv and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
SOURCES := $(shell find cpp src/komadori -name '*.cpp' -o -name '*.h' -o -name '*.cmake') CMakeLists.txt

.PHONY: quickstart test check install dev stubs format clean

quickstart: install
	$(BIN)/komadori quickstart

test: dev
	$(BIN)/python -m pytest

check: dev
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/ruff check src tests bench tools
	$(BIN)/clang-format --dry-run -Werror $$(find cpp -name '*.cpp' -o -name '*.h')
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python -m pytest -x -q -m "not slow and not engine"

install: $(VENV)/.installed
dev: $(VENV)/.dev

$(VENV)/.created: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q --disable-pip-version-check -U pip
	$(PIP) install -q --disable-pip-version-check -c constraints.txt torch==2.13.0
	touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	$(PIP) install -q --disable-pip-version-check -c constraints.txt ".[train]"
	touch $@

# The developer's install: editable, warnings are errors, the tools of `make check`.
$(VENV)/.tools: $(VENV)/.created
	$(PIP) install -q --disable-pip-version-check -c constraints.txt --group dev
	touch $@

$(VENV)/.dev: $(VENV)/.tools $(SOURCES)
	$(PIP) install -q --disable-pip-version-check -c constraints.txt --no-build-isolation \
	  -C cmake.define.KOMADORI_WERROR=ON -e ".[train]"
	touch $@

# The types of the compiled core, written from it and committed; a test holds them current.
stubs: dev
	$(BIN)/python tools/stubs.py

format:
	$(BIN)/ruff format src tests bench tools
	$(BIN)/ruff check --fix src tests bench tools
	$(BIN)/clang-format -i $$(find cpp -name '*.cpp' -o -name '*.h')

clean:
	rm -rf build $(VENV)
