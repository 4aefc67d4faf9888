"""What the hot loop of an AMD GPU kernel issues, counted from its assembly listing.

    python tools/loopstats.py kernel.s

The measure that compares kernels of different tiles is FLOPs per issued instruction: what a wave does for each
instruction of the steady state of its main loop, hints to the scheduler left out. Counts are static; they say nothing
about time.

Figures for peers' kernels that were counted with another tool agree with these, which tests/test_loopstats.py pins on
hand-made listings.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import math
import re
import sys

_INSTRUCTION = re.compile(r"\s+((?:s|v|ds|global|buffer|flat|scratch)_\w+)(.*)")
_LABEL = re.compile(r"(\.?\w+):")
_MATRIX = re.compile(r"v_(?:mfma|wmma|swmmac|smfmac)(?:_scale)?_\w+?_(\d+)x(\d+)x(\d+)")
_FMA = re.compile(r"v_(?:dual_)?(pk_)?(?:fma|fmac|fmamk|fmaak|mac|mad)_(?:f32|f16|f64)")
_HINTS = ("s_setprio", "s_nop", "s_delay_alu", "s_clause", "s_sched_barrier", "s_sleep", "s_inst_prefetch",
          "s_set_inst_prefetch_distance")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class LoopStats:
    """A kernel's resources and the contents of its hot loop.

    Attributes:
        kernel, vgprs, sgprs, spills, scratch, lds: as the compiler states them; spills of vector and scalar registers
            together, scratch and LDS in bytes.
        instructions: issued by a wave in one turn of the loop, without hints.
        flops: done by a wave in one turn, two for a multiply-add.
        kinds: instructions by kind: matrix, fma, valu, salu, global_load, global_store, lds_read, lds_write, barrier,
            wait, branch, scratch, flat.
        names: instructions by mnemonic.
        cover: of the load from global memory that is waited for soonest, the share of the loop's FLOPs that lie between
            its issue and the wait. What a prefetch has to hide behind; 1 where it has all of a turn.
        gap: the most instructions in a row that do no arithmetic, during which a wave leaves the units idle.
    """

    kernel: str
    vgprs: int
    sgprs: int
    spills: int
    scratch: int
    lds: int
    instructions: int
    flops: int
    kinds: dict[str, int]
    names: dict[str, int]
    cover: float
    gap: int

    @property
    def flops_per_instruction(self) -> float:
        return self.flops / self.instructions


def loop_stats(listing: str) -> LoopStats:
    """Counts the innermost loop that does the most FLOPs, of the listing's only kernel.

    Raises:
        ValueError: the listing holds no kernel, or several, or one without a loop that does arithmetic.
    """
    names = re.findall(r"^\s*\.amdhsa_kernel\s+(\S+)", listing, re.M)
    if len(names) != 1:
        raise ValueError(f"the listing holds {len(names)} kernels, not 1")
    wave = 64 if re.search(r"\.wavefront_size:\s*64", listing) else 32
    body, labels = _body(listing, names[0])
    loops = []
    for end, (name, operands) in enumerate(body):
        if name.startswith(("s_cbranch", "s_branch")):
            start = labels.get(operands.split(",")[-1].strip(), len(body))
            if start <= end:
                loops.append(range(start, end + 1))
    done = [_flops(name + operands, wave) for name, operands in body]
    loops = [loop for loop in loops if any(done[i] for i in loop)]
    if not loops:
        raise ValueError(f"kernel {names[0]} has no loop that does arithmetic")
    innermost = [x for x in loops if not any(y != x and y[0] in x and y[-1] in x for y in loops)]
    best = max(innermost, key=lambda loop: sum(done[i] for i in loop))
    loop = [body[i] for i in best]
    issued = [_encoding_dropped(name) for name, _ in loop if not name.startswith(_HINTS)]
    return LoopStats(
        kernel=names[0],
        vgprs=_metadata(listing, "vgpr_count"),
        sgprs=_metadata(listing, "sgpr_count"),
        spills=_metadata(listing, "vgpr_spill_count") + _metadata(listing, "sgpr_spill_count"),
        scratch=_metadata(listing, "private_segment_fixed_size"),
        lds=_metadata(listing, "group_segment_fixed_size"),
        instructions=len(issued),
        flops=sum(done[i] for i in best),
        kinds=dict(collections.Counter(map(_kind, issued))),
        names=dict(collections.Counter(issued)),
        cover=_cover(loop, wave),
        gap=_gap(loop, wave),
    )


def _cover(loop: list[tuple[str, str]], wave: int) -> float:
    """LoopStats.cover, of a loop that is walked twice so that waits meet the loads of the turn before."""
    total = sum(_flops(name + operands, wave) for name, operands in loop)
    done, least = 0, math.inf
    under_way: list[int] = []  # FLOPs done when each load was issued, the oldest first
    for name, operands in loop + loop:
        done += _flops(name + operands, wave)
        if re.match(r"(buffer|global|flat)_load", name):
            under_way.append(done)
        elif (left := _loads_left(name, operands)) is not None:
            finished = under_way[: max(0, len(under_way) - left)]
            del under_way[: len(finished)]
            least = min([least, *((done - issued) / total for issued in finished)])
    return least


def _gap(loop: list[tuple[str, str]], wave: int) -> int:
    """LoopStats.gap; a stretch may go on in the next turn."""
    longest = length = 0
    for name, operands in loop + loop:
        if _flops(name + operands, wave):
            length = 0
        elif not name.startswith(_HINTS):
            length += 1
            longest = max(longest, length)
    return longest


def _loads_left(name: str, operands: str) -> int | None:
    """How many loads may be under way after a wait; None if it does not wait for loads."""
    if name == "s_waitcnt":
        found = re.search(r"vmcnt\((\d+)\)", operands)
        return int(found[1]) if found else None
    if name.startswith("s_wait_loadcnt"):
        count = int(operands.strip(), 0)
        return count >> 8 if name.endswith("dscnt") else count
    return None


def _body(listing: str, kernel: str) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Instructions of a kernel, and where its labels point."""
    body: list[tuple[str, str]] = []
    labels: dict[str, int] = {}
    inside = False
    for line in listing.splitlines():
        label = _LABEL.match(line)
        if label is not None:
            inside = label[1] == kernel or (inside and not label[1].startswith(".Lfunc_end"))
            labels[label[1]] = len(body)
        elif inside and (found := _INSTRUCTION.match(line)):
            body.append((found[1], found[2].split(";")[0]))
    return body, labels


def _metadata(listing: str, key: str) -> int:
    found = re.search(rf"\.{key}:\s*(\d+)", listing)
    return int(found[1]) if found else 0


def _flops(text: str, wave: int) -> int:
    """FLOPs of a wave in one instruction; `text` holds both halves of a dual-issued pair."""
    matrix = _MATRIX.match(text)
    if matrix is not None:
        return 2 * int(matrix[1]) * int(matrix[2]) * int(matrix[3])
    return sum(2 * wave * (2 if fma[1] else 1) for fma in _FMA.finditer(text))


def _encoding_dropped(name: str) -> str:
    return re.sub(r"(_e32|_e64|_dpp|_sdwa)+$", "", name)


def _kind(name: str) -> str:
    if _MATRIX.match(name):
        return "matrix"
    for prefix, kind in (
        ("v_dual_", "fma"),
        ("v_", "fma" if _FMA.match(name) else "valu"),
        ("scratch_", "scratch"),
        ("flat_", "flat"),
        ("s_barrier", "barrier"),
        ("s_wait", "wait"),
        ("s_cbranch", "branch"),
        ("s_branch", "branch"),
        ("s_", "salu"),
        ("ds_", "lds_write" if re.search("write|store", name) else "lds_read"),
    ):
        if name.startswith(prefix):
            return kind
    return "global_load" if "load" in name else "global_store"


def main() -> None:
    """Prints the counts of each listing named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("listings", nargs="+", type=argparse.FileType())
    for file in parser.parse_args().listings:
        try:
            stats = loop_stats(file.read())
        except ValueError as error:
            sys.exit(f"{file.name}: {error}")
        print(f"{stats.kernel}: {stats.flops_per_instruction:.0f} FLOPs an instruction")
        print(f"  {stats.vgprs} VGPRs, {stats.sgprs} SGPRs, {stats.spills} spilled, {stats.scratch} bytes of scratch,")
        print(f"  {stats.lds} bytes of LDS; {stats.instructions} instructions in the loop, {stats.flops} FLOPs")
        print(f"  loads are waited for after {stats.cover:.0%} of a turn's FLOPs at the soonest;")
        print(f"  at most {stats.gap} instructions in a row do no arithmetic")
        print("  " + ", ".join(f"{n} {kind}" for kind, n in sorted(stats.kinds.items())))


if __name__ == "__main__":
    main()
