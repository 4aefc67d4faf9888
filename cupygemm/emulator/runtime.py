"""Ties the stand-in libraries to Python: loads them, tells them the devices, and serves their two callbacks, hiprtc and
the loader."""

from __future__ import annotations

import ctypes
import dataclasses
import pathlib
import traceback

from . import compiler
from .executor import Executor
from .loader import INVALID_IMAGE, Loader, LoadError
from .targets import Target

_HIPRTC_ERROR_COMPILATION, _HIPRTC_ERROR_INTERNAL = 6, 11
# Loaded first, as the others need it; all of them before CuPy asks for them by soname.
_FIRST = "libamdhip64.so.7"


class _Device(ctypes.Structure):
    """emu_hip_device of native/hip/control.h."""

    _fields_ = [("name", ctypes.c_char * 128), ("arch", ctypes.c_char * 32), ("gcn_arch_name", ctypes.c_char * 64)]
    _fields_ += [
        (n, ctypes.c_int32)
        for n in (
            "major",
            "minor",
            "wave_size",
            "multiprocessors",
            "clock_khz",
            "memory_clock_khz",
            "memory_bus_bits",
            "integrated",
        )
    ]
    _fields_ += [(n, ctypes.c_uint64) for n in ("memory_bytes", "l2_bytes", "lds_bytes")]


class _Request(ctypes.Structure):
    """emu_hiprtc_request of native/hiprtc/hiprtc.h."""

    _fields_ = [("source", ctypes.c_char_p), ("name", ctypes.c_char_p)]
    _fields_ += [(n, ctypes.c_int) for n in ("header_count", "option_count", "expression_count")]
    _fields_ += [
        (n, ctypes.POINTER(ctypes.c_char_p)) for n in ("header_names", "header_texts", "options", "expressions")
    ]


_COMPILER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Request), ctypes.c_void_p)
_LOADER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_char),
    ctypes.c_size_t,
)


@dataclasses.dataclass(frozen=True)
class Options:
    """``check``: launches run under the checkers. ``defer``: work on streams waits until something waits for it;
    ``seed`` orders it."""

    check: bool = False
    defer: bool = False
    seed: int = 0

    @property
    def bits(self) -> int:
        return int(self.check) | int(self.defer) << 1


class Runtime:
    """The loaded libraries. They stay loaded, and this object alive, as long as the process: CuPy's modules are bound
    to them."""

    def __init__(self, folder: pathlib.Path, targets: tuple[Target, ...], options: Options) -> None:
        names = [_FIRST, *sorted(p.name for p in folder.iterdir() if p.name != _FIRST)]
        self.libraries = {name: ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL) for name in names}
        self.hip, self.hiprtc = self.libraries[_FIRST], self.libraries["libhiprtc.so.7"]
        self.targets = targets
        self.loader = Loader(Executor(str(folder / _FIRST)))
        devices = (_Device * len(targets))(*map(_device, targets))
        self.hip.emu_hip_configure(devices, len(targets), options.bits, options.seed)
        self._callbacks = (_COMPILER(self._compile), _LOADER(self._load))
        self.hiprtc.emu_hiprtc_set_compiler(self._callbacks[0])
        self.hip.emu_hip_set_loader(self._callbacks[1])

    def _compile(self, request: ctypes._Pointer[_Request], program: int) -> int:
        handle = ctypes.c_void_p(program)
        try:
            r = request.contents
            headers = dict(
                zip(_texts(r.header_names, r.header_count), _texts(r.header_texts, r.header_count), strict=True)
            )
            expressions = _texts(r.expressions, r.expression_count)
            arch = self.targets[self.hip.emu_hip_current_device()].arch
            result = compiler.compile_hip(
                r.source.decode(),
                arch,
                name=r.name.decode(),
                headers=headers,
                options=_texts(r.options, r.option_count),
                expressions=expressions,
            )
        except Exception:  # an exception cannot cross into C: the log carries it
            self.hiprtc.emu_hiprtc_set_log(handle, traceback.format_exc().encode())
            return _HIPRTC_ERROR_INTERNAL
        self.hiprtc.emu_hiprtc_set_log(handle, result.log.encode())
        if not result.ok:
            return _HIPRTC_ERROR_COMPILATION
        self.hiprtc.emu_hiprtc_set_code(handle, result.code, ctypes.c_size_t(len(result.code)))
        for i, expression in enumerate(expressions):
            self.hiprtc.emu_hiprtc_set_lowered_name(handle, i, result.lowered.get(expression, "").encode())
        return 0

    def _load(
        self, image: int, size: int, device: int, module: int, error: ctypes._Pointer[ctypes.c_char], error_size: int
    ) -> int:
        try:
            self.loader.load(ctypes.string_at(image, size), self.targets[device], ctypes.c_void_p(module))
            return 0
        except LoadError as failure:
            status, text = failure.status, str(failure)
        except Exception:  # as above
            status, text = INVALID_IMAGE, traceback.format_exc()
        message = text.encode()[: error_size - 1] + b"\0"
        ctypes.memmove(error, message, len(message))
        return status


def _device(target: Target) -> _Device:
    major, minor = target.compute_capability
    return _Device(
        name=target.card.encode(),
        arch=target.arch.encode(),
        gcn_arch_name=target.gcn_arch_name.encode(),
        major=major,
        minor=minor,
        wave_size=target.wave_size,
        multiprocessors=target.multiprocessors,
        clock_khz=target.clock_khz,
        memory_clock_khz=target.memory_clock_khz,
        memory_bus_bits=target.memory_bus_bits,
        integrated=target.integrated,
        memory_bytes=target.memory_bytes,
        l2_bytes=target.l2_bytes,
        lds_bytes=target.lds_bytes,
    )


def _texts(array: ctypes._Pointer[ctypes.c_char_p], count: int) -> list[str]:
    return [(array[i] or b"").decode() for i in range(count)]
