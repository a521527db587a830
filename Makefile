# linkmatrix in one word each; `make help` lists them. All of it works as an ordinary user.
.DEFAULT_GOAL := help
.PHONY: help setup build run test test-all test-rest lint docs wheel mutants lock audit bench clean

VENV := .venv
ARGS ?=
LOCKING := --quiet --universal --python-version 3.10 --generate-hashes --no-annotate --custom-compile-command 'make lock'
CALLER_PATH := $(PATH)
export PATH := $(CURDIR)/$(VENV)/bin:$(CURDIR)/$(VENV)/cuda/bin:$(PATH)
# Open MPI refuses to start as root unless told twice.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(VENV)/.ready ## install linkmatrix and the tools that this machine lacks, into .venv

build: setup ## build the programs, with CUDA, NCCL and MPI where this machine has them
	@preset=$$(scripts/preset) && nccl=$$(scripts/preset nccl) && mkdir -p .build && \
	  flock .build/$$preset.lock sh -c "scripts/configure $$preset $$nccl && cd src && cmake --build --preset $$preset"

run: setup ## measure this machine, print a summary and write the report; ARGS goes to reframe
	@PATH='$(CALLER_PATH)' $(VENV)/bin/linkmatrix measure -- $(ARGS)

test: $(VENV)/.ready-test ## run the native tests, the unit tests and one real run of ReFrame; ARGS goes to pytest
	@.ci/test first $(ARGS)

test-all: test test-rest ## run all tests: sanitizers, schedulers, and with LINKMATRIX_SLOW=1 those that take minutes

test-rest: $(VENV)/.ready-test
	@.ci/test rest $(ARGS)

lint: $(VENV)/.ready-test ## check style and format
	ruff check . && ruff format --check .
	find src tests -name '*.[ch]pp' -o -name '*.cu' | xargs clang-format --style=file:src/.clang-format --dry-run -Werror

docs: $(VENV)/.ready ## build the site into .build/docs; it opens from disk
	@python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[docs]'
	@# each page anew: what it takes from elsewhere may have changed where it has not
	@python -m sphinx -q -E -a -W --keep-going docs .build/docs && echo "The site: $(CURDIR)/.build/docs/index.html"

wheel: setup ## build a wheel with compiled programs into dist, with CUDA where nvcc is; ARGS goes to cmake
	@python scripts/wheel $(ARGS)

mutants: $(VENV)/.ready-test ## change what judges, a little at a time: does a test fail each time? ARGS: packages or modules
	@python -m pip install --quiet --disable-pip-version-check 'mutmut==3.8.*'
	@python tests/tools/mutants.py $(ARGS)

lock: setup ## lock what is installed, by version and SHA-256, again; ARGS goes to uv, such as --upgrade
	@python -m pip install --quiet --disable-pip-version-check 'uv==0.13.*'
	@uv pip compile $(LOCKING) $(ARGS) --all-extras --output-file requirements.lock pyproject.toml
	@scripts/setup --tools | uv pip compile $(LOCKING) $(ARGS) --output-file scripts/tools.lock -

audit: setup ## does a locked package have a known vulnerability? pip-audit asks PyPI
	@python -m pip install --quiet --disable-pip-version-check 'pip-audit==2.*'
	@pip-audit --disable-pip --require-hashes --progress-spinner off $(ARGS) -r requirements.lock -r scripts/tools.lock

bench: build ## time whole runs beside nvbandwidth, the CUDA sample and nccl-tests, where they are on PATH, and linkmatrix run; ARGS goes to p2p_matrix
	@scripts/bench .build/$$(scripts/preset)/p2p_matrix $(ARGS)

clean: ## remove what was built and installed; results stay
	rm -rf .build $(VENV)

$(VENV)/.ready: pyproject.toml scripts/setup scripts/cuda_from_wheels
	@scripts/setup $(VENV)

$(VENV)/.ready-test: $(VENV)/.ready
	@scripts/setup $(VENV) test
