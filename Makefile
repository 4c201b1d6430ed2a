# Two commands set everything up on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Installed from locks that list every file's hash, so nothing has to be resolved.
LOCKS := requirements
DEMO_READY := $(VENV)/demo-ready
TEST_READY := $(VENV)/test-ready
DOCS_READY := $(VENV)-docs/ready
UV := $(shell command -v uv 2>/dev/null)
PIP := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,\
	$(BIN)/python -m pip install --quiet --no-compile)
# What builds packages that come without a wheel is in demo.txt, which is installed first.
INSTALL := $(PIP) --no-deps --require-hashes --no-build-isolation --requirement
# A file goes to one process, as its tests share what is dear; files start in the order given.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 4 --dist loadfile \
	--no-loadscope-reorder

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes would compile all that they import, each anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-annotate quick test scale nightly check bench chaos docs lock clean

demo: $(DEMO_READY)  ## run the whole pipeline offline on a small repository
	$(BIN)/goldpan demo

demo-annotate: demo  ## open the demo's code edits in a Label Studio of one's own
	$(BIN)/goldpan annotate serve --install --workspace demo-workspace --dataset demo-workspace/datasets/code-edit

quick: $(TEST_READY)  ## run the tests to run while working
	$(PYTEST) --numprocesses 2 tests/unit

test: $(TEST_READY)  ## run all tests but those of scale
	$(PYTEST) tests/integration tests/servers tests/unit

scale: $(TEST_READY)  ## run the tests of memory, clocks, speed and whole repositories; takes long
	$(PYTEST) --timeout 1800 tests/scale

nightly: $(TEST_READY)  ## run the tests of scale, and all property tests with many more examples
	HYPOTHESIS_PROFILE=nightly $(PYTEST) --timeout 7200 tests

check: $(TEST_READY)  ## formatting, lint, types and the layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(TEST_READY)  ## measure; takes some minutes
	$(BIN)/python -m benchmarks.mining
	$(BIN)/python -m benchmarks.normalize
	$(BIN)/python -m benchmarks.backup
	$(BIN)/python -m benchmarks.faun_scale --sizes 20000
	$(BIN)/python -m benchmarks.git
	$(BIN)/python -m benchmarks.filters
	$(BIN)/python -m benchmarks.duplicates
	$(BIN)/python -m benchmarks.annotation
	$(BIN)/python -m benchmarks.gharchive
	$(BIN)/python -m benchmarks.issue_type
	$(BIN)/python -m benchmarks.remote
	$(BIN)/python -m benchmarks.nlbse_comments --quick

chaos: $(TEST_READY)  ## kill, fill, flip and race every stage; takes at most 15 minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.chaos --minutes 15

docs: $(DEMO_READY) $(DOCS_READY)  ## write the reference, build the site into dist/site; a broken link fails
	$(BIN)/python -m docs.generate
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build --quiet
	cp -R examples dist/site/

lock:  ## write the locks; UPGRADE=--upgrade takes new versions
	$(PYTHON) $(LOCKS)/lock.py $(UPGRADE)

clean:
	rm -rf $(VENV) $(VENV)-docs demo-workspace

$(DEMO_READY): pyproject.toml $(LOCKS)/demo.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) $(LOCKS)/demo.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

# torch without CUDA where pip finds such a build (a folder of wheels, PyTorch's own index); else the
# index's torch, and CUDA's libraries (2.5 GB), which it needs on Linux.
$(TEST_READY): $(DEMO_READY) $(LOCKS)/test.txt $(LOCKS)/torch.txt $(LOCKS)/torch-cpu.txt
	$(INSTALL) $(LOCKS)/test.txt
	$(INSTALL) $(LOCKS)/torch-cpu.txt 2>/dev/null || $(INSTALL) $(LOCKS)/torch.txt
	touch $@

$(DOCS_READY): $(LOCKS)/docs.txt
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip install --quiet --no-deps --require-hashes -r $(LOCKS)/docs.txt
	touch $@
