"""Values of assembler expressions in kernel directives: numbers, ``.set`` symbols, and the functions that clang writes
there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping


def _align(x: int, unit: int) -> int:
    return -(-x // unit) * unit


def _total_vgprs(agprs: int, vgprs: int) -> int:
    return _align(vgprs, 4) + agprs if agprs else vgprs


_FUNCTIONS: dict[str, Callable[..., int]] = {
    "max": max,
    "alignto": _align,
    "totalnumvgprs": _total_vgprs,
    "extrasgprs": lambda vcc, flat, xnack: 6 if flat else 4 if xnack else 2 if vcc else 0,
    "instprefsize": lambda size: 0,
}


def evaluate(text: str, symbols: Mapping[str, str]) -> int:
    """Value of ``text``. Raises ValueError for an expression that it cannot read or a symbol that is not set."""
    try:
        return int(text, 0)
    except ValueError:
        pass
    names: dict[str, str] = {}

    def stand_in(match: re.Match[str]) -> str:
        if match[0] in _FUNCTIONS:
            return "f_" + match[0]
        return names.setdefault(match[0], f"x_{len(names)}")

    python = re.sub(r"(?<![\w.$])[A-Za-z_.$][\w.$]*", stand_in, text).replace("&&", " and ").replace("||", " or ")
    meanings = {v: k for k, v in names.items()}

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            symbol = meanings[node.id]
            if symbol not in symbols:
                raise ValueError(f"symbol {symbol} is not set")
            return evaluate(symbols[symbol], symbols)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("f_"):
            return int(_FUNCTIONS[node.func.id[2:]](*[value(a) for a in node.args]))
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return int(_BINARY[type(node.op)](value(node.left), value(node.right)))
        if (
            isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and isinstance(node.ops[0], (ast.NotEq, ast.Eq, ast.Gt))
        ):
            left, right = value(node.left), value(node.comparators[0])
            return int(
                left > right if isinstance(node.ops[0], ast.Gt) else (left == right) == isinstance(node.ops[0], ast.Eq)
            )
        raise ValueError(f"cannot evaluate {text!r}")

    try:
        return value(ast.parse(python, mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"cannot evaluate {text!r}") from error


_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a // b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitAnd: lambda a, b: a & b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}
