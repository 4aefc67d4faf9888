# make demo   multiplies real matrices on the GPU that is here, or else on an emulated one
# make test   checks style and types, and runs the tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# CuPy for the GPU of this machine: /dev/kfd is the driver of AMD GPUs, nvidia-smi comes with NVIDIA's; else emulated.
GPU := $(shell if [ -e /dev/kfd ]; then echo rocm; elif command -v nvidia-smi >/dev/null 2>&1; then echo cuda; else echo emulator; fi)

.PHONY: demo test test-full lint format clean

demo: $(VENV)/demo
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -q -n auto

# Every case of the sweeps, of which `test` takes a sample; about an hour on 2 cores.
test-full: lint
	CUPYGEMM_TEST_FULL=1 $(BIN)/python -m pytest -q -n auto

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	find cupygemm -name '*.hpp' -o -name '*.cpp' -o -name '*.h' | xargs $(BIN)/clang-format --dry-run --Werror

format: $(VENV)/test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find cupygemm -name '*.hpp' -o -name '*.cpp' -o -name '*.h' | xargs $(BIN)/clang-format -i

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install the package python3-venv of your system" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/demo: setup.cfg | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$(GPU)]'
	touch $@

$(VENV)/test: setup.cfg | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[$(GPU),test,bench]'
	touch $@ $(VENV)/demo

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
