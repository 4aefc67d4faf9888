"""Writes docs/opcodes.md: every opcode that the emulated GPU executes, by arch, and the test that holds it to its ISA.

    python tools/opcode_table.py

An arch has an opcode if its assembler knows the mnemonic. Run it after a change to the executor's opcode table; a test
fails while the file is out of date.
"""

from __future__ import annotations

import collections
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "opcodes.md"
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.emulator.harness import ARCHS, executor, zig  # noqa: E402
from tests.emulator.opcode_cases import CASES  # noqa: E402
from tests.emulator.opcode_runner import accepted  # noqa: E402
from tests.emulator.test_opcodes import ELSEWHERE  # noqa: E402

#: Rows of the executor's table that no assembler knows: the decoder makes them.
_INTERNAL = ("unknown", "v_mov_b32_indexed")
_UNKNOWN = ("instruction not supported on this GPU", "invalid instruction")
_HEAD = """# Opcodes of the emulated GPU

Written by `python tools/opcode_table.py`; do not edit. Every opcode below is executed. A cell says how it is tested on
that arch:

- `=` compared with a reference written a second time (`tests/emulator/opcode_cases.py`), on edge and random values
- `t` tested in the file that the heading names
- empty: the arch does not have it

"""


def page() -> str:
    """The text of docs/opcodes.md."""
    names = sorted({opcode.name for opcode in executor().opcodes} - set(_INTERNAL))
    known = {arch: known_mnemonics(names, arch) for arch in ARCHS}
    rows = []
    for name in names:
        file = test_file(name)
        cells = [cell(name, arch, known[arch]) for arch in ARCHS]
        rows.append((name, cells, file))
    return _HEAD + totals(rows) + "\n" + "\n".join(section(file, rows) for file in sorted({r[2] for r in rows}))


def known_mnemonics(names: list[str], arch: str) -> set[str]:
    """Those that the assembler knows for ``arch``: a bare mnemonic then lacks operands, and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "k.s").write_text("\n".join(names) + "\n")
        command = ["clang", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", "k.s", "-o", "k.o"]
        said = zig(*command, folder=folder).stderr.splitlines()
    unknown = {int(line.split(":")[1]) for line in said if line.startswith("k.s:") and line.endswith(_UNKNOWN)}
    return {name for n, name in enumerate(names) if n + 1 not in unknown}


def test_file(name: str) -> str:
    """The file in tests/emulator that tests an opcode: of several prefixes the longest counts."""
    if name in CASES:
        return "test_opcodes.py"
    found = [(len(p), file) for file, prefixes in ELSEWHERE.items() for p in prefixes.split() if name.startswith(p)]
    if not found:
        raise ValueError(f"no test is known for {name}")
    return max(found)[1]


def cell(name: str, arch: str, known: set[str]) -> str:
    """How an opcode is tested on an arch. Raises ValueError where it is not."""
    if name not in known:
        return ""
    if name in CASES and name not in accepted(arch):
        raise ValueError(f"{name} is known on {arch} but not compared there")
    return "=" if name in CASES else "t"


Row = tuple[str, list[str], str]


def totals(rows: list[Row]) -> str:
    """Opcodes of each arch, by how they are tested."""
    count = collections.Counter((arch, c) for _, cells, _ in rows for arch, c in zip(ARCHS, cells, strict=True))
    lines = ["| | " + " | ".join(ARCHS) + " |", "|---" * (len(ARCHS) + 1) + "|"]
    for mark, text in (("=", "compared"), ("t", "tested elsewhere")):
        lines.append(f"| {text} | " + " | ".join(str(count[arch, mark]) for arch in ARCHS) + " |")
    return "\n".join(lines) + "\n"


def section(file: str, rows: list[Row]) -> str:
    """The opcodes of one test file."""
    lines = [f"## {file}", "", "| opcode | " + " | ".join(ARCHS) + " |", "|---" * (len(ARCHS) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(cells) + " |" for name, cells, where in rows if where == file]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
