"""One row a target: what the compiler must be told and what the dispatcher must know about a GPU architecture.

Sources of the figures: AMD's GPU hardware specification tables (LDS, register files), LLVM's AMDGPU usage guide (wave
sizes, register granules), vendor data sheets (peaks).
"""

from __future__ import annotations

import dataclasses
import re

#: CuPy appends -fcuda-flush-denormals-to-zero to every HIP compilation; only this undoes it (IEEE denormals are part of
#: our contract).
_IEEE_DENORMALS = ("-Xclang", "-fdenormal-fp-math-f32=ieee")


@dataclasses.dataclass(frozen=True)
class Arch:
    """A GPU architecture.

    Attributes:
        name: the target as compilers spell it, without feature suffixes ("gfx1201", "sm_90").
        family: architectures that share kernels and tables: rdna2, rdna3, rdna4, cdna1, cdna2, cdna3, cdna4, nvidia.
        wave: lanes in a wave (a warp on NVIDIA).
        lds_bytes: most LDS (shared memory) one block can have.
        vgprs: 32-bit vector registers of one SIMD, counted for one lane; what the waves of a SIMD share.
        max_vgprs: most registers a lane can have.
        options: compiler options beside -O3 and the C++ standard.
        async_copies: has cp.async (NVIDIA, from compute capability 8.0 on).
        peak_f32: TFLOP/s of FP32 FMAs for the card that `peak_card` names, or None.
    """

    name: str
    family: str
    wave: int
    lds_bytes: int
    vgprs: int
    max_vgprs: int
    options: tuple[str, ...] = ()
    peak_f32: float | None = None
    peak_card: str | None = None
    async_copies: bool = False

    @property
    def is_amd(self) -> bool:
        return self.family != "nvidia"

    @property
    def unaligned_vectors(self) -> bool:
        """Whether one instruction moves 16 bytes to and from any address in global memory."""
        return self.is_amd

    @property
    def simds(self) -> int:
        """SIMD units among which the waves of a block are spread: 4 in a CDNA CU and in an NVIDIA SM, 2 in an RDNA
        CU."""
        return 2 if self.family.startswith("rdna") else 4


def _rdna(name: str, family: str, vgprs: int, peak: float | None = None, card: str | None = None) -> Arch:
    # CU mode: a block keeps to one CU and its 64 KB of LDS, and barriers need no cache maintenance.
    options = (f"--offload-arch={name}", "-mcumode", *_IEEE_DENORMALS)
    return Arch(name, family, 32, 65536, vgprs, 256, options, peak, card)


def _cdna(name: str, family: str, lds: int, peak: float | None = None, card: str | None = None) -> Arch:
    return Arch(name, family, 64, lds, 512, 512, (f"--offload-arch={name}", *_IEEE_DENORMALS), peak, card)


_KNOWN = {
    arch.name: arch
    for arch in (
        _rdna("gfx1030", "rdna2", 1024),
        _rdna("gfx1100", "rdna3", 1536, 61.4, "Radeon RX 7900 XTX"),
        _rdna("gfx1101", "rdna3", 1536),
        _rdna("gfx1102", "rdna3", 1024),
        _rdna("gfx1103", "rdna3", 1024),
        _rdna("gfx1150", "rdna3", 1024),
        _rdna("gfx1151", "rdna3", 1536, 29.7, "Radeon 8060S"),
        _rdna("gfx1152", "rdna3", 1024),
        _rdna("gfx1153", "rdna3", 1024),
        _rdna("gfx1200", "rdna4", 1536),
        _rdna("gfx1201", "rdna4", 1536, 48.7, "Radeon RX 9070 XT"),
        _cdna("gfx908", "cdna1", 65536),
        _cdna("gfx90a", "cdna2", 65536),
        _cdna("gfx942", "cdna3", 65536, 163.4, "Instinct MI300X"),
        _cdna("gfx950", "cdna4", 163840, 157.3, "Instinct MI355X"),
        Arch("sm_90", "nvidia", 32, 232448, 512, 255, (), 67.0, "H200 SXM", async_copies=True),
    )
}


def amd_arch(gcn_arch_name: str) -> Arch:
    """The row of a `gcnArchName` such as "gfx942:sramecc+:xnack-". FP32 needs no row: an unlisted target gets one made
    from its generation.

    Raises:
        ValueError: the name is not that of an AMD GPU.
    """
    name = gcn_arch_name.split(":")[0]
    if name in _KNOWN and _KNOWN[name].is_amd:
        return _KNOWN[name]
    match = re.fullmatch(r"gfx(\d+)[0-9a-f][0-9a-f]", name)
    if match is None:
        raise ValueError(f"{gcn_arch_name!r} is not the name of an AMD GPU architecture (gfx1201, gfx942, ...)")
    if int(match[1]) < 10:
        return dataclasses.replace(_cdna(name, "gcn", 65536), vgprs=256, max_vgprs=256)
    return _rdna(name, "rdna" + match[1], 1024)


def nvidia_arch(compute_capability: str) -> Arch:
    """The row of a CUDA compute capability such as "90"."""
    name = f"sm_{compute_capability}"
    # 99 KB is what every device from 8.0 on can give one block.
    ampere = int(compute_capability) >= 80
    lds = 101376 if ampere else 49152
    return _KNOWN.get(name) or Arch(name, "nvidia", 32, lds, 512, 255, async_copies=ampere)


def known_archs() -> tuple[str, ...]:
    """Names of the architectures that have a row of their own."""
    return tuple(_KNOWN)
