# `make run` and `make test` do all of their own set-up.
PYTHON ?= python3
BIN := .venv/bin
SMALL := logger-1 logger-2 weighted weighted-reg additive
PRESETS := printed-objective tuned
PARALLEL := -n 3 --dist worksteal  # some tests wait for a clock or a server
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=  # the tests start many processes: compile our modules for the first one only

.PHONY: run test every-test check quick fuzz torture bench ui docs clean

# the main job in small: Table 2 and the report, on embedded data
run: .venv/ready
	$(BIN)/multilogger reproduce table2 --dataset digits --seeds 5 $(addprefix --preset ,$(PRESETS)) $(addprefix --method ,$(SMALL))

# the checks and the tests side by side: mypy alone would leave a core idle for a minute
test: .venv/ready
	@$(MAKE) --no-print-directory -j 2 check every-test

every-test: .venv/ready
	$(BIN)/python -m pytest $(PARALLEL)

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# everything but the long real-data tests
quick: .venv/ready
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

# thousands of odd inputs at every door; `make test` tries some dozens
fuzz: .venv/ready
	MULTILOGGER_FUZZ=$(or $(CASES),300) $(BIN)/python -m pytest -n 0 -s -q tests/fuzz

# kill -9 at random moments, writers at once, full disks, every file damaged: the same table must come out
torture: .venv/ready
	$(BIN)/python benchmarks/torture.py --kills $(or $(KILLS),50)

# what the slow parts cost over the least that they can cost, with targets
bench: .venv/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py --rows $(or $(ROWS),5000000)

ui: .venv/ready
	$(BIN)/multilogger ui

# the pages of docs/pages; a broken link or an unknown name fails, as in `make test`
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet -f docs/mkdocs.yml
	@echo 'Open docs/site/index.html'

# The store in data/ and the environment; what we ship in data/ stays.
clean:
	rm -rf .venv build docs/site *.egg-info .mypy_cache .ruff_cache .pytest_cache
	git clean -fdXq data

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("multilogger needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@echo 'Installing into .venv: about 2 GB, three to five minutes'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dask,dev,docs]'
	mkdir -p .venv/typing && ln -sfn "$(CURDIR)" .venv/typing/multilogger
	touch $@
