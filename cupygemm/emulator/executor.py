"""The native executor's C interface (native/exec/api.h) for Python: opcode table, memory map, kernels and launches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_C = ctypes


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row of the opcode table. ``signature`` is explained in native/exec/ops.hpp."""

    number: int
    name: str
    signature: str
    flags: int


class KernelDesc(_C.Structure):
    """emu_kernel_desc."""

    _fields_ = (
        ("name", _C.c_char_p),
        ("target", _C.c_char_p),
        ("insns", _C.c_void_p),
        ("insn_count", _C.c_uint32),
        ("arch", _C.c_uint32),
        ("wave_size", _C.c_uint32),
        ("enable", _C.c_uint32),
        ("user_sgprs", _C.c_uint32),
        ("kernarg_preload_offset", _C.c_uint32),
        ("kernarg_preload_count", _C.c_uint32),
        ("workitem_id_dims", _C.c_uint32),
        ("vgprs", _C.c_uint32),
        ("agprs", _C.c_uint32),
        ("sgprs", _C.c_uint32),
        ("static_lds", _C.c_uint32),
        ("private_bytes", _C.c_uint32),
        ("kernarg_bytes", _C.c_uint32),
        ("float_mode", _C.c_uint32),
        ("dx10_clamp", _C.c_uint32),
        ("ieee", _C.c_uint32),
        ("fp16_ovfl", _C.c_uint32),
        ("entry", _C.c_uint32),
        ("code_base", _C.c_uint64),
        ("lines", _C.POINTER(_C.c_char_p)),
        ("line_count", _C.c_uint32),
    )


class LaunchDesc(_C.Structure):
    """emu_launch_desc."""

    _fields_ = (
        ("grid", _C.c_uint32 * 3),
        ("block", _C.c_uint32 * 3),
        ("dynamic_lds", _C.c_uint32),
        ("kernargs", _C.c_char_p),
        ("kernarg_bytes", _C.c_size_t),
        ("device", _C.c_int),
        ("threads", _C.c_uint32),
        ("flags", _C.c_uint32),
        ("budget", _C.c_uint64),
        ("counters", _C.c_void_p),
    )


class Counters(_C.Structure):
    """emu_counters."""

    _fields_ = tuple(
        (name, _C.c_uint64)
        for name in (
            *("waves", "valu", "vopd", "matrix", "salu", "branch", "smem", "lds", "vmem_read", "vmem_write", "barrier"),
            *("lds_cycles", "lds_conflicts", "bytes_read", "bytes_written", "lines_read", "lines_written"),
            *("valu_flops", "matrix_flops", "matrix_iops"),
        )
    )


CHECK = 1  #: LaunchDesc.flags: run the checkers


class ExecutorError(RuntimeError):
    """A kernel could not be created or a launch was stopped; the message is the executor's report."""


class Executor:
    """The loaded library. One instance a process is enough; it has no state of its own."""

    def __init__(self, path: str) -> None:
        lib = _C.CDLL(path)
        lib.emu_op_name.restype = lib.emu_op_signature.restype = lib.emu_last_report.restype = _C.c_char_p
        lib.emu_op_count.restype = lib.emu_op_flags.restype = lib.emu_insn_size.restype = _C.c_uint32
        lib.emu_kernel_create.restype = _C.c_void_p
        lib.emu_kernel_create.argtypes = [_C.POINTER(KernelDesc)]
        lib.emu_kernel_destroy.argtypes = [_C.c_void_p]
        lib.emu_launch.argtypes = [_C.c_void_p, _C.POINTER(LaunchDesc)]
        lib.emu_memory_add.argtypes = [_C.c_uint64, _C.c_uint64, _C.c_int]
        lib.emu_memory_remove.argtypes = [_C.c_uint64]
        self.lib = lib

    @cached_property
    def opcodes(self) -> tuple[Opcode, ...]:
        lib = self.lib
        return tuple(
            Opcode(n, lib.emu_op_name(n).decode(), lib.emu_op_signature(n).decode(), lib.emu_op_flags(n))
            for n in range(lib.emu_op_count())
        )

    def last_report(self) -> str:
        return self.lib.emu_last_report().decode(errors="replace")

    def create_kernel(self, desc: KernelDesc) -> int:
        """Handle of a kernel; ``desc`` and what it points to may go afterwards. Raises ExecutorError."""
        handle = self.lib.emu_kernel_create(_C.byref(desc))
        if not handle:
            raise ExecutorError(self.last_report())
        return int(handle)

    def destroy_kernel(self, handle: int) -> None:
        self.lib.emu_kernel_destroy(handle)

    def add_memory(self, address: int, size: int, device: int = -1) -> None:
        """Makes ``size`` bytes visible to launches. Raises ValueError if they overlap a known range."""
        if self.lib.emu_memory_add(address, size, device):
            raise ValueError(f"{size} bytes at {address:#x} are empty or overlap known memory")

    def remove_memory(self, address: int) -> None:
        if self.lib.emu_memory_remove(address):
            raise ValueError(f"no memory known at {address:#x}")

    def launch(
        self,
        kernel: int,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: bytes,
        *,
        dynamic_lds: int = 0,
        device: int = -1,
        threads: int = 0,
        check: bool = False,
        budget: int = 0,
        counters: Counters | None = None,
    ) -> None:
        """Runs ``grid`` workgroups of ``block`` work-items to their end, and fills in ``counters``. Raises
        ExecutorError with the report."""
        desc = LaunchDesc(
            grid=tuple(grid),
            block=tuple(block),
            dynamic_lds=dynamic_lds,
            kernargs=arguments,
            kernarg_bytes=len(arguments),
            device=device,
            threads=threads,
            flags=CHECK if check else 0,
            budget=budget,
            counters=_C.addressof(counters) if counters is not None else None,
        )
        if self.lib.emu_launch(kernel, _C.byref(desc)):
            raise ExecutorError(self.last_report())
