# Two commands set everything up on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements
DEMO_READY := $(VENV)/demo-ready
QUICK_READY := $(VENV)/quick-ready
TEST_READY := $(VENV)/test-ready
DOCS_READY := $(VENV)-docs/ready
# From locks that list every file's hash, so nothing has to be resolved.
INSTALL := $(PYTHON) $(LOCKS)/install.py
# A file goes to one process, as its tests share what is dear; files start in the order given.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 3 --dist loadfile \
	--no-loadscope-reorder

# Hundreds of processes would compile all that they import, each anew.
unexport PYTHONDONTWRITEBYTECODE

# One that an installation left half made is not ready, whatever it holds.
ifneq ($(wildcard $(VENV)/installing),)
$(shell rm -f $(DEMO_READY) $(QUICK_READY) $(TEST_READY))
endif

.PHONY: demo demo-annotate quick test scale nightly check bench chaos docs lock clean

demo: $(DEMO_READY)  ## run the whole pipeline offline on two small repositories
	$(BIN)/goldpan demo

demo-annotate: demo $(TEST_READY)  ## open the demo's code edits in a Label Studio of one's own
	$(BIN)/goldpan annotate serve --install --workspace demo-workspace --dataset demo-workspace/datasets/code-edit

quick: $(QUICK_READY)  ## run the tests to run while working
	$(PYTEST) --numprocesses 2 -m "not nightly" tests/unit

test: $(TEST_READY)  ## run all tests but those of scale, or those CHOSEN by their marks
	$(PYTEST) -m "not nightly$(if $(CHOSEN), and ($(CHOSEN)))" tests/servers tests/integration tests/papers tests/unit

scale: $(TEST_READY)  ## run the tests of memory, clocks, speed and whole repositories; takes long
	$(PYTEST) --timeout 1800 tests/scale

nightly: $(TEST_READY)  ## run the tests of scale, and all property tests with many more examples
	HYPOTHESIS_PROFILE=nightly $(PYTEST) --timeout 7200 tests

check: $(TEST_READY)  ## formatting, lint, types and the layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.file_circles
	$(BIN)/python $(LOCKS)/lock.py --check

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
	rm -rf $(VENV) $(VENV)-docs $(VENV)*-install.log demo-workspace

$(DEMO_READY): pyproject.toml $(LOCKS)/demo.txt
	$(INSTALL) $(VENV) demo goldpan
	touch $@

$(QUICK_READY): $(DEMO_READY) $(LOCKS)/test.txt
	$(INSTALL) $(VENV) test
	touch $@

$(TEST_READY): $(QUICK_READY) $(LOCKS)/torch.txt $(LOCKS)/torch-cpu.txt
	$(INSTALL) $(VENV) torch
	touch $@

$(DOCS_READY): $(LOCKS)/docs.txt
	$(INSTALL) $(VENV)-docs docs
	touch $@
