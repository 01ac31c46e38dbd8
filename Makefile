# Everything happens in .venv and target; nothing is installed outside this folder.
.DEFAULT_GOAL := help
# Two targets install into the same environment, and steps run side by side within a recipe. A half-written file is not up to date.
.NOTPARALLEL:
.DELETE_ON_ERROR:
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
CONTAINER ?= podman
READY := $(VENV)/.packages
DEVELOPER_READY := $(VENV)/.developer-packages
BUILT := $(VENV)/.built
MATURIN_DEVELOP := VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile tests --quiet
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PRINT_DEPENDENCIES := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")
GUEST := python/ecnlab/backends/uml/guest.so.gz
SITE := target/site
SITE_ARCHIVE := python/ecnlab/site.zip
# Without the engine for browsers, which `make web` builds.
SOURCES := $(shell find crates -path crates/web -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print 2>/dev/null) Cargo.toml $(wildcard Cargo.lock)

.PHONY: help tools setup guest demo studies site web test lint bench fuzz build container release clean

help: ## this list
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

tools:
	@command -v cargo >/dev/null || { echo "ecnlab needs Rust: install the stable toolchain so that 'cargo' is on the PATH." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "ecnlab needs Python 3.11 or later: '$(PYTHON)' is missing or older (set PYTHON=...)." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "ecnlab needs Python's venv module (on Debian: the package python3-venv)." >&2; exit 1; }

# Packages are unpacked on one core, so the engine is compiled beside them; what fails there is compiled again, and reported, below.
define INSTALL_PACKAGES
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Python packages into $(VENV) and compiling the engine, which takes two minutes the first time ..."
	@$(PIP) "$$(grep '^maturin==' requirements.lock)"
	@$(MATURIN_DEVELOP) --skip-install >/dev/null 2>&1 & $(1); installed=$$?; wait; exit $$installed
endef

# The packages that runs need, in the versions of the lock file. Tests and tools need more.
$(READY): requirements.lock pyproject.toml | tools
	$(call INSTALL_PACKAGES,$(BIN)/python -c '$(PRINT_DEPENDENCIES)' | $(PIP) --constraint requirements.lock --requirement /dev/stdin)
	@touch $@

$(DEVELOPER_READY): requirements.lock | tools
	$(call INSTALL_PACKAGES,$(PIP) --requirement requirements.lock)
	@touch $(READY) $@

# A rebuilt engine may answer differently, so the demo's report goes. A guest program that exists is of the same sources as the engine.
$(BUILT): $(READY) pyproject.toml $(SOURCES) | tools
	@echo "Compiling the engine ..."
	@test ! -e $(GUEST) || $(MAKE) --no-print-directory $(GUEST)
	@$(MATURIN_DEVELOP) >/dev/null 2>$(VENV)/maturin.log || { cat $(VENV)/maturin.log >&2; exit 1; }
	@rm -rf demo && touch $@

# Like the engine, it is compiled as the tests are, so that all share what is compiled. It is built on Linux on x86-64 alone.
$(GUEST): $(SOURCES) | tools
	@test "$$(uname -sm)" != "Linux x86_64" || { cargo rustc --quiet --profile tests -p ecnlab-uml-guest -- -C strip=symbols && gzip --best --no-name --stdout target/tests/libecnlab_uml_guest.so >$@; }

setup: $(DEVELOPER_READY) $(BUILT) ## build the engine and install the package into .venv

guest: $(GUEST) ## the program in the UML kernel; `make test` and `make build` build it, and `ecnlab uml build-kernel` does

demo: $(BUILT) ## the thesis' central comparison, computed afresh: figures and report in demo/
	@echo "Running what the AECN study is about with 5 seeds, then deciding claims and drawing figures ..."
	@$(BIN)/ecnlab study run aecn --quick --demo --out demo

studies: $(BUILT) ## every study in full: claims, figures and report in reports/NAME/
	@set -e; for name in $$($(BIN)/ecnlab study list | cut -d ' ' -f 1); do \
		echo "Running the study $$name ..."; $(BIN)/ecnlab study run $$name --out reports/$$name; done

# The packages of the site are its own lock file, since nothing else needs them. What only a web server uses is removed after the build.
# A laboratory that exists is of the same sources as the engine, as the guest program is.
site: $(DEVELOPER_READY) $(BUILT) ## the pages as a site that works offline, which `ecnlab docs` opens: target/site/, packed for the package
	@$(PIP) --requirement requirements-site.lock
	@test ! -f python/ecnlab/lab/ecnlab.wasm.gz || $(BIN)/python -c 'from ecnlab.browser import page; page.require_page_folder()' 2>/dev/null || $(MAKE) --no-print-directory web
	@rm -rf $(SITE) && PYTHONPATH=tools NO_COLOR=1 $(BIN)/zensical build --clean --strict
	@rm -rf $(SITE)/404.html $(SITE)/sitemap.xml $(SITE)/assets/stylesheets/classic
	@test ! -f python/ecnlab/lab/ecnlab.wasm.gz || $(BIN)/ecnlab lab --out $(SITE)/lab.html
	@$(BIN)/python tools/links.py $(SITE)
	@$(BIN)/python tools/site_archive.py $(SITE) $(SITE_ARCHIVE)

# Apart from the tests, since it needs a standard library that not every toolchain has. The command refuses a page of another engine.
web: | tools ## the laboratory in the browser, which `ecnlab lab` opens: python/ecnlab/lab/
	@echo "Compiling the engine for browsers ..."
	@crates/web/build

test: $(DEVELOPER_READY) $(BUILT) $(GUEST) ## all tests, Rust and Python
	@echo "Testing the engine: it is compiled for the tests first, which takes about a minute ..."
	@cargo test --quiet --workspace --profile tests --exclude ecnlab-py
	@echo "Testing the package and the command ..."
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

# Clippy uses the build scripts and macros that the tests have compiled. Types are checked beside it, since that takes one core.
lint: $(DEVELOPER_READY) $(BUILT) ## formatting, lints and types
	cargo fmt --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@echo "mypy, stubtest and clippy"; ($(BIN)/mypy && $(BIN)/python -m mypy.stubtest ecnlab._core) & types=$$!; \
		cargo clippy --quiet --workspace --all-targets --profile tests -- -D warnings; clippy=$$?; wait $$types && exit $$clippy

bench: $(DEVELOPER_READY) $(BUILT) ## ns per packet-hop on the networks of the budget, and what a packet costs in each queue
	$(BIN)/python benches/bench.py
	$(BIN)/python benches/queues.py

fuzz: | tools ## RUNS executions of each fuzz target, or of TARGET alone; needs a C++ compiler
	@fuzz/run

# The laboratory needs a standard library that not every toolchain has; a release fails without it.
build: $(BUILT) $(GUEST) ## a wheel in dist/, with the guest program, the laboratory and the site in it
	@if crates/web/build --possible; then $(MAKE) --no-print-directory web; else rm -rf python/ecnlab/lab; echo "The wheel has no laboratory: the target wasm32-unknown-unknown is not installed" >&2; fi
	@$(MAKE) --no-print-directory site
	$(BIN)/maturin build --release --out dist

# The engine distributes nothing under GPL-2.0 but its changes to the kernel; with a built kernel in it, the image has the sources of both.
container: $(BUILT) $(GUEST) site ## an image with the package, a UML kernel and their sources; needs podman, buildah or docker (CONTAINER=...)
	@rm -rf dist/container && mkdir -p dist/container/wheel dist/container/sources
	@$(BIN)/maturin build --release --quiet --out dist/container/wheel
	@cp requirements.lock dist/container/wheel/
	@git archive --format=tar.gz --prefix=ecnlab/ --output=dist/container/sources/ecnlab.tar.gz HEAD
	@cargo vendor --quiet --locked dist/container/vendor >/dev/null
	@tar --create --xz --file=dist/container/sources/crates.tar.xz --directory=dist/container vendor && rm -rf dist/container/vendor
	@$(CONTAINER) build --tag ecnlab --file Containerfile .

# The tools of a release have an environment of their own, since nothing else needs them.
release: $(DEVELOPER_READY) $(BUILT) web ## wheels of all systems, the source distribution, and what is checked about them: dist/
	@$(MAKE) --no-print-directory site
	@test -x target/release-tools/bin/python || $(BIN)/python -m venv target/release-tools
	@target/release-tools/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-release.lock
	@PATH="$(abspath target/release-tools/bin):$$PATH" target/release-tools/bin/python tools/release.py

# The last line is where earlier versions put the site and the guest program.
clean: ## remove everything that was built
	rm -rf $(VENV) target dist demo reports .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf python/ecnlab/lab .cache
	rm -f python/ecnlab/_core*.so $(GUEST) $(SITE_ARCHIVE)
	rm -rf python/ecnlab/site python/ecnlab/backends/uml/guest.so
