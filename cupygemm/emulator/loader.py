"""Code object -> kernels that the executor can run: what hipModuleLoadData asks of Python."""

from __future__ import annotations

import ctypes

from . import codeobject
from .executor import Executor, ExecutorError
from .listing import parse_listing
from .program import OpcodeIndex, Program, assemble, create_kernel, kernel_facts
from .targets import Target

INVALID_IMAGE, NO_BINARY_FOR_GPU, OUT_OF_MEMORY = 200, 209, 2  # hipError_t

# Value kinds of the metadata, in the order of emu_hip_argument_kind (native/hip/control.h).
_HIDDEN = {
    kind: i + 1
    for i, kind in enumerate(
        [f"hidden_{what}_{axis}" for what in ("block_count", "group_size", "remainder") for axis in "xyz"]
        + ["hidden_grid_dims", "hidden_dynamic_lds_size"]
    )
}
# Hidden arguments that are 0 where there is no printf, hostcall, heap or queue: their use shows as an access to address
# 0.
_ZERO = 12


class LoadError(Exception):
    """``status`` is the hipError_t that the load returns; the message is its text."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Argument(ctypes.Structure):
    """emu_hip_argument."""

    _fields_ = [("kind", ctypes.c_uint32), ("offset", ctypes.c_uint32), ("size", ctypes.c_uint32)]


class Descriptor(ctypes.Structure):
    """emu_hip_descriptor."""

    _fields_ = [(n, ctypes.c_uint32) for n in ("vgprs", "agprs", "sgprs", "workgroup_processor_mode")]


class _KernelInfo(ctypes.Structure):
    """emu_hip_kernel_info."""

    _fields_ = [("name", ctypes.c_char_p), ("kernel", ctypes.c_void_p), ("arguments", ctypes.POINTER(_Argument))]
    _fields_ += [
        (n, ctypes.c_uint32)
        for n in (
            "argument_count",
            "kernarg_bytes",
            "static_lds",
            "private_bytes",
            "vgprs",
            "agprs",
            "sgprs",
            "max_block",
        )
    ]
    _fields_ += [("descriptor", Descriptor)]


class Loader:
    """Loads code objects with one executor."""

    def __init__(self, executor: Executor) -> None:
        self.executor, self.hip = executor, executor.lib
        self.index = OpcodeIndex(executor.opcodes)
        self.hip.emu_hip_module_reserve.restype = ctypes.c_void_p

    def load(self, image: bytes, target: Target, module: ctypes.c_void_p) -> None:
        """Adds the code object's kernels and variables to ``module``, a Module of native/hip/module.cpp. Raises
        LoadError."""
        code = _parse(image, target)
        base = self._place(code, module)
        for name in code.variables:
            address, size = code.symbols[name]
            self.hip.emu_hip_module_add_symbol(
                module, name.encode(), ctypes.c_void_p(base + address), ctypes.c_size_t(size)
            )
        try:
            symbols = {name: base + address for name, (address, _) in code.symbols.items()}
            got = {name: base + address for name, address in code.got.items()}
            program = assemble(parse_listing(code.listing), self.index, symbols=symbols, got=got)
            for kernel in code.kernels:
                self._add(module, kernel, program)
        except (ValueError, ExecutorError) as error:
            raise LoadError(
                INVALID_IMAGE, f"the emulator cannot decode the code object for {target.arch}: {error}"
            ) from error

    def _place(self, code: codeobject.CodeObject, module: ctypes.c_void_p) -> int:
        """Copies the image into device memory; returns where."""
        base = self.hip.emu_hip_module_reserve(module, ctypes.c_size_t(len(code.image)))
        if not base:
            raise LoadError(OUT_OF_MEMORY, f"no device memory left for the {len(code.image)} bytes of a code object")
        ctypes.memmove(base, codeobject.relocate(code, base), len(code.image))
        return int(base)

    def _add(self, module: ctypes.c_void_p, kernel: codeobject.KernelMetadata, program: Program) -> None:
        facts = kernel_facts(program.listing, kernel.name)
        executable = create_kernel(self.executor, program, facts)
        arguments = (_Argument * len(kernel.arguments))(*map(_argument, kernel.arguments))
        info = _KernelInfo(
            kernel.name.encode(),
            executable,
            arguments,
            len(arguments),
            kernel.kernarg_bytes,
            kernel.lds_bytes,
            kernel.private_bytes,
            kernel.vgprs,
            kernel.agprs,
            kernel.sgprs,
            kernel.max_block,
            Descriptor(facts.vgprs, facts.agprs, facts.sgprs, facts.workgroup_processor_mode),
        )
        self.hip.emu_hip_module_add_kernel(module, ctypes.byref(info))


def _parse(image: bytes, target: Target) -> codeobject.CodeObject:
    try:
        code = codeobject.parse(image)
    except ValueError as error:
        raise LoadError(INVALID_IMAGE, f"cannot load the code object: {error}") from error
    if code.arch != target.arch:
        raise LoadError(
            NO_BINARY_FOR_GPU, f"the code object is for {code.arch}, the current device is an emulated {target.arch}"
        )
    if not code.listing:
        raise LoadError(
            INVALID_IMAGE,
            "the code object has no assembly listing: an emulated GPU runs only what is compiled at run time "
            "under it, not prebuilt code objects",
        )
    return code


def _argument(argument: codeobject.Argument) -> _Argument:
    kind = _HIDDEN.get(argument.kind, _ZERO) if argument.kind.startswith("hidden_") else 0
    return _Argument(kind, argument.offset, argument.size)
