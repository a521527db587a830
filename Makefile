# The tasks of this project: `make help` lists them. No task needs root.
.DEFAULT_GOAL := help
.PHONY: help setup build run test test-all test-rest lint docs wheel mutants lock audit bench clean

VENV := .venv
ARGS ?=
LOCKING := --quiet --universal --python-version 3.10 --generate-hashes --no-annotate --custom-compile-command 'make lock'
CALLER_PATH := $(PATH)
export PATH := $(CURDIR)/$(VENV)/bin:$(CURDIR)/$(VENV)/cuda/bin:$(PATH)
# Open MPI starts as root only with both variables.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(VENV)/.ready ## install linkmatrix and the tools that this machine lacks, into .venv

build: setup ## build the programs, with those of CUDA, NCCL and MPI that this machine has
	@preset=$$(scripts/preset) && nccl=$$(scripts/preset nccl) && mkdir -p .build && \
	  flock .build/$$preset.lock sh -c "scripts/configure $$preset $$nccl && cd src && cmake --build --preset $$preset"

run: setup ## measure this machine, print a summary and write the report; ARGS: options of reframe
	@PATH='$(CALLER_PATH)' $(VENV)/bin/linkmatrix measure -- $(ARGS)

test: $(VENV)/.ready-test ## run native tests, unit tests and one run of ReFrame; ARGS: options of pytest
	@.ci/test first $(ARGS)

test-all: test test-rest ## run all tests; with LINKMATRIX_SLOW=1 also tests that take minutes

test-rest: $(VENV)/.ready-test
	@.ci/test rest $(ARGS)

lint: $(VENV)/.ready-test ## check style and format
	ruff check . && ruff format --check .
	find src tests -name '*.[ch]pp' -o -name '*.cu' | xargs clang-format --style=file:src/.clang-format --dry-run -Werror

docs: $(VENV)/.ready ## build the documentation into .build/docs
	@python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[docs]'
	@# -E builds each page again, because pages include other files
	@python -m sphinx -q -E -a -W --keep-going docs .build/docs && echo "The site: $(CURDIR)/.build/docs/index.html"

wheel: setup ## build a wheel with compiled programs into dist, with CUDA if nvcc is installed; ARGS: options of cmake
	@python scripts/wheel $(ARGS)

mutants: $(VENV)/.ready-test ## run mutation tests of the judging code; ARGS: packages or modules
	@python -m pip install --quiet --disable-pip-version-check 'mutmut==3.8.*'
	@python tests/tools/mutants.py $(ARGS)

lock: setup ## lock the Python packages by version and SHA-256; ARGS: options of uv, such as --upgrade
	@python -m pip install --quiet --disable-pip-version-check 'uv==0.13.*'
	@uv pip compile $(LOCKING) $(ARGS) --all-extras --output-file requirements.lock pyproject.toml
	@scripts/setup --tools | uv pip compile $(LOCKING) $(ARGS) --output-file scripts/tools.lock -

audit: setup ## check the locked packages for known vulnerabilities
	@python -m pip install --quiet --disable-pip-version-check 'pip-audit==2.*'
	@pip-audit --disable-pip --require-hashes --progress-spinner off $(ARGS) -r requirements.lock -r scripts/tools.lock

bench: build ## compare run times with nvbandwidth, the CUDA sample and nccl-tests; ARGS: options of p2p_matrix
	@scripts/bench .build/$$(scripts/preset)/p2p_matrix $(ARGS)

clean: ## remove .build and .venv; keep results
	rm -rf .build $(VENV)

$(VENV)/.ready: pyproject.toml scripts/setup scripts/cuda_from_wheels
	@scripts/setup $(VENV)

$(VENV)/.ready-test: $(VENV)/.ready
	@scripts/setup $(VENV) test
