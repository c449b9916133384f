# Everything runs in .venv, which is made on first use and renewed only when pyproject.toml changes.
#
#   make demo     train a model on the embedded dictionary and open it up
#   make test     every test
#   make check    style, types, and the direction of imports
#   make format   let ruff mend what it can
#
# PYTHON=python3.12    another interpreter (3.11 or newer)
# WORKERS=1             run the tests in one process (default: one a core)
# TORCH_INDEX=URL      a package index that holds the build of torch you want, such as PyTorch's own for CPUs

PYTHON ?= python3
TORCH_INDEX ?=
WORKERS ?= auto
BIN := .venv/bin
DEMO := .venv/.demo
DEV := .venv/.dev

VENV = $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
INSTALL = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) --editable

.PHONY: demo test check format clean
.NOTPARALLEL:

demo: $(DEMO)
	@$(BIN)/heedful demo

test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --quiet

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(DEMO): pyproject.toml
	@echo "Installing heedful into .venv (once; torch is large, see TORCH_INDEX in README.md) ..."
	@$(VENV)
	@$(INSTALL) '.[demo]'
	@touch $@

# The development tools come on top of what the demo needs, so that both stamps hold.
$(DEV): pyproject.toml
	@echo "Installing heedful and its development tools into .venv (once; torch is large, see TORCH_INDEX in README.md) ..."
	@$(VENV)
	@$(INSTALL) '.[dev,demo]'
	@touch $@ $(DEMO)
