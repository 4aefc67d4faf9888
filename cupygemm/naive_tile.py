"""NaiveTile: a block's work in the kernel that the FP32 ladder starts from (kernels/naive.hpp). Never dispatched to."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class NaiveTile:
    """A thread for each element of a square of C, without tiles in LDS.

    Attributes:
        block_m, block_n: the square.
        block_k: K is walked element by element.
    """

    block_m: int = 16
    block_n: int = 16
    block_k: int = 1

    min_waves = 1
    dynamic_lds_bytes = 0

    @property
    def threads(self) -> int:
        return self.block_m * self.block_n

    @property
    def name(self) -> str:
        return f"naive_{self.block_m}x{self.block_n}"

    @property
    def summary(self) -> str:
        return f"{self.block_m} x {self.block_n} threads, an element of C each"
