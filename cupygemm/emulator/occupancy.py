"""How many waves a SIMD can hold: registers, LDS and barriers against what a kernel allocates.

Pools and granules: LLVM's AMDGPU back end (AMDGPUBaseInfo), whose "; Occupancy:" comment the tests compare with.
"""

from __future__ import annotations

from .targets import Target

_SIMDS = 4  # of a compute unit on CDNA, of a workgroup processor on RDNA
#: RDNA targets whose SIMDs have 1536 registers a lane instead of 1024.
_LARGE_REGISTER_FILES = ("gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201")
_EXTRA_SGPRS = 6  # VCC, FLAT_SCRATCH, XNACK_MASK


def round_up(x: int, granule: int) -> int:
    """The next multiple of ``granule``."""
    return -(-x // granule) * granule


def allocated_vgprs(target: Target, vgprs: int, agprs: int) -> int:
    """Vector registers a lane that a wave takes from its SIMD's pool, accumulation registers included."""
    if target.wave_size == 64:
        return max(8, round_up(round_up(vgprs, 4) + agprs, 8))
    granule = 24 if target.arch in _LARGE_REGISTER_FILES else 16
    return max(granule, round_up(vgprs, granule))


def allocated_sgprs(target: Target, sgprs: int) -> int:
    """Scalar registers a wave; RDNA gives all waves the same."""
    return round_up(sgprs + _EXTRA_SGPRS, 16) if target.wave_size == 64 else 128


def waves_by_registers(target: Target, vgprs: int, agprs: int, sgprs: int) -> int:
    """Waves a SIMD that the register files have room for."""
    taken = allocated_vgprs(target, vgprs, agprs)
    if target.wave_size == 64:
        by_sgprs = 800 // allocated_sgprs(target, sgprs)
        return min(8, by_sgprs, 512 // taken)
    return min(16, (1536 if target.arch in _LARGE_REGISTER_FILES else 1024) // taken)


def waves_per_simd(
    target: Target, *, vgprs: int, agprs: int, sgprs: int, lds_bytes: int, work_items: int, both_units: bool
) -> float:
    """Waves a SIMD while whole workgroups of ``work_items``, as many as fit, are resident.

    ``vgprs`` and ``agprs`` count registers a lane, ``lds_bytes`` a workgroup's LDS. ``both_units``: RDNA's mode in
    which a workgroup may use both compute units of its workgroup processor, and their LDS together. 0 if not even one
    workgroup fits.
    """
    cdna = target.wave_size == 64
    simds = _SIMDS if cdna or both_units else _SIMDS // 2
    lds = target.lds_bytes * (2 if both_units and not cdna else 1)
    waves = -(-work_items // target.wave_size)
    groups = waves_by_registers(target, vgprs, agprs, sgprs) * simds // waves
    if waves > 1:
        groups = min(groups, 32 if both_units and not cdna else 16)  # barriers
    if lds_bytes:
        groups = min(groups, lds // round_up(lds_bytes, 1280 if target.arch == "gfx950" else 512))
    return groups * waves / simds
