"""A product too large for one launch -> smaller products of views, which together make it."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from cupygemm.plan import Shapes

Cut = Literal["k", "batch", "size"]


@dataclasses.dataclass(frozen=True)
class Part:
    """One piece along one dimension of the product.

    Attributes:
        dim: "m", "n", "k", or the number of a batch dimension, counted from the outermost.
        where: the piece's range.
    """

    dim: Literal["m", "n", "k"] | int
    where: slice

    def of_a(self, x: Any, shapes: Shapes) -> Any:
        """This piece's share of the first operand, a view."""
        if self.dim == "n":
            return x
        if self.dim == "k":
            return x[..., self.where]
        if self.dim == "m":
            return x[..., self.where, :]
        return self._of_batch(x, len(shapes.batch), 1 if x.ndim == 1 else 2)

    def of_b(self, x: Any, shapes: Shapes) -> Any:
        """This piece's share of the second operand, a view."""
        if self.dim == "m":
            return x
        if self.dim == "k":
            return x[self.where] if x.ndim == 1 else x[..., self.where, :]
        if self.dim == "n":
            return x[..., self.where]
        return self._of_batch(x, len(shapes.batch), 1 if x.ndim == 1 else 2)

    def of_result(self, x: Any, shapes: Shapes) -> Any:
        """This piece's share of the result, a view; all of it for a piece along K."""
        if self.dim == "k":
            return x
        if self.dim == "n":
            return x[..., self.where]
        rank = len(shapes.batch)
        index = rank if self.dim == "m" else self.dim
        return x[(slice(None),) * index + (self.where,)]

    def _of_batch(self, x: Any, rank: int, core: int) -> Any:
        own = self.dim - (rank - (x.ndim - core))
        if own < 0 or x.shape[own] == 1:
            return x
        return x[(slice(None),) * own + (self.where,)]


def parts(shapes: Shapes, cut: Cut) -> list[Part]:
    """Pieces to make one after another.

    "k": two halves of K, whose products add up. "size": two halves of the longest of M, N and the batch dimensions.
    "batch": every index of the shortest batch dimension, so that one dimension fewer is left to walk.
    """
    if cut == "k":
        return _halves("k", shapes.k)
    extents: dict[Literal["m", "n", "k"] | int, int] = dict(enumerate(shapes.batch))
    if cut == "batch":
        dim = min((d for d, extent in extents.items() if extent > 1), key=lambda d: extents[d])
        return [Part(dim, slice(i, i + 1)) for i in range(extents[dim])]
    extents |= {"m": shapes.m, "n": shapes.n}
    dim = max(extents, key=lambda d: extents[d])
    return _halves(dim, extents[dim])


def _halves(dim: Literal["m", "n", "k"] | int, extent: int) -> list[Part]:
    if extent < 2:
        raise ValueError(f"a dimension of {extent} cannot be cut")
    return [Part(dim, slice(0, extent // 2)), Part(dim, slice(extent // 2, extent))]
