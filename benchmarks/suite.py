"""The shapes that a suite times, and why."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    """One product, A (M x K) times B (K x N), or a batch of them.

    Attributes:
        m, n, k: sizes.
        layout: of A and B, one letter each: "r" row-major, "c" column-major.
        batch: matrices in the batch; 0 for plain matrices.
        shared_b: all matrices of the batch are multiplied by the same B.
        group: the group of the suite it stands for.
    """

    m: int
    n: int
    k: int
    layout: str = "rr"
    batch: int = 0
    shared_b: bool = False
    group: str = "given"

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k) < 1 or self.batch < 0:
            raise ValueError(f"sizes must be positive: {self.m} x {self.n} x {self.k}, batch {self.batch}")
        if len(self.layout) != 2 or not set(self.layout) <= set("rc"):
            raise ValueError(f"a layout is two letters out of r and c, not {self.layout!r}")

    @property
    def name(self) -> str:
        batch = f"{self.batch}x({self.m}x{self.n}x{self.k})" if self.batch else f"{self.m}x{self.n}x{self.k}"
        return f"{batch} {self.layout}{' shared B' * self.shared_b}"

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k * max(1, self.batch)


#: Group -> why it is in the FP32 suite, and its (M, N, K, layout, batch, shared B).
_FP32: dict[str, tuple[str, tuple[tuple, ...]]] = {
    "squares": (
        "the sizes everyone quotes: host cost at the small end, the kernel's rate at the large end",
        tuple((n, n, n) for n in (64, 128, 256, 512, 1024, 2048, 4096, 8192)),
    ),
    "odd sizes": (
        "no multiple of a tile or of a vector load: ragged edges and 4-byte accesses",
        ((65, 65, 65), (127, 127, 127), (511, 511, 511), (1000, 1000, 1000), (1023, 1023, 1023), (2047, 2047, 2047),
         (4095, 4095, 4095)),
    ),
    "layouts": (
        "the other three combinations of row- and column-major operands, small, middle and large",
        tuple((n, n, n, layout) for n in (512, 2048, 4096) for layout in ("rc", "cr", "cc")),
    ),
    "skinny": (
        "few rows or columns, as in inference and in projections onto a few vectors: bound by memory",
        ((1, 4096, 4096), (4, 4096, 4096), (16, 4096, 4096), (16, 4096, 4096, "rc"), (32, 8192, 4096),
         (4096, 4, 4096), (4096, 16, 4096), (100000, 64, 64)),
    ),
    "deep K": (
        "few tiles, long sums, as in Gram matrices: idle without split-K",
        ((64, 64, 65536), (128, 128, 32768), (256, 256, 16384), (512, 512, 8192)),
    ),
    "shallow K": (
        "outer-product-like updates: bound by the stores of C",
        ((4096, 4096, 16), (4096, 4096, 64), (8192, 8192, 32), (2048, 2048, 128)),
    ),
    "batches": (
        "many small matrices in one call, alone or sharing B, row-major and transposed",
        ((32, 32, 32, "rr", 1000), (16, 16, 16, "rr", 4096), (65, 33, 47, "rr", 100), (128, 128, 128, "rr", 256),
         (256, 256, 256, "rr", 64), (512, 512, 512, "rr", 16), (256, 256, 256, "rc", 32),
         (128, 256, 64, "rr", 64, True)),
    ),
}  # fmt: skip


def fp32() -> tuple[Case, ...]:
    """The 48 cases of the FP32 suite."""
    return tuple(Case(*shape, group=group) for group, (_, shapes) in _FP32.items() for shape in shapes)


def reasons() -> dict[str, str]:
    """Why each group is in the FP32 suite."""
    return {group: why for group, (why, _) in _FP32.items()}
