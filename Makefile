# `make help` lists the commands. Every command creates or repairs the environment (.venv) by itself.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# The environment must not depend on another one that happens to be active.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONSTARTUP
export UV_PROJECT_ENVIRONMENT := .venv
export UV_PYTHON_DOWNLOADS := never

UV_VERSION := 0.13.8
PYTHON := .venv/bin/python
RUNNER := $(PYTHON) -m rearena.reporting.notebooks
ENVIRONMENT := .venv/.complete

NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
STEMS := $(NOTEBOOKS:notebooks/%.ipynb=%)
SOURCES := $(shell find src/rearena -name '*.py') $(wildcard data/published/*.csv data/names/*.csv) data/claims.csv

# .complete holds the folder that the environment was made in: one that was moved, copied or half made is
# made again from nothing.
ifneq ($(shell .venv/bin/python -c '' 2>/dev/null && cat $(ENVIRONMENT) 2>/dev/null),$(CURDIR))
$(ENVIRONMENT): incomplete
endif

.PHONY: help
help:  ## this list
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: reproduce
reproduce: $(ENVIRONMENT)  ## run every notebook that is not up to date, then figures/index.html
	@$(RUNNER) evidence $(NOTEBOOKS)
	+@status=0; $(MAKE) --no-print-directory -k executed || status=$$?; \
	$(PYTHON) -m rearena.reporting.gallery || status=$$?; \
	if [ $$status -ne 0 ]; then echo 'reproduce: FAILED, see the errors above' >&2; fi; exit $$status

.PHONY: executed
executed: $(STEMS:%=build/notebooks/%.ipynb)

build/notebooks/%.ipynb: notebooks/%.ipynb build/evidence/%.txt profiles/default.yaml $(SOURCES) $(ENVIRONMENT)
	@$(RUNNER) run $< --profile default --output $@

$(STEMS:%=build/evidence/%.txt): build/evidence/%.txt: | $(ENVIRONMENT)
	@$(RUNNER) evidence notebooks/$*.ipynb

.PHONY: notebook
notebook: $(ENVIRONMENT)  ## run one notebook by its number, always: make notebook NB=09
	@found=(notebooks/$(NB)-*.ipynb); if [ -z '$(NB)' ] || [ ! -e "$${found[0]}" ]; then \
	    echo 'say which: make notebook NB=09; there are: $(STEMS)' >&2; exit 2; fi; \
	stem="$$(basename "$${found[0]}" .ipynb)"; $(RUNNER) evidence "$${found[0]}" && \
	$(RUNNER) run "$${found[0]}" --profile default --output "build/notebooks/$$stem.ipynb" && \
	$(PYTHON) -m rearena.reporting.gallery

.PHONY: smoke paper-scale
smoke: PROFILE := smoke
smoke: $(ENVIRONMENT)  ## run every notebook with the smallest parameters, into build/smoke
paper-scale: PROFILE := paper-scale
paper-scale: $(ENVIRONMENT)  ## run every notebook at the papers' sizes, into build/paper-scale (hours)
smoke paper-scale:
	@status=0; for stem in $(STEMS); do $(RUNNER) run "notebooks/$$stem.ipynb" --profile $(PROFILE) \
	    --output "build/$(PROFILE)/notebooks/$$stem.ipynb" || status=1; done; \
	$(PYTHON) -m rearena.reporting.gallery --profile $(PROFILE) || status=1; exit $$status

.PHONY: data
data: $(ENVIRONMENT)  ## download the real files, 129 MB (make data NB=09: only what that notebook reads)
	@$(PYTHON) -m rearena.data.downloads $(if $(NB),--notebook '$(NB)')

.PHONY: lab
lab: $(ENVIRONMENT)  ## JupyterLab on this environment's kernel (more arguments: ARGS="--no-browser")
	@$(RUNNER) lab -- $(ARGS)

.PHONY: test
test: $(ENVIRONMENT)  ## all tests; every notebook's contract and a quick run of it among them
	@$(PYTHON) -m pytest

.PHONY: lint
lint: $(ENVIRONMENT)  ## ruff, mypy and the notebook contract
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy
	@$(RUNNER) check $(NOTEBOOKS)

.PHONY: bench
bench: $(ENVIRONMENT)  ## speed against other implementations
	@for bench in benchmarks/bench_*.py; do $(PYTHON) "$$bench" || exit 1; done

.PHONY: lock
lock:  ## newest packages into uv.lock, and requirements.lock from it
	+@$(call with_uv,"$$uv" lock --upgrade)
	@$(MAKE) --no-print-directory requirements.lock

.PHONY: clean
clean:  ## remove build/ (figures, downloads and the environment stay)
	rm -rf build

requirements.lock: uv.lock pyproject.toml
	+@{ printf '%s\n' '# Made by `make lock` from uv.lock: for those without uv, on Python >= 3.11.' \
	  '#   pip install --no-deps --require-hashes -r requirements.lock && pip install --no-deps -e .' \
	  '# --no-deps is needed: BERTopic names sentence-transformers, which would bring torch.'; \
	$(call with_uv,"$$uv" export --frozen --quiet --no-header --no-annotate --no-emit-project \
	    --no-default-groups --format requirements-txt); } > requirements.lock.part
	@mv requirements.lock.part $@

# The environment. `uv` of the PATH where it reads our lock, else a private one in .tools.
with_uv = uv=uv; if ! uv export --frozen --quiet >/dev/null 2>&1; then \
	$(MAKE) -s .tools/uv-$(UV_VERSION) >&2 || exit 1; uv=.tools/bin/uv; fi; $(1)

.PHONY: incomplete
incomplete:

$(ENVIRONMENT): uv.lock pyproject.toml
	@echo 'environment: installing the locked packages into .venv (about 1 GB)'
	@if [ "$$(cat $@ 2>/dev/null)" != "$$(pwd -P)" ] || ! $(PYTHON) -c '' 2>/dev/null; then rm -rf .venv; fi; rm -f $@
	+@$(call with_uv,"$$uv" sync --frozen)
	@printf '%s' "$$(pwd -P)" > $@

.tools/uv-$(UV_VERSION):
	@for python in python3 python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; python=; \
	done; if [ -z "$$python" ]; then \
	  echo 'error: no python3 >= 3.11 on the PATH; install Python 3.11 or newer, then run make again' >&2; exit 1; \
	fi; rm -rf .tools; "$$python" -m venv .tools \
	  && .tools/bin/python -m pip install --quiet --disable-pip-version-check 'uv==$(UV_VERSION)' || { rm -rf .tools; \
	  echo 'error: uv could not be installed into .tools; install uv or the venv module of Python' >&2; exit 1; }
	@touch $@
