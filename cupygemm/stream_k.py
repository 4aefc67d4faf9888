"""(tiles of C, compute units) -> StreamK: which tiles several blocks share, and how (kernels/stream_k.hpp).

Blocks come in rounds, and the last round is rarely full. Stream-K (Osama et al., "Stream-K: Work-centric Parallel
Decomposition for Dense Matrix-Matrix Multiplication on the GPU") puts its tiles end to end along K and cuts what
results in equal streams, one a block.
"""

from __future__ import annotations

import dataclasses

_INT32 = 2**31 - 1
#: K range of a stream that is worth a block of its own.
_LEAST_K = 128


@dataclasses.dataclass(frozen=True)
class StreamK:
    """The part of a product that is cut in streams.

    Attributes:
        tiles: tiles of C in streams, the first ones.
        streams: blocks that share them.
        steps: K tiles of a tile of C.
        whole: tiles of C after them, each computed by a block of its own.
    """

    tiles: int
    streams: int
    steps: int
    whole: int

    @property
    def share(self) -> int:
        """K tiles of a stream; the first `longer` streams have one more."""
        return self.tiles * self.steps // self.streams

    @property
    def longer(self) -> int:
        return self.tiles * self.steps % self.streams

    @property
    def blocks(self) -> int:
        return self.streams + self.whole

    def begin(self, stream: int) -> int:
        """The K tile, counted from that of tile 0 on, with which a stream begins."""
        return stream * self.share + min(stream, self.longer)

    def stream_of(self, step: int) -> int:
        """The stream that a K tile is in."""
        in_longer = self.longer * (self.share + 1)
        return step // (self.share + 1) if step < in_longer else self.longer + (step - in_longer) // self.share

    @property
    def pieces(self) -> int:
        """The most streams that can meet in a tile: of one K tile in the first and one in the last, whole streams fill
        what lies between."""
        return (self.steps - 2) // self.share + 2 if self.steps > 1 else 1


def last_round(tiles: int, steps: int, block_k: int, places: int) -> StreamK | None:
    """The last round of `tiles` tiles, each `steps` K tiles of `block_k` deep, cut in streams for a GPU that holds
    `places` blocks at a time; None where nothing is gained, or the K tiles of all tiles are too many to number."""
    rest = tiles % places
    if rest == 0 or max(tiles * steps + places, steps * block_k) > _INT32:
        return None
    streams = min(places, rest * steps * block_k // _LEAST_K)
    return StreamK(rest, streams, steps, tiles - rest) if streams > rest else None
