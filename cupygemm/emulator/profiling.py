"""What a profiler would show of emulated launches: counters a dispatch, as objects, as CSV and as a short table.

Nothing here is a time. Names are rocprofv3's where it has one; it rounds some of them, and so does this.
"""

from __future__ import annotations

import csv
import ctypes
import dataclasses
import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from . import occupancy
from .executor import Counters
from .loader import Descriptor
from .targets import Target

_LDS_GRANULE = 512  # of rocprofv3's LDS_Block_Size


class _Dispatch(ctypes.Structure):
    """emu_hip_dispatch of native/hip/control.h."""

    _fields_ = [("kernel", ctypes.c_char_p), ("device", ctypes.c_int32)]
    _fields_ += [(n, ctypes.c_uint32 * 3) for n in ("grid", "block")]
    _fields_ += [("lds_bytes", ctypes.c_uint32), ("private_bytes", ctypes.c_uint32)]
    _fields_ += [("descriptor", Descriptor), ("counters", Counters)]


@dataclasses.dataclass(frozen=True, slots=True)
class Dispatch:
    """One launch.

    ``number`` counts the dispatches of this process. ``grid`` is in workgroups, ``block`` in work-items. Registers are
    a lane's (``sgprs``: a wave's), as allocated; ``lds_bytes`` a workgroup's, ``scratch_bytes`` a work-item's.

    Instructions count once for each wave that issues them. ``valu`` includes matrix instructions, and a VOPD pair
    (``vopd``) once; ``vmem_read`` includes atomics with a result and loads straight to LDS. ``lds_cycles`` are the
    cycles in which LDS is busy, those lost to bank conflicts (``lds_conflicts``) included. ``bytes_*`` are what the
    lanes ask global memory for and ``lines_*`` the cache lines that each instruction touches, summed: no cache is
    modelled. Floating-point operations: a sum, product or transcendental function of an active lane is one, a fused
    multiply-add two; a matrix instruction 2 M N K.
    """

    number: int
    kernel: str
    device: int
    target: Target
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    waves_per_simd: float
    waves: int
    valu: int
    vopd: int
    matrix: int
    salu: int
    branch: int
    smem: int
    lds: int
    vmem_read: int
    vmem_write: int
    barrier: int
    lds_cycles: int
    lds_conflicts: int
    bytes_read: int
    bytes_written: int
    lines_read: int
    lines_written: int
    valu_flops: int
    matrix_flops: int
    matrix_iops: int

    @property
    def grid_size(self) -> int:
        """Work-items in all."""
        return self.grid[0] * self.grid[1] * self.grid[2] * self.workgroup_size

    @property
    def workgroup_size(self) -> int:
        """Work-items of a workgroup."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def flops(self) -> int:
        return self.valu_flops + self.matrix_flops

    @property
    def vopd_share(self) -> float:
        """Of the VALU instructions, the part that are VOPD pairs."""
        return self.vopd / self.valu if self.valu else 0.0

    @property
    def lds_bank_conflict(self) -> float:
        """Percentage of the cycles in which LDS is busy that bank conflicts cost. (rocprofv3 relates them to the
        dispatch's duration.)"""
        return 100 * self.lds_conflicts / self.lds_cycles if self.lds_cycles else 0.0


#: The CSV's columns.
COLUMNS: dict[str, Callable[[Dispatch], Any]] = {
    "Dispatch_Id": lambda d: d.number,
    "Agent_Id": lambda d: d.device,
    "Arch": lambda d: d.target.arch,
    "Kernel_Name": lambda d: d.kernel,
    "Grid_Size": lambda d: d.grid_size,
    "Workgroup_Size": lambda d: d.workgroup_size,
    "LDS_Block_Size": lambda d: occupancy.round_up(d.lds_bytes, _LDS_GRANULE),
    "Scratch_Size": lambda d: d.scratch_bytes,
    "VGPR_Count": lambda d: d.vgprs,
    "Accum_VGPR_Count": lambda d: d.agprs,
    "SGPR_Count": lambda d: d.sgprs,
    "SQ_WAVES": lambda d: d.waves,
    "SQ_INSTS_VALU": lambda d: d.valu,
    "SQ_INSTS_MFMA": lambda d: d.matrix,
    "SQ_INSTS_SALU": lambda d: d.salu,
    "SQ_INSTS_BRANCH": lambda d: d.branch,
    "SQ_INSTS_SMEM": lambda d: d.smem,
    "SQ_INSTS_LDS": lambda d: d.lds,
    "SQ_INSTS_VMEM_RD": lambda d: d.vmem_read,
    "SQ_INSTS_VMEM_WR": lambda d: d.vmem_write,
    "SQ_LDS_IDX_ACTIVE": lambda d: d.lds_cycles,
    "SQ_LDS_BANK_CONFLICT": lambda d: d.lds_conflicts,
    "LDSBankConflict": lambda d: f"{d.lds_bank_conflict:.3f}",
    "TCP_TOTAL_READ_sum": lambda d: d.lines_read,
    "TCP_TOTAL_WRITE_sum": lambda d: d.lines_written,
    "Bytes_Read": lambda d: d.bytes_read,
    "Bytes_Written": lambda d: d.bytes_written,
    "VOPD_Share": lambda d: f"{d.vopd_share:.4f}",
    "VALU_FLOPs": lambda d: d.valu_flops,
    "Matrix_FLOPs": lambda d: d.matrix_flops,
    "Matrix_IOPs": lambda d: d.matrix_iops,
    "Barriers": lambda d: d.barrier,
    "Waves_Per_SIMD": lambda d: f"{d.waves_per_simd:g}",
}


class Profile:
    """The dispatches between entering and leaving a ``with`` statement, from all threads and devices.

    Launches under deferred streams belong to where they are carried out: synchronise before leaving.
    """

    def __init__(self, hip: ctypes.CDLL, targets: tuple[Target, ...]) -> None:
        hip.emu_hip_profile_begin.restype = ctypes.c_uint64
        self._hip, self._targets = hip, targets
        self._first: int | None = None
        self._kept: tuple[Dispatch, ...] = ()

    def __enter__(self) -> Profile:
        if self._first is not None:
            raise RuntimeError("a profile can be entered once only")
        self._first = self._hip.emu_hip_profile_begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept = self._read()
        self._hip.emu_hip_profile_end()
        self._first = -1

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """In the order in which they ended; so far, while the profile is open."""
        return self._kept if self._first in (None, -1) else self._read()

    def _read(self) -> tuple[Dispatch, ...]:
        found, raw = list(self._kept), _Dispatch()
        assert self._first is not None
        number = self._first + len(found)
        while self._hip.emu_hip_dispatch_at(ctypes.c_uint64(number), ctypes.byref(raw)) == 0:
            found.append(_dispatch(number, raw, self._targets[raw.device]))
            number += 1
        return tuple(found)


def _dispatch(number: int, raw: _Dispatch, target: Target) -> Dispatch:
    d, block = raw.descriptor, tuple(raw.block)
    vgprs, agprs = _registers(target, d.vgprs, d.agprs)
    return Dispatch(
        number=number,
        kernel=raw.kernel.decode(),
        device=raw.device,
        target=target,
        grid=tuple(raw.grid),
        block=block,
        vgprs=vgprs,
        agprs=agprs,
        sgprs=occupancy.allocated_sgprs(target, d.sgprs),
        lds_bytes=raw.lds_bytes,
        scratch_bytes=raw.private_bytes,
        waves_per_simd=occupancy.waves_per_simd(
            target,
            vgprs=d.vgprs,
            agprs=d.agprs,
            sgprs=d.sgprs,
            lds_bytes=raw.lds_bytes,
            work_items=block[0] * block[1] * block[2],
            both_units=bool(d.workgroup_processor_mode),
        ),
        **{field[0]: getattr(raw.counters, field[0]) for field in Counters._fields_},
    )


def _registers(target: Target, vgprs: int, agprs: int) -> tuple[int, int]:
    """VGPR_Count and Accum_VGPR_Count as rocprofv3 reads them from the kernel descriptor: on RDNA in eights, on CDNA
    the offset of the first accumulation register, and what is left of a total in eights."""
    if target.wave_size == 32:
        return occupancy.round_up(max(vgprs, 1), 8), 0
    offset = occupancy.round_up(max(vgprs, 1), 4)
    return offset, occupancy.allocated_vgprs(target, vgprs, agprs) - offset


def write_csv(dispatches: Iterable[Dispatch], path: str | os.PathLike[str]) -> None:
    """One row a dispatch, under ``COLUMNS``."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for dispatch in dispatches:
            rows.writerow([value(dispatch) for value in COLUMNS.values()])


def table(dispatches: Iterable[Dispatch], rows: int = 20) -> str:
    """A line for each kernel, arch and shape of launch: registers and the like, and the counts of all its dispatches.
    The ``rows`` with the most instructions are shown."""
    groups: dict[tuple[Any, ...], list[Dispatch]] = {}
    for d in dispatches:
        groups.setdefault((d.kernel, d.target.arch, d.grid, d.block, d.lds_bytes), []).append(d)
    ordered = sorted(groups.values(), key=lambda g: -sum(d.valu + d.salu for d in g))
    head = ("kernel", "arch", "calls", "waves", "VGPRs", "LDS", "w/SIMD", "VALU", "matrix", "LDS", "VMEM", "confl.%",
            "lines", "FLOPs")  # fmt: skip
    lines = [head, *(_line(group) for group in ordered[:rows])]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    text = [
        "  ".join([line[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    ]
    if len(ordered) > rows:
        text.append(f"... and {len(ordered) - rows} more")
    return "\n".join(text)


def _line(group: list[Dispatch]) -> tuple[str, ...]:
    first = group[0]

    def total(*names: str) -> int:
        return sum(getattr(d, name) for d in group for name in names)

    cycles = total("lds_cycles")
    return (
        first.kernel if len(first.kernel) <= 40 else first.kernel[:37] + "...",
        first.target.arch,
        str(len(group)),
        _short(total("waves")),
        f"{first.vgprs}+{first.agprs}" if first.agprs else str(first.vgprs),
        str(first.lds_bytes),
        f"{first.waves_per_simd:g}",
        _short(total("valu")),
        _short(total("matrix")),
        _short(total("lds")),
        _short(total("vmem_read", "vmem_write")),
        f"{100 * total('lds_conflicts') / cycles:.1f}" if cycles else "-",
        _short(total("lines_read", "lines_written")),
        _short(total("valu_flops", "matrix_flops")),
    )


def _short(x: float) -> str:
    """Four digits or fewer, with a unit of thousands."""
    units = ["", "k", "M", "G", "T", "P"]
    while x >= 10000 and len(units) > 1:
        x /= 1000
        units.pop(0)
    return f"{x:.0f}{units[0]}"
