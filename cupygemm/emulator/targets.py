"""The GPUs that can be emulated: one row each, with what HIP reports of a typical card.

Figures: AMD's data sheets and ROCm's table of GPU specifications; sizes in bytes, clocks in kHz. They describe the card
to programs that ask (device properties, memory limits); no emulated run time follows from them.
"""

from __future__ import annotations

import dataclasses

GIB = 1 << 30
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Target:
    """One emulated device.

    ``multiprocessors`` is HIP's count: compute units on CDNA, workgroup processors (pairs of compute units) on RDNA.
    ``features`` are the target-ID suffixes that HIP appends to the arch name. ``lds_bytes`` is the limit for one
    workgroup.
    """

    arch: str
    card: str
    wave_size: int
    multiprocessors: int
    clock_khz: int
    memory_bytes: int
    memory_clock_khz: int
    memory_bus_bits: int
    l2_bytes: int
    lds_bytes: int = 64 * 1024
    features: str = ""
    integrated: bool = False

    @property
    def gcn_arch_name(self) -> str:
        return self.arch + self.features

    @property
    def compute_capability(self) -> tuple[int, int]:
        """(major, minor) as HIP reports it: gfx1201 is (12, 0), gfx942 is (9, 4)."""
        digits = self.arch.removeprefix("gfx")
        return int(digits[:-2]), int(digits[-2], 16)


def _cdna(arch: str, card: str, cus: int, ghz: float, gib: int, memory_ghz: float, lds_kib: int, l2_mib: int) -> Target:
    bus = 4096 if arch == "gfx90a" else 8192
    return Target(
        arch,
        card,
        64,
        cus,
        int(ghz * 1e6),
        gib * GIB,
        int(memory_ghz * 1e6),
        bus,
        l2_mib * MIB,
        lds_kib * 1024,
        ":sramecc+:xnack-",
    )


def _rdna(
    arch: str,
    card: str,
    cus: int,
    ghz: float,
    gib: int,
    memory_ghz: float,
    bus: int,
    l2_mib: int,
    *,
    integrated: bool = False,
) -> Target:
    return Target(
        arch,
        card,
        32,
        cus // 2,
        int(ghz * 1e6),
        gib * GIB,
        int(memory_ghz * 1e6),
        bus,
        l2_mib * MIB,
        integrated=integrated,
    )


TARGETS: dict[str, Target] = {
    target.arch: target
    for target in (
        _cdna("gfx90a", "AMD Instinct MI250X", 110, 1.7, 64, 1.6, 64, 8),
        _cdna("gfx942", "AMD Instinct MI300X", 304, 2.1, 192, 1.3, 64, 4),
        _cdna("gfx950", "AMD Instinct MI355X", 256, 2.4, 288, 2.0, 160, 4),
        _rdna("gfx1100", "AMD Radeon RX 7900 XTX", 96, 2.5, 24, 1.249, 384, 6),
        _rdna("gfx1101", "AMD Radeon RX 7800 XT", 60, 2.43, 16, 1.218, 256, 4),
        _rdna("gfx1102", "AMD Radeon RX 7600", 32, 2.655, 8, 1.124, 128, 2),
        _rdna("gfx1103", "AMD Radeon 780M", 12, 2.7, 16, 2.8, 128, 2, integrated=True),
        _rdna("gfx1150", "AMD Radeon 890M", 16, 2.9, 16, 2.8, 128, 2, integrated=True),
        _rdna("gfx1151", "AMD Radeon 8060S", 40, 2.9, 64, 4.0, 256, 2, integrated=True),
        _rdna("gfx1152", "AMD Radeon 860M", 8, 3.0, 16, 2.8, 128, 1, integrated=True),
        _rdna("gfx1153", "AMD Radeon 840M", 4, 2.9, 16, 2.8, 128, 1, integrated=True),
        _rdna("gfx1200", "AMD Radeon RX 9060 XT", 32, 3.13, 16, 1.258, 128, 4),
        _rdna("gfx1201", "AMD Radeon RX 9070 XT", 64, 2.97, 16, 1.258, 256, 8),
    )
}


def target(arch: str) -> Target:
    """The row of ``arch``; raises ValueError for an arch that cannot be emulated."""
    if arch not in TARGETS:
        raise ValueError(f"cannot emulate {arch!r}; known targets: {', '.join(TARGETS)}")
    return TARGETS[arch]
