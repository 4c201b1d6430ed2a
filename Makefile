# Two commands set everything up on a fresh machine: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo demo-annotate test check bench chaos lock clean

demo: $(READY)  ## run the whole pipeline offline on a small repository
	$(BIN)/goldpan demo

demo-annotate: demo  ## open the demo's code edits in a Label Studio of one's own
	$(BIN)/goldpan annotate serve --install --workspace demo-workspace --dataset demo-workspace/datasets/code-edit

test: $(READY)  ## run all tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 3 --dist loadfile

check: $(READY)  ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)  ## measure; takes some minutes
	$(BIN)/python -m benchmarks.mining
	$(BIN)/python -m benchmarks.normalize
	$(BIN)/python -m benchmarks.backup
	$(BIN)/python -m benchmarks.git
	$(BIN)/python -m benchmarks.filters
	$(BIN)/python -m benchmarks.duplicates
	$(BIN)/python -m benchmarks.annotation
	$(BIN)/python -m benchmarks.gharchive
	$(BIN)/python -m benchmarks.issue_type
	$(BIN)/python -m benchmarks.nlbse_comments --quick

chaos: $(READY)  ## kill, fill, flip and race every stage; takes at most 15 minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.chaos --minutes 15

lock: $(READY)  ## write the versions of this environment to constraints.txt
	$(BIN)/python -m pip freeze --all --exclude-editable | grep -vE '^(pip|setuptools)==' > constraints.txt

clean:
	rm -rf $(VENV) demo-workspace

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@
