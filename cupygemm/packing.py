"""Packed operands B: how many bytes they take, and how a product is changed to read one.

The order of the bytes is that of kernels/packed.hpp.
"""

from __future__ import annotations

import dataclasses
import functools

from cupygemm.access import gathers_rows
from cupygemm.arch import Arch
from cupygemm.dispatch import Decision
from cupygemm.kernel_config import OperandAccess
from cupygemm.mfma_tile import INSTRUCTION_BYTES, MfmaTile
from cupygemm.problem import GemmProblem, Matrix, Types

_CHUNK = 16  # bytes a lane reads at a time
_COLUMNS = 16  # in a group
_K_BYTES, _MULTIPLE = 256, 32  # of what K and the columns are filled up to a multiple


def chunks_of(k: int, itemsize: int) -> int:
    """Chunks of 16 bytes of a packed column."""
    return -(-k * itemsize // _K_BYTES) * _K_BYTES // _CHUNK


def packed_bytes(k: int, n: int, itemsize: int) -> int:
    """Bytes of a packed operand of `k` x `n`."""
    return chunks_of(k, itemsize) * _CHUNK * (-(-n // _MULTIPLE) * _MULTIPLE)


def pack_access(types: Types) -> OperandAccess:
    """How a kernel reads a packed operand."""
    return OperandAccess("k", _CHUNK // types.itemsize, True, False, packed=True)


def on_packed(problem: GemmProblem, decision: Decision) -> tuple[GemmProblem, Decision]:
    """The same product by the same tile, B being packed: the same sums in the same order."""
    size = problem.types.itemsize
    b = Matrix(_COLUMNS * chunks_of(problem.k, size) * _CHUNK // size, 1, (0,) * len(problem.batch), 16)
    tile, config = decision.config.tile, decision.config
    assert isinstance(tile, MfmaTile)
    held = tile.buffers * tile.block_m * tile.block_k * size  # LDS: A alone
    gathered = config.gathered and gathers_rows(tile, config.types, held)
    config = dataclasses.replace(config, b=pack_access(problem.types), gathered=gathered)
    return dataclasses.replace(problem, b=b), dataclasses.replace(decision, config=config)


@functools.cache
def packed_types(arch: Arch) -> tuple[str, ...]:
    """Names of the dtypes that `arch` multiplies packed."""
    names = {"float16": "f16", "bfloat16": "bf16", "int8": "i8"}
    fnuz = arch.family == "cdna3"
    names |= {"float8_e4m3fnuz": "e4m3", "float8_e5m2fnuz": "e5m2"} if fnuz else {"float8_e4m3fn": "e4m3",
                                                                                 "float8_e5m2": "e5m2"}  # fmt: skip
    return tuple(name for name, kernel in names.items() if kernel in INSTRUCTION_BYTES.get(arch.family, {}))
