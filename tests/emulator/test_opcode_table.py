"""docs/opcodes.md is what tools/opcode_table.py makes of the executor's opcode table today."""

from __future__ import annotations

import importlib.util
import pathlib
import types

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "opcode_table.py"


def tool() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("opcode_table", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    module = tool()
    assert module.PAGE.read_text() == module.page(), "run python tools/opcode_table.py"


def test_an_opcode_that_nothing_tests_is_an_error() -> None:
    with pytest.raises(ValueError, match="no test is known for v_new_opcode"):
        tool().test_file("v_new_opcode")
