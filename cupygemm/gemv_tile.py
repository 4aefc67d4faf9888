"""GemvTile: a block's work in the kernel for products of very few rows (kernels/gemv.hpp)."""

from __future__ import annotations

import dataclasses

#: kGemvThreads and kGemvColumns of kernels/gemv.hpp.
THREADS, COLUMNS = 256, 8
#: Most rows of a product that this kernel is for: beyond, a tile in LDS reads less.
MOST_ROWS = 4


@dataclasses.dataclass(frozen=True)
class GemvTile:
    """All rows of A and a few columns of B; nothing of B is kept in LDS.

    Attributes:
        block_m: rows, 1, 2 or 4.
        block_n: columns: 8 where K is contiguous in B, otherwise 8 times the width of a load.
        block_k: K is walked as one; kept so that every kind of tile has it.
    """

    block_m: int
    block_n: int
    block_k: int = 1

    threads = THREADS
    min_waves = 1
    dynamic_lds_bytes = 0

    def __post_init__(self) -> None:
        if self.block_m not in (1, 2, 4) or self.block_n not in (COLUMNS, 2 * COLUMNS, 4 * COLUMNS):
            raise ValueError(f"no GEMV kernel for blocks of {self.block_m} rows and {self.block_n} columns")

    @property
    def name(self) -> str:
        return f"gemv_{self.block_m}x{self.block_n}"

    @property
    def summary(self) -> str:
        return f"{self.block_m} rows x {self.block_n} columns, {THREADS // COLUMNS} threads a column, each a part of K"
