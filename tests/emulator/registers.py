"""Runs instructions on chosen register contents and returns registers: how most opcode tests look at an opcode.

An operand is an image of registers, uint32[..., registers, lanes]; a leading axis runs over workgroups.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from .harness import Kernel


def wave_size(arch: str) -> int:
    return 64 if arch.startswith("gfx9") else 32


def wait_all(arch: str) -> str:
    if arch.startswith("gfx12"):
        return "s_wait_loadcnt 0x0\ns_wait_dscnt 0x0\ns_wait_kmcnt 0x0\ns_wait_storecnt 0x0\n"
    return "s_waitcnt vmcnt(0) lgkmcnt(0)\n" + ("" if arch.startswith("gfx9") else "s_waitcnt_vscnt null, 0x0\n")


def load_arguments(arch: str, count: int, first: int = 16, offset: int = 0) -> str:
    """``count`` pointers or 64-bit arguments into s[first], s[first + 2], ...; v1 = 4 * lane; s12 = workgroup id x."""
    load = "s_load_dwordx2" if arch.startswith("gfx9") else "s_load_b64"
    lines = [f"{load} s[{first + 2 * n}:{first + 2 * n + 1}], s[0:1], {offset + 8 * n:#x}" for n in range(count)]
    lines.append("s_mov_b32 s12, ttmp9" if arch.startswith("gfx12") else "s_mov_b32 s12, s2")
    lines.append("v_lshlrev_b32_e32 v1, 2, v0")
    return "\n".join(lines) + "\n" + wait_all(arch)


def _step(pointer: int, amount: str) -> str:
    return f"s_add_u32 s{pointer}, s{pointer}, {amount}\ns_addc_u32 s{pointer + 1}, s{pointer + 1}, 0\n"


def _move(arch: str, opcode: str, file: str, first: int, count: int, pointer: int) -> str:
    """One dword a lane, ``count`` consecutive registers; ``pointer`` advances by one register's lanes each."""
    name = {"load": "global_load_dword", "store": "global_store_dword"}[opcode]
    if not arch.startswith("gfx9"):
        name = name.replace("dword", "b32")
    text = ""
    for n in range(count):
        register = f"{file}{first + n}"
        text += (
            f"{name} {register}, v1, s[{pointer}:{pointer + 1}]\n"
            if opcode == "load"
            else (f"{name} v1, {register}, s[{pointer}:{pointer + 1}]\n")
        )
        text += _step(pointer, str(4 * wave_size(arch)))
    return text


BUFFER0 = 40  #: s[40:41], s[42:43], ... hold the addresses of run_registers' buffers


@functools.lru_cache(maxsize=512)
def _kernel(
    arch: str, head: str, body: str, places: tuple[tuple[str, int, int], ...], out: tuple[str, int, int], buffers: int
) -> Kernel:
    text = head + load_arguments(arch, len(places) + 1) + load_arguments(arch, buffers, BUFFER0, 8 * (len(places) + 1))
    for n, (file, first, count) in enumerate([*places, out]):
        pointer = 16 + 2 * n
        text += f"s_mul_i32 s13, s12, {4 * wave_size(arch) * count}\n" + _step(pointer, "s13")
        if n < len(places):
            text += _move(arch, "load", file, first, count, pointer)
    text += wait_all(arch) + body + "\n" + wait_all(arch)
    text += _move(arch, "store", *out, 16 + 2 * len(places)) + "s_endpgm\n"
    return Kernel.from_assembly(text, arch)


def run_registers(
    arch: str,
    body: str,
    inputs: list[tuple[str, np.ndarray]],
    out: tuple[str, int],
    *,
    buffers: Sequence[np.ndarray] = (),
    lds: int = 0,
    private: int = 0,
    **launch,
) -> np.ndarray:
    """Loads each image at its register (``"v16"``, ``"a0"``), executes ``body``, returns ``out`` (register, count).

    The addresses of ``buffers`` are in s[40:41], s[42:43] and so on. ``lds``, ``private``: bytes.
    """
    lanes = wave_size(arch)
    arrays = [np.ascontiguousarray(x, np.uint32).reshape(-1, x.shape[-2], lanes) for _, x in inputs]
    groups = max((len(a) for a in arrays), default=1)
    arrays = [np.ascontiguousarray(np.broadcast_to(a, (groups, *a.shape[1:]))) for a in arrays]
    places = tuple((name[0], int(name[1:]), a.shape[1]) for (name, _), a in zip(inputs, arrays, strict=True))
    head = _private_segment(arch, private) if private else ""
    kernel = _kernel(arch, head, body, places, (out[0][0], int(out[0][1:]), out[1]), len(buffers))
    result = np.full((groups, out[1], lanes), 0xDEADBEEF, np.uint32)
    kernel.launch(groups, launch.pop("block", lanes), *arrays, result, *buffers, dynamic_lds=lds, **launch)
    return result


def _private_segment(arch: str, size: int) -> str:
    """Directives of a kernel with ``size`` bytes of private memory a work-item."""
    buffer = arch == "gfx90a"
    return "\n".join(
        [
            ".amdhsa_kernel kernel",
            f".amdhsa_private_segment_fixed_size {size}",
            f".amdhsa_user_sgpr_private_segment_buffer {int(buffer)}",
            ".amdhsa_user_sgpr_kernarg_segment_ptr 1",
            ".amdhsa_system_sgpr_workgroup_id_x 1",
            ".amdhsa_enable_private_segment 1",
            ".amdhsa_next_free_vgpr 512" if arch.startswith("gfx9") else ".amdhsa_next_free_vgpr 256",
            ".amdhsa_accum_offset 256" if arch.startswith("gfx9") else "",
            ".end_amdhsa_kernel",
            "kernel:",
            "",
        ]
    )
