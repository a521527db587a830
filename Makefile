# linkmatrix in one word each; `make help` lists them. All of it works as an ordinary user.
.DEFAULT_GOAL := help
.PHONY: help setup build run test lint bench clean

VENV := .venv
ARGS ?=
export PATH := $(CURDIR)/$(VENV)/bin:$(CURDIR)/$(VENV)/cuda/bin:$(PATH)
# Open MPI refuses to start as root unless told twice.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 15

setup: $(VENV)/.ready ## install linkmatrix and the tools that this machine lacks, into .venv

build: setup ## build the programs, with CUDA and MPI where this machine has them
	@preset=$$(.ci/preset) && cd src && cmake --preset $$preset && cmake --build --preset $$preset

run: setup ## measure this machine, show the matrices and write the report; ARGS goes to reframe
	@.ci/measure $(ARGS)

test: $(VENV)/.ready-test ## run all tests; ARGS goes to pytest
	@.ci/test $(ARGS)

lint: $(VENV)/.ready-test ## check style and format
	ruff check . && ruff format --check .
	find src tests -name '*.[ch]pp' -o -name '*.cu' | xargs clang-format --style=file:src/.clang-format --dry-run -Werror

bench: build ## time whole runs beside nvbandwidth and the CUDA sample, where they are on PATH; ARGS goes to p2p_matrix
	@.ci/bench .build/$$(.ci/preset)/p2p_matrix $(ARGS)

clean: ## remove what was built and installed; results stay
	rm -rf .build $(VENV)

$(VENV)/.ready: pyproject.toml .ci/setup .ci/cuda_from_wheels
	@.ci/setup $(VENV)
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready
	@.ci/setup $(VENV) test
	@touch $@
