PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-slow test-oldest test-python site test-browser test-gpu fuzz faults lint types check bench bench-gpu bench-compare bench-tables generated generated-page docs docs-browser api bundled sample clean

demo: .venv/demo-ready
	$(BIN)/brittle demo --out demo

test: .venv/test-ready lint types check
	@echo 'Left out: tests in a real browser (make test-browser) and long ones (make test-slow).'

lint: .venv/test-ready
	$(BIN)/ruff check src tests benchmarks docs papers
	$(BIN)/ruff format --check src tests benchmarks docs papers

types: .venv/test-ready
	$(BIN)/mypy

# One thread per process: two test processes with two threads each would wait for one another. A third process works while
# others wait for servers and processes of theirs.
check: .venv/test-ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 -m "not slow and not browser"

# Long trainings, a hardening of default size, the wheel in an environment of its own; then other versions.
test-slow: .venv/test-ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m slow
	$(MAKE) test-oldest
	$(MAKE) test-python

# The oldest versions that pyproject.toml allows, in an environment of its own (3 GB to download: old torch has no build
# without CUDA among what pip finds by its name), and another Python with the usual versions.
VERSIONED := tests/cli tests/registry tests/classifiers tests/nuisances tests/images tests/samplers tests/statistics \
    tests/measures tests/engine tests/report tests/test_api.py tests/test_live.py tests/test_library.py tests/test_study.py
OTHER_PYTHON ?= $(firstword $(foreach each,python3.13 python3.12,$(shell $(each) -c 'print("$(each)")' 2>/dev/null)))
test-oldest: .venv-oldest/ready
	OMP_NUM_THREADS=1 .venv-oldest/bin/pytest -n 2 -m "not slow and not browser" $(VERSIONED)

test-python:
	@test -n '$(OTHER_PYTHON)' || { echo 'Left out: there is no Python 3.12 or 3.13 here (OTHER_PYTHON=…).'; exit 0; }
	@test -z '$(OTHER_PYTHON)' || $(MAKE) .venv-python/ready OTHER_PYTHON=$(OTHER_PYTHON)
	@test -z '$(OTHER_PYTHON)' || OMP_NUM_THREADS=1 .venv-python/bin/pytest -n 2 -m "not slow and not browser" $(VERSIONED)

# Pages in a real browser.
test-browser: .venv/test-ready
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	    echo 'These tests need Chromium: apt-get update && apt-get install -y chromium (Debian),'; \
	    echo 'dnf install chromium (Fedora), or https://www.chromium.org.'; exit 1; } >&2
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/browser

# Nuisances, classifiers and measures on a GPU beside a CPU, with the Python that has a torch for it and pytest:
# make test-gpu PYTHON=python3. Skipped by `make test` where there is no GPU.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest tests/gpu

# Inputs made up by hypothesis, CASES of each target, fewer of costly ones: `make test` tries a few hundred. What came of
# them is written to RESULT.
CASES ?= 20000
RESULT ?= tests/fuzz/result.md
fuzz: .venv/test-ready
	OMP_NUM_THREADS=1 BRITTLE_FUZZ=$(CASES) BRITTLE_FUZZ_RESULT=$(RESULT) $(BIN)/pytest -n 2 tests/fuzz

# Kills, power cuts, full disks, read-only mounts, failing disks, rivals, stopped workers, and stores and services that
# fail, against run, harden, train, generate and report. Each command is killed at KILLS random moments, every second time
# by a power cut, and by both at every event; with TIMES=50 by a kill at every second event, by a power cut at the others.
TIMES ?= 100
KILLS ?= $(TIMES)
faults: .venv/test-ready
	$(BIN)/python -m benchmarks.faults --times $(TIMES) --kills $(KILLS) --out benchmarks/faults/result.md

# The guard: a few minutes on a CPU, ratios with their environment in benchmarks/results/cpu.json.
bench: .venv/bench-ready
	$(BIN)/python -m benchmarks.guard

# Under 10 minutes on a GPU, with the Python that has a torch for it: make bench-gpu PYTHON=python3.
bench-gpu:
	PYTHONPATH=src $(PYTHON) -m benchmarks.guard.gpu --out benchmarks/results

# Experiments on generated shifts (papers/cns2025/generated): CALL is 1, 2 or 3, each under 10 minutes on a GPU, with the
# folder that carry.py makes beside the repository. `make generated-page` fills the page from what came back.
CALL ?= 1
generated:
	PYTHON=$(PYTHON) bash papers/cns2025/generated/h200.sh $(CALL)

generated-page: .venv/test-ready
	$(BIN)/python papers/cns2025/generated/page.py

# What these two wrote beside what is committed; fails on a loss of more than 3 % beyond noise.
bench-compare: .venv/test-ready
	$(BIN)/python -m benchmarks.guard.compare

# The tables of benchmarks/README.md that have peers.
bench-tables: .venv/bench-ready
	$(BIN)/python benchmarks/nuisances.py
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/perturbation.py

# The functions per measure, from the options of commands.
api: .venv/test-ready
	$(BIN)/python -m brittle.api.generate

docs: .venv/test-ready
	$(BIN)/python docs/make.py
	$(BIN)/python docs/nuisances.py
	$(BIN)/python docs/weak_points.py
	$(BIN)/python docs/mixes.py
	$(BIN)/python docs/python.py
	$(BIN)/python docs/speed.py

# The documentation as a site, build/site; a link that leads nowhere is an error. To read it with its search:
# python3 -m http.server --bind 127.0.0.1 --directory build/site
site: .venv/test-ready
	$(BIN)/python docs/build_site.py build/site

# Pictures of report, explorer, bundle and gate, from real runs in a real browser (the bundle needs npm).
docs-browser: .venv/test-ready
	$(BIN)/python docs/pages.py

# The bundled weights (delete those that are there) and images, from FashionMNIST's four gzipped idx files in FASHION.
idx = idx:$(FASHION)/$(1)-images-idx3-ubyte.gz,labels=$(FASHION)/$(1)-labels-idx1-ubyte.gz
bundled: .venv/test-ready
	for name in plain augmented; do \
	    $(BIN)/brittle train small-$$name $(call idx,train) --test $(call idx,t10k) \
	        --out src/brittle/classifiers/data/$$name.safetensors || exit 1; \
	done

sample: .venv/test-ready
	$(BIN)/python -m brittle.images.sample $(FASHION)

clean:
	rm -rf .venv .venv-oldest .venv-python build dist demo .mypy_cache .ruff_cache .pytest_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Brittle needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv

.venv/demo-ready: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

.venv/test-ready: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev]'
	@touch $@ .venv/demo-ready

OLDEST := captum,datasets,ode,pandas,ray,sklearn,timm,torchvision,transformers
TESTERS := pytest pytest-xdist hypothesis jsonschema onnx onnxscript webdataset

.venv-oldest/ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e '.[$(OLDEST)]' $(TESTERS)
	@touch $@

.venv-python/ready: pyproject.toml constraints.txt
	$(OTHER_PYTHON) -m venv .venv-python
	.venv-python/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# The peers that nuisances are timed beside.
.venv/bench-ready: .venv/test-ready
	$(PIP) -e '.[dev,bench]'
	@touch $@
