"""A kernel's listing, edited or not, run on the native executor without CuPy.

Each array lies in memory of its own with nothing known beside it: one byte past its end is out of bounds.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping

import numpy as np

from cupygemm import launch
from cupygemm.arch import Arch
from cupygemm.emulator.executor import ExecutorError
from cupygemm.emulator.listing import Listing, parse_listing
from cupygemm.emulator.program import INSN_BYTES, Program, assemble, create_kernel, kernel_facts
from cupygemm.gemv_tile import GemvTile
from cupygemm.kernel_config import KernelConfig, SumConfig
from tests.static import listing
from tools.mutate import Mutant

from .harness import executor, opcode_index

_GUARD = 4096
#: Backward branches of a wave: far more than any product here takes, few enough to end an endless loop at once.
_BUDGET = 20000


def untouched(dtype: np.dtype) -> float:
    """What C holds beforehand. Not NaN, which is what a product of too many columns would put there."""
    return 85 if dtype.itemsize == 1 else 57344


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """One launch: the kernel's inputs and what it must write.

    Attributes:
        grid: workgroups.
        args: the argument block but for the addresses.
        inputs: what is read, as it lies in memory, by the name of the argument that has its address.
        want: what C must hold; `untouched` where nothing may be written.
        unaligned: every array begins one element past an aligned address.
        more: what arrays beside C must hold, by the name of the argument that has their address.
    """

    grid: tuple[int, int, int]
    args: np.ndarray
    inputs: Mapping[str, np.ndarray]
    want: np.ndarray
    unaligned: bool = False
    more: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A shipped kernel and the launches that try it.

    Attributes:
        make_more: makes `more`.
    """

    arch: Arch
    config: KernelConfig | SumConfig
    threads: int
    runs: tuple[Run, ...]
    make_more: Callable[[], tuple[Run, ...]] = tuple

    @functools.cached_property
    def more(self) -> tuple[Run, ...]:
        """Launches for what `runs` do not tell from the kernel."""
        return self.make_more()

    @property
    def listing(self) -> str:
        return listing(self.config, self.arch)

    @functools.cached_property
    def decoded(self) -> tuple[Listing, Program]:
        parsed = parse_listing(self.listing)
        return parsed, assemble(parsed, opcode_index(), target=self.arch.name)

    def verdict(self, mutant: Mutant | None = None) -> str:
        """ "" if every launch gives the right numbers without a report, else the report, or "wrong result"."""
        return self._verdict(self.runs, self._program(mutant))

    def verdict_of_more(self, mutant: Mutant | None = None) -> str:
        """`verdict` of the launches in `more`."""
        return self._verdict(self.more, self._program(mutant))

    def trap(self, text: str, more: bool = True) -> int | None:
        """Line, counted from 0, of the s_trap of the listing `text` that a launch gets to first, or None. `text` is
        this kernel's listing with instructions added, which may use registers that the kernel does not have."""
        program = assemble(parse_listing(text), opcode_index(), target=self.arch.name)
        if program.unknown:
            raise ValueError(f"{self.arch.name} does not know {', '.join(program.unknown)}")
        report = self._verdict(self.runs, program, check=False)
        if not report and more:
            report = self._verdict(self.more, program, check=False)
        if not report:
            return None
        found = re.search(r"assembly line (\d+): s_trap", report)
        if found is None:
            raise ValueError(f"the probe changes the kernel: {report}")
        return int(found[1]) - 1

    @property
    def argument_words(self) -> dict[int, tuple[str, int, int]]:
        """By byte offset in the argument block, of each 32-bit word: its name, and its bounds as a signed number."""
        found: dict[int, tuple[str, int, int]] = {}
        block = launch.STREAM_ARGS if self.config.stream_k else launch.SCALED_ARGS
        for name, (dtype, offset, *_) in (block.fields or {}).items():
            for at in range(offset, offset + dtype.itemsize, 4):
                least = 1 if dtype == np.int32 else -(2**31)
                found[at] = name, 0 if name in ("batch_size", "longer") else least, 2**31 - 1
        return found | self._stride_words() if isinstance(self.config, KernelConfig) else found

    def _stride_words(self) -> dict[int, tuple[str, int, int]]:
        """Of strides along which a tile reaches less than 2**31 bytes (access.operand_access)."""
        found: dict[int, tuple[str, int, int]] = {}
        config, tile = self.config, self.config.tile
        if isinstance(tile, GemvTile):
            return found
        for name, access, extent in (
            ("a_m", config.a, tile.block_m),
            ("a_k", config.a, tile.block_k),
            ("b_n", config.b, tile.block_n),
            ("b_k", config.b, tile.block_k),
        ):
            offset = launch.SCALED_ARGS.fields[name][1]
            if not access.wide and not access.packed:
                found |= {offset: (name, 0, 2**31 // (extent * config.types.itemsize)), offset + 4: (name, 0, 0)}
        return found

    def _verdict(self, runs: tuple[Run, ...], program: Program, check: bool = True) -> str:
        facts = kernel_facts(self.decoded[0], self.config.name, self.arch.name)
        if not check:
            facts = dataclasses.replace(facts, vgprs=256, agprs=256, sgprs=104)
        handle = create_kernel(executor(), program, facts)
        try:
            for run in runs:
                got = _launch(handle, run, self.threads, check)
                if isinstance(got, str):
                    return got
                wanted = {"c": run.want, **run.more}
                if not all(np.array_equal(got[name], want, equal_nan=True) for name, want in wanted.items()):
                    return "wrong result"
            return ""
        finally:
            executor().destroy_kernel(handle)

    def _program(self, mutant: Mutant | None) -> Program:
        parsed, program = self.decoded
        if mutant is None:
            return program
        edited = Listing(**{f.name: getattr(parsed, f.name) for f in dataclasses.fields(Listing)})
        edited.lines = list(parsed.lines)
        insns = bytearray(program.insns)
        for line, text in mutant.edits:
            edited.lines[line] = text
            self._patch(insns, line, text)
        return dataclasses.replace(program, listing=edited, insns=bytes(insns))

    def _patch(self, insns: bytearray, line: int, text: str) -> None:
        """Decodes one line anew: a mutant has as many instructions as the kernel."""
        parsed, program = self.decoded
        at = next(n for n, s in enumerate(parsed.statements) if s.line == line)
        statements = [dataclasses.replace(s, line=line) for s in parse_listing(text).statements]
        alone = Listing(lines=[*[""] * line, text], statements=statements)
        new = assemble(alone, opcode_index(), target=self.arch.name)
        start, end = program.starts[at], program.starts[at + 1]
        nothing = assemble(parse_listing("\ts_nop 0"), opcode_index(), target=self.arch.name).insns
        if new.unknown or new.insn_count > end - start:
            raise ValueError(f"line {line + 1}: {text.strip()} does not take the place of {parsed.lines[line].strip()}")
        insns[start * INSN_BYTES : end * INSN_BYTES] = new.insns + nothing * (end - start - new.insn_count)


def _launch(handle: int, run: Run, threads: int, check: bool) -> Mapping[str, np.ndarray] | str:
    """What the arrays hold afterwards, or the report."""
    blank = {name: np.full_like(x, untouched(x.dtype)) for name, x in (("c", run.want), *run.more.items())}
    arrays = {name: _guarded(x, run.unaligned) for name, x in (*run.inputs.items(), *blank.items())}
    args = run.args.copy()
    known = []
    try:
        for name, array in arrays.items():
            args[name] = array.ctypes.data
            if array.nbytes:
                executor().add_memory(array.ctypes.data, array.nbytes)
                known.append(array.ctypes.data)
        executor().launch(handle, run.grid, (threads, 1, 1), args.tobytes(), threads=1, check=check, budget=_BUDGET)
    except ExecutorError as error:
        return str(error)
    finally:
        for address in known:
            executor().remove_memory(address)
    return arrays


def _guarded(values: np.ndarray, unaligned: bool) -> np.ndarray:
    """A copy whose neighbourhood belongs to no other array; aligned to 256 bytes, or one element past that."""
    room = np.empty(values.nbytes + 2 * _GUARD + 256, np.uint8)
    start = _GUARD + -(room.ctypes.data + _GUARD) % 256 + values.itemsize * unaligned
    inside = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    inside[...] = values
    return inside
