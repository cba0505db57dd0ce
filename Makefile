# make quickstart   trains a small network, plays matches, writes a result page (about six minutes)
# make test         runs the tests
# make check        checks formatting, lint, types and import rules; runs the fast tests
# Each creates .venv and installs what it needs there. Requires only Python, a C++ compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install -q -c constraints.txt
CXX_FILES := $(shell find cpp -name '*.cpp' -o -name '*.h')
# A file's tests run in one process. One process more than CPUs, since some tests wait; more than four would only
# compete for the CPUs, since many tests use several threads themselves. The order is that of tests/conftest.py.
WORKERS := $(shell $(PYTHON) -c "import os; print(min(4, (os.cpu_count() or 1) + 1))")
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PY_FOLDERS := src tests bench tools
BUILD_INPUTS := $(CXX_FILES) CMakeLists.txt cpp/cmake/variants.cmake pyproject.toml

.PHONY: torture test-cluster web quickstart test check lint install dev wheel docs docs-build resolve stubs sanitize arm64 format clean

quickstart: $(if $(wildcard $(VENV)/.dev),dev,install)
	$(BIN)/komadori quickstart

test: dev
	$(BIN)/python -m pytest $(PARALLEL)

check: lint
	$(BIN)/python -m pytest -x -q -m "not slow and not engine" $(PARALLEL)

lint: dev
	$(BIN)/ruff format --check $(PY_FOLDERS)
	$(BIN)/ruff check $(PY_FOLDERS)
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/stubs.py --check

install: $(VENV)/.installed
dev: $(VENV)/.dev

$(VENV)/.created: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q -U "pip>=25.3"
	$(INSTALL) torch==2.13.0
	touch $@

$(VENV)/.installed: $(VENV)/.created $(BUILD_INPUTS) $(shell find src -name '*.py' -o -path '*/data/*' -type f)
	$(INSTALL) --build-constraint constraints.txt ".[train]"
	rm -f $(VENV)/.dev
	touch $@

$(VENV)/.tools: $(VENV)/.created pyproject.toml
	$(INSTALL) --group dev
	touch $@

# Development install: editable, compiler warnings are errors.
$(VENV)/.dev: $(VENV)/.tools $(BUILD_INPUTS)
	$(INSTALL) --no-build-isolation -C cmake.define.KOMADORI_WERROR=ON -e ".[train,quantize,web]"
	rm -f $(VENV)/.installed
	touch $@

# Builds the browser interface into the package; the output is committed
# (Node 20 or newer; run `npm --prefix web ci` first).
web: dev
	$(BIN)/python web/tools/protocol_types.py
	npm --prefix web run build

$(VENV)/.wheels: $(VENV)/.created pyproject.toml
	$(INSTALL) --group wheels
	touch $@

# Builds a wheel for this Python and platform, repaired to run on other machines of the platform.
wheel: $(VENV)/.wheels
	rm -rf build/wheel && mkdir -p dist
	$(PIP) wheel -q --no-deps --build-constraint constraints.txt -w build/wheel .
	if [ "$$(uname)" = Linux ]; then \
	  PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m auditwheel repair -w dist build/wheel/*.whl; \
	else cp build/wheel/*.whl dist/; fi
	ls -l dist

$(VENV)/.docs: $(VENV)/.created pyproject.toml
	$(INSTALL) --group docs
	touch $@

# Builds the documentation site in site/; `make docs` also serves it. The site loads nothing from the
# network: npm downloads mermaid once for the diagrams (without npm they stay text).
MERMAID := docs/assets/mermaid.min.js
$(MERMAID):
	mkdir -p build/mermaid docs/assets
	if command -v npm >/dev/null; then cd build/mermaid && npm pack -s mermaid@11.17.2 && \
	  tar xzf mermaid-*.tgz package/dist/mermaid.min.js && \
	  cp package/dist/mermaid.min.js $(abspath docs/assets); \
	else echo "no npm: diagrams stay text"; fi

docs-build: dev $(VENV)/.docs $(MERMAID)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -q --strict

docs: docs-build
	$(BIN)/python -m http.server --directory site --bind 127.0.0.1 8000

# Checks that all optional packages resolve together (nothing is installed; Python 3.11).
resolve: $(VENV)/.created
	$(INSTALL) --dry-run --ignore-installed --report build/resolve.json \
	  torch==2.13.0 openvino onnxruntime nncf rsshogi shogiarena ray
	$(BIN)/python -c "import json; print(*sorted('{name} {version}'.format(**i['metadata']) \
	  for i in json.load(open('build/resolve.json'))['install']), sep='\n')"

# Fault injection for every command: races, kills, full disks, signals, damaged files, hostile servers.
torture: dev
	$(BIN)/python -m tools.torture

# Runs commands on a local Ray cluster, killing some of its nodes. Installs Ray, a large package that
# nothing else here needs.
test-cluster: dev
	$(INSTALL) ray
	$(BIN)/python -m pytest -q -m slow tests/cluster

# Writes the type stubs of the compiled core; they are committed, and `make lint` checks them.
stubs: dev
	$(BIN)/python tools/stubs.py

# Builds the core with AddressSanitizer and UBSan; runs 100,000 mutated inputs and the core's tests.
SANITIZED := build/sanitize
SANITIZER_LIBRARIES := $(foreach l,asan ubsan stdc++,$(shell $(CXX) -print-file-name=lib$(l).so))
sanitize: dev
	$(BIN)/python -m cmake -S . -B $(SANITIZED) -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DKOMADORI_NATIVE=ON -DKOMADORI_SANITIZE=address,undefined \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/python -m cmake --build $(SANITIZED) -j $(shell nproc)
	rm -rf $(SANITIZED)/site && mkdir -p $(SANITIZED)/site
	cp -r src/komadori tools/sanitize/sitecustomize.py $(SANITIZED)/site
	$(BIN)/python -m cmake --install $(SANITIZED) --prefix $(SANITIZED)/site
	for run in "tools/fuzz.py --inputs 100000" "-m pytest -q -x -p no:cacheprovider tests/rules tests/tree"; do \
	  LD_PRELOAD="$(SANITIZER_LIBRARIES)" PYTHONPATH=$(SANITIZED)/site KOMADORI_CORE=native \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(BIN)/python $$run || exit 1; done

# Cross-compiles the generic core for arm64 and runs perft under emulation
# (Debian packages g++-aarch64-linux-gnu and qemu-user-static).
arm64:
	mkdir -p build/arm64
	aarch64-linux-gnu-g++ -std=c++20 -O2 -Wall -Wextra -Wshadow -Werror -static -pthread -Icpp \
	  cpp/checks/perft.cpp cpp/komadori/*/*.cpp -o build/arm64/perft
	qemu-aarch64-static build/arm64/perft

format:
	$(BIN)/ruff format $(PY_FOLDERS)
	$(BIN)/ruff check --fix $(PY_FOLDERS)
	$(BIN)/clang-format -i $(CXX_FILES)

clean:
	rm -rf build $(VENV)
