# Every target makes .venv and installs what it needs by itself; continuous integration calls them verbatim.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo serve test coverage check stats bench docs clean verdicts walks

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.venv/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) pip
	$(PIP) --editable '.[cli]'
	@touch $@

.venv/installed: .venv/demo requirements-dev.txt
	$(PIP) --editable '.[postgres,sql,spark,service]' --requirement requirements-dev.txt
	@touch $@

demo: .venv/demo ## from a table to a private model, its scores, card and report, in ./demo
	$(BIN)/tacit demo --output demo

.venv/serve: .venv/demo
	$(PIP) --editable '.[service]'
	@touch $@

serve: .venv/serve ## the trusted learner over the bundled Adult, on http://127.0.0.1:8765
	$(BIN)/tacit serve --demo

test: check ## everything that must hold
	$(BIN)/python -m pytest --numprocesses 2

coverage: .venv/installed ## the tests again, and which lines none of them runs
	$(BIN)/python -m pytest --numprocesses 2 --cov --cov-report=term:skip-covered

check: .venv/installed ## style, types, import order, proof fingerprints
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_proofs.py

stats: .venv/installed ## the statistical tests with ten times the sample
	TACIT_STATS_FACTOR=10 $(BIN)/python -m pytest --numprocesses 2 -m stats

verdicts: .venv/installed ## what the auditor says of each method, for the cards (a few minutes; before a release)
	$(BIN)/python tools/verdicts.py

walks: .venv/installed ## the files, functions and classes that one act of each kind enters
	$(BIN)/python tools/walks.py > benchmarks/results/walks.md

bench: .venv/installed ## speed and accuracy side by side with peers (about an hour)
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/speed_delta.py
	$(BIN)/python benchmarks/speed_peers.py
	$(BIN)/python benchmarks/default_ridge.py
	$(BIN)/python benchmarks/kernel_ridge.py
	$(BIN)/python benchmarks/default_margin.py
	$(BIN)/python benchmarks/default_scores.py
	$(BIN)/python benchmarks/three_scores.py
	$(BIN)/python benchmarks/softmax_clipping.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/regression.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/persons.py
	$(BIN)/python benchmarks/noise_table.py
	$(BIN)/python benchmarks/queries.py
	$(BIN)/python benchmarks/queries_scale.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/search_law.py
	$(BIN)/python benchmarks/private_search.py
	$(BIN)/python benchmarks/sensible_epsilon.py
	$(BIN)/python benchmarks/score_choices.py
	$(BIN)/python benchmarks/scores.py
	$(BIN)/python benchmarks/audit_diffprivlib.py

docs: .venv/installed ## the documentation as pages in site/
	$(BIN)/mkdocs build --strict --quiet

clean: ## remove what was made
	rm -rf .venv .venv-peers demo site .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
