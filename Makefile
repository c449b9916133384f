# Everything runs in .venv, which is made on first use and renewed only when pyproject.toml changes.
#
#   make demo     train a model on the embedded dictionary and open it up
#   make test     every test
#   make check    style, types, and the direction of imports
#   make format   let ruff mend what it can
#
# PYTHON=python3.12    another interpreter (3.11 or newer)
# TORCH_INDEX=URL      a package index that holds the build of torch you want, such as PyTorch's own for CPUs

PYTHON ?= python3
TORCH_INDEX ?=
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test check format clean

demo: $(INSTALLED)
	@$(BIN)/heedful demo

test: $(INSTALLED)
	$(BIN)/python -m pytest

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) --editable '.[dev,demo]'
	@touch $@
