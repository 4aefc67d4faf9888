"""(architecture, types) -> the tiles to choose from, of the table of the architecture's family.

A table (tables/*.json) lists tiles with the share of the GPU's peak that a full grid of them reaches. Tuning for an
architecture adds data, not code.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import json

from cupygemm.arch import Arch
from cupygemm.kernel_config import Tile, infeasible
from cupygemm.matrix_tile import MatrixTile
from cupygemm.mfma_tile import MfmaTile
from cupygemm.problem import F32, Types


@dataclasses.dataclass(frozen=True)
class Device:
    """What a decision depends on: the architecture, and how many compute units (multiprocessors) this GPU has."""

    arch: Arch
    units: int


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A tile and how well it does.

    Attributes:
        tile: the tile.
        share: share of peak that a grid reaches which fills every compute unit.
        alone: share of peak that one block reaches with a compute unit to itself; None where that is `share`.
        both_k: `share` where K is contiguous in both operands; None where that is `share`.
    """

    tile: Tile | MatrixTile
    share: float
    alone: float | None = None
    both_k: float | None = None


#: The tables' keys by operand type.
_TABLES = {
    "f64": "f64",
    "f32": "f32",
    "f16": "16bit",
    "bf16": "16bit",
    "i8": "8bit",
    "e4m3": "float8",
    "e5m2": "float8",
}


@functools.cache
def candidates(arch: Arch, types: Types = F32) -> tuple[Candidate, ...]:
    """The tiles for these types that are feasible on an architecture, largest first."""
    found = []
    for row in _table(arch, _TABLES[types.operand]):
        speed = {key: row.pop(key, None) for key in ("share", "alone", "both_k")}
        tile = (Tile if "lanes_m" in row else MfmaTile if "instruction" in row else MatrixTile)(**row)
        if infeasible(tile, arch, types) is None:
            found.append(Candidate(tile, **speed))
    return tuple(sorted(found, key=lambda c: -c.tile.block_m * c.tile.block_n))


def _table(arch: Arch, key: str) -> list[dict]:
    """The rows of the family's table, or else of the one for every target with waves of this size."""
    folder = importlib.resources.files("cupygemm").joinpath("tables")
    for name in (arch.family, f"wave{arch.wave}"):
        file = folder.joinpath(f"{name}.json")
        if file.is_file() and (rows := json.loads(file.read_text()).get(key)):
            return rows
    return []
