"""Global, flat, scratch, buffer and scalar memory instructions on every arch that has them, against bytes in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cupygemm.emulator.executor import ExecutorError

from .harness import ARCHS, Kernel
from .registers import BUFFER0, run_registers, wait_all, wave_size

PATTERN = 0xA5B6C7D8  #: what a destination holds before the load
#: gfx9's name, the name from gfx11 on, bytes, how a register is filled
LOADS = [
    ("ubyte", "u8", 1, "zero"),
    ("sbyte", "i8", 1, "sign"),
    ("ushort", "u16", 2, "zero"),
    ("sshort", "i16", 2, "sign"),
    ("dword", "b32", 4, "zero"),
    ("dwordx2", "b64", 8, "zero"),
    ("dwordx3", "b96", 12, "zero"),
    ("dwordx4", "b128", 16, "zero"),
    ("ubyte_d16", "d16_u8", 1, "low zero"),
    ("ubyte_d16_hi", "d16_hi_u8", 1, "high zero"),
    ("sbyte_d16", "d16_i8", 1, "low sign"),
    ("sbyte_d16_hi", "d16_hi_i8", 1, "high sign"),
    ("short_d16", "d16_b16", 2, "low zero"),
    ("short_d16_hi", "d16_hi_b16", 2, "high zero"),
]
#: the same for stores; the last field: data from the high half
STORES = [
    ("byte", "b8", 1, False),
    ("short", "b16", 2, False),
    ("dword", "b32", 4, False),
    ("dwordx2", "b64", 8, False),
    ("dwordx3", "b96", 12, False),
    ("dwordx4", "b128", 16, False),
    ("byte_d16_hi", "d16_hi_b8", 1, True),
    ("short_d16_hi", "d16_hi_b16", 2, True),
]


def span(first: int, count: int, file: str = "v") -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def dwords(size: int) -> int:
    return (size + 3) // 4


def loaded(memory: np.ndarray, at: np.ndarray, size: int, fill: str) -> np.ndarray:
    """Registers [dwords, lanes] after loads of ``size`` bytes at byte offsets ``at``."""
    raw = np.stack([memory[at + n] for n in range(size)]).astype(np.uint32)
    raw = np.concatenate([raw, np.zeros((-size % 4, len(at)), np.uint32)]).reshape(-1, 4, len(at))
    words = (raw << np.array([0, 8, 16, 24], np.uint32)[None, :, None]).sum(axis=1, dtype=np.uint32)
    if size < 4:
        if "sign" in fill:
            words = (words << np.uint32(32 - 8 * size)).view(np.int32) >> np.int32(32 - 8 * size)
            words = words.view(np.uint32)
        if "low" in fill:
            words = words & 0xFFFF | np.uint32(PATTERN & 0xFFFF0000)
        if "high" in fill:
            words = words << np.uint32(16) | np.uint32(PATTERN & 0xFFFF)
    return words


def stored(memory: np.ndarray, at: np.ndarray, size: int, data: np.ndarray, high: bool) -> np.ndarray:
    """``memory`` after stores of the lowest ``size`` bytes of data[dwords, lanes]."""
    out = memory.copy()
    for lane, offset in enumerate(at):
        value = b"".join(int(w >> (16 if high else 0)).to_bytes(4, "little") for w in data[:, lane])
        out[offset : offset + size] = np.frombuffer(value[:size], np.uint8)
    return out


def name(arch: str, space: str, direction: str, old: str, new: str) -> str:
    return f"{space}_{direction}_{old if arch.startswith('gfx9') else new}"


def offsets(arch: str, rng: np.random.Generator, size: int, limit: int = 1 << 12) -> np.ndarray:
    """Distinct byte offsets, aligned as the hardware's default wants them, that do not overlap."""
    slots = rng.permutation(limit // 16)[: wave_size(arch)]
    return slots * 16 + (rng.integers(0, 16 // size, len(slots)) * size if size in (1, 2, 4, 8) else 0)


def random_bytes(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.integers(0, 256, size, dtype=np.uint8)


def pointer_lanes(base: int, at: np.ndarray) -> np.ndarray:
    """[2, lanes]: 64-bit addresses as registers."""
    address = np.uint64(base) + at.astype(np.uint64)
    return np.stack([address & np.uint64(0xFFFFFFFF), address >> np.uint64(32)]).astype(np.uint32)


def address_forms(arch: str, space: str, memory: np.ndarray, at: np.ndarray) -> list[tuple[str, str, np.ndarray, str]]:
    """(address operand, operand after the data, image of v10, modifier) for each way to say the same addresses."""
    here = at.astype(np.uint32)[None]
    full = pointer_lanes(memory.ctypes.data, at)
    if space == "flat":
        return [("v[10:11]", "", full, "")]
    if space == "scratch":
        forms = [("v10", ", off", here, ""), ("v10", ", off", here - 8, " offset:8")]
        return [*forms, ("v10", ", s60", here - 64, "")] if arch != "gfx942" and arch != "gfx950" else forms
    base = f", s[{BUFFER0}:{BUFFER0 + 1}]"
    return [
        ("v[10:11]", ", off", full, ""),
        ("v[10:11]", ", off", pointer_lanes(memory.ctypes.data, at - 40), " offset:40"),
        ("v[10:11]", ", off", pointer_lanes(memory.ctypes.data, at + 16), " offset:-16"),
        ("v10", base, here, ""),
        ("v10", base, here - 4, " offset:4") if at.min() >= 4 else ("v10", base, here, ""),
    ]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("space", ["global", "flat"])
@pytest.mark.parametrize("load", LOADS, ids=lambda x: x[1])
def test_loads(arch, space, load):
    old, new, size, fill = load
    rng = np.random.default_rng(size)
    memory, at = random_bytes(rng, 1 << 12), offsets(arch, rng, size)
    count = dwords(size)
    before = np.full((count, wave_size(arch)), PATTERN, np.uint32)
    for vaddr, saddr, image, offset in address_forms(arch, space, memory, at):
        body = f"{name(arch, space, 'load', old, new)} {span(20, count)}, {vaddr}{saddr}{offset}"
        got = run_registers(arch, body, [("v10", image), ("v20", before)], ("v20", count), buffers=[memory])
        assert np.array_equal(got[0], loaded(memory, at, size, fill)), body


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("space", ["global", "flat"])
@pytest.mark.parametrize("store", STORES, ids=lambda x: x[1])
def test_stores(arch, space, store):
    old, new, size, high = store
    rng = np.random.default_rng(size)
    at, count = offsets(arch, rng, size), dwords(size)
    data = rng.integers(0, 1 << 32, (count, wave_size(arch)), dtype=np.uint32)
    first = random_bytes(rng, 1 << 12)
    memory = first.copy()
    for vaddr, saddr, image, offset in address_forms(arch, space, memory, at):
        memory[:] = first
        body = f"{name(arch, space, 'store', old, new)} {vaddr}, {span(20, count)}{saddr}{offset}"
        run_registers(arch, body, [("v10", image), ("v20", data)], ("v1", 1), buffers=[memory])
        assert np.array_equal(memory, stored(first, at, size, data, high)), body


@pytest.mark.parametrize("arch", [a for a in ARCHS if a != "gfx90a"])
@pytest.mark.parametrize("load", LOADS, ids=lambda x: x[1])
def test_scratch(arch, load):
    """A work-item's own bytes, dword by dword, then read back by every kind of load."""
    old, new, size, fill = load
    rng = np.random.default_rng(size)
    lanes, words = wave_size(arch), 16
    data = rng.integers(0, 1 << 32, (words, lanes), dtype=np.uint32)
    at = rng.integers(8, 4 * words - 16, lanes) // max(size, 1) * min(size, 4)
    count = dwords(size)
    write = name(arch, "scratch", "store", "dword", "b32")
    body = "\n".join(f"{write} off, v{100 + n}, off offset:{4 * n}" for n in range(words)) + "\n" + wait_all(arch)
    body += f"{name(arch, 'scratch', 'load', old, new)} {span(20, count)}, v10, off offset:-4"
    before = np.full((count, lanes), PATTERN, np.uint32)
    inputs = [("v100", data), ("v10", (at + 4).astype(np.uint32)[None]), ("v20", before)]
    got = run_registers(arch, body, inputs, ("v20", count), private=4 * words)[0]
    for lane in range(lanes):
        own = np.frombuffer(data[:, lane].tobytes(), np.uint8)
        assert np.array_equal(got[:, lane], loaded(own, at[lane : lane + 1], size, fill)[:, 0])


@pytest.mark.parametrize("arch", [a for a in ARCHS if a != "gfx90a"])
@pytest.mark.parametrize("store", STORES, ids=lambda x: x[1])
def test_scratch_stores(arch, store):
    old, new, size, high = store
    rng = np.random.default_rng(size)
    lanes, count = wave_size(arch), dwords(size)
    data = rng.integers(0, 1 << 32, (count, lanes), dtype=np.uint32)
    zero = "\n".join(f"{name(arch, 'scratch', 'store', 'dword', 'b32')} off, v9, off offset:{4 * n}" for n in range(8))
    read = "\n".join(
        f"{name(arch, 'scratch', 'load', 'dword', 'b32')} v{30 + n}, off, off offset:{4 * n}" for n in range(8)
    )
    write = f"{name(arch, 'scratch', 'store', old, new)} v10, {span(20, count)}, off"
    body = f"v_mov_b32_e32 v9, 0\n{zero}\n{write}\n{wait_all(arch)}{read}"
    at = rng.integers(0, 16, lanes) // size * size
    got = run_registers(arch, body, [("v20", data), ("v10", at.astype(np.uint32)[None])], ("v30", 8), private=32)[0]
    for lane in range(lanes):
        want = stored(np.zeros(32, np.uint8), at[lane : lane + 1], size, data[:, lane : lane + 1], high)
        assert got[:, lane].tobytes() == want.tobytes()


def test_private_buffer_gfx90a():
    """gfx90a reaches its private segment through the buffer resource in s[0:3]."""
    source = """
    extern "C" __global__ void k(int* out, int n) {
      volatile int own[8];
      for (int i = 0; i < 8; i++) own[i] = __builtin_amdgcn_workitem_id_x() * 8 + i;
      out[__builtin_amdgcn_workitem_id_x()] = own[(__builtin_amdgcn_workitem_id_x() + n) & 7];
    }"""
    out = np.zeros(64, np.int32)
    Kernel.from_hip(source, "gfx90a").launch(1, 64, out, np.int32(3))
    assert np.array_equal(out, np.arange(64) * 8 + (np.arange(64) + 3) % 8)


RSRC3 = {"gfx9": 0x00020000, "gfx11": 0x31004000, "gfx12": 0x31004000}


def resource(arch: str, records: int, word3: int | None = None, stride: int = 0) -> str:
    """Builds the resource of the first buffer in s[60:63]; s64 = 20 is a scalar offset."""
    if word3 is None:
        word3 = RSRC3["gfx9"] if arch.startswith("gfx9") else RSRC3["gfx11"]
    return (
        f"s_mov_b32 s60, s{BUFFER0}\ns_or_b32 s61, s{BUFFER0 + 1}, {stride << 16:#x}\ns_mov_b32 s62, {records:#x}\n"
        f"s_mov_b32 s63, {word3:#x}\ns_mov_b32 s64, 20\n"
    )


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("load", LOADS, ids=lambda x: x[1])
def test_buffer_loads_and_bounds(arch, load):
    """Dwords past num_records read 0, whatever is behind them."""
    old, new, size, fill = load
    rng = np.random.default_rng(size)
    memory, at, count = random_bytes(rng, 1 << 12), offsets(arch, rng, size), dwords(size)
    at = np.maximum(at, 64)
    records = 2100
    visible = memory.copy()
    visible[records // 4 * 4 if size >= 4 else records :] = 0
    before = np.full((count, wave_size(arch)), PATTERN, np.uint32)
    for vaddr, soffset, image, modifiers in [
        ("v10", "0", at, "offen"),
        ("v10", "0", at - 12, "offen offset:12"),
        ("v10", "s64", at - 20, "offen"),
        ("v10", "s64", at - 30, "offen offset:10"),
    ]:
        soffset = "null" if soffset == "0" and arch.startswith("gfx12") else soffset
        body = resource(arch, records) + (
            f"{name(arch, 'buffer', 'load', old, new)} {span(20, count)}, {vaddr}, s[60:63], {soffset} {modifiers}"
        )
        inputs = [("v10", image.astype(np.uint32)[None]), ("v20", before)]
        got = run_registers(arch, body, inputs, ("v20", count), buffers=[memory])
        assert np.array_equal(got[0], loaded(visible, at, size, fill)), body


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("store", STORES, ids=lambda x: x[1])
def test_buffer_stores_and_bounds(arch, store):
    old, new, size, high = store
    rng = np.random.default_rng(size)
    at, count = offsets(arch, rng, size), dwords(size)
    data = rng.integers(0, 1 << 32, (count, wave_size(arch)), dtype=np.uint32)
    first = random_bytes(rng, 1 << 12)
    memory, records = first.copy(), 2100
    soffset = "null" if arch.startswith("gfx12") else "0"
    body = (
        resource(arch, records)
        + f"{name(arch, 'buffer', 'store', old, new)} {span(20, count)}, v10, s[60:63], {soffset} offen"
    )
    run_registers(arch, body, [("v10", at.astype(np.uint32)[None]), ("v20", data)], ("v1", 1), buffers=[memory])
    want = stored(first, at, size, data, high)
    end = records // 4 * 4 if size >= 4 else records
    want[end:] = first[end:]
    assert np.array_equal(memory, want)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_structured_buffer(arch):
    """OOB_SELECT 0 with a stride: an index past num_records, or an offset past the stride, is out of range."""
    lanes = wave_size(arch)
    memory = np.arange(1024, dtype=np.uint32)
    index = np.arange(lanes, dtype=np.uint32)
    offset = np.uint32(4) * (index % 5)
    soffset = "null" if arch.startswith("gfx12") else "0"
    load = "buffer_load_b32 v20, v[10:11], s[60:63], " + soffset + " idxen offen"
    body = resource(arch, 20, word3=0x01004000, stride=16) + load
    got = run_registers(arch, body, [("v10", np.stack([index, offset]))], ("v20", 1), buffers=[memory])
    inside = (index < 20) & (offset < 16)
    assert np.array_equal(got[0, 0], np.where(inside, (index * 16 + offset) // 4, 0))


@pytest.mark.parametrize("arch", ARCHS)
def test_buffer_idxen_raw(arch):
    lanes = wave_size(arch)
    memory = np.arange(1024, dtype=np.uint32)
    index = np.arange(lanes, dtype=np.uint32)[::-1].copy()
    soffset = "null" if arch.startswith("gfx12") else "0"
    mnemonic = name(arch, "buffer", "load", "dword", "b32")
    body = resource(arch, 4096, stride=12) + f"{mnemonic} v20, v10, s[60:63], {soffset} idxen offset:8"
    got = run_registers(arch, body, [("v10", index[None])], ("v20", 1), buffers=[memory])
    assert np.array_equal(got[0, 0], 3 * index + 2)


def test_swizzled_resource_is_refused():
    memory = np.zeros(1024, np.uint32)
    body = resource("gfx942", 4096, word3=0x00020000 | 1 << 23) + "buffer_load_dword v20, v10, s[60:63], 0 offen"
    with pytest.raises(ExecutorError, match="swizzling or add-TID"):
        run_registers("gfx942", body, [("v10", np.zeros((1, 64)))], ("v20", 1), buffers=[memory])


@pytest.mark.parametrize(("arch", "sizes"), [("gfx942", (1, 2, 4)), ("gfx950", (1, 2, 4, 12, 16))])
@pytest.mark.parametrize("space", ["global", "buffer"])
def test_load_to_lds(arch, sizes, space):
    """M0 + offset + lane * size; less than a dword fills one; inactive lanes leave holes; the offset counts twice."""
    suffix = {1: "ubyte", 2: "ushort", 4: "dword", 12: "dwordx3", 16: "dwordx4"}
    for size in sizes:
        rng = np.random.default_rng(size)
        memory, at = random_bytes(rng, 1 << 12), offsets(arch, rng, size)
        at = np.maximum(at // 16 * 16, 16)
        step = max(size, 4)
        read = "\n".join(f"ds_read_b32 v{20 + n}, v2 offset:{64 + 16 + 4 * n}" for n in range(step // 4))
        fill = "\n".join(f"ds_write_b32 v2, v9 offset:{64 + 16 + 4 * n}" for n in range(step // 4))
        if space == "global":
            load = f"global_load_lds_{suffix[size]} v10, s[{BUFFER0}:{BUFFER0 + 1}] offset:16"
        else:
            load = resource(arch, 4096) + f"buffer_load_{suffix[size]} v10, s[60:63], 0 offen offset:16 lds"
        body = (
            f"v_mul_u32_u24_e32 v2, {step}, v0\nv_mov_b32_e32 v9, 7\n{fill}\ns_mov_b32 m0, 64\n"
            f"s_mov_b64 exec, 0xffffff0f\n{load}\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_mov_b64 exec, -1\n{read}"
        )
        inputs = [("v10", (at - 16).astype(np.uint32)[None])]
        got = run_registers(arch, body, inputs, ("v20", step // 4), buffers=[memory], lds=4096)[0]
        want = loaded(memory, at, size, "zero")
        want[:, [*range(4, 8), *range(32, 64)]] = 7
        assert np.array_equal(got, want), size


@pytest.mark.parametrize("arch", ARCHS)
def test_scalar_loads(arch):
    memory = np.arange(64, dtype=np.uint32) * 0x01010101
    sizes = {1: "dword", 2: "dwordx2", 4: "dwordx4", 8: "dwordx8", 16: "dwordx16"}
    if not arch.startswith("gfx9"):
        sizes = {1: "b32", 2: "b64", 4: "b128", 8: "b256", 16: "b512"}
    if arch.startswith("gfx12"):
        sizes[3] = "b96"
    for count, suffix in sizes.items():
        moves = "\n".join(f"v_mov_b32_e32 v{20 + n}, s{64 + n}" for n in range(count))
        for where, at in (("0x10", 4), ("s60", 7), ("s60 offset:0x8", 9)):
            if "offset" in where and arch == "gfx90a":
                continue
            target = span(64, count, "s")
            load = f"s_load_{suffix} {target}, s[{BUFFER0}:{BUFFER0 + 1}], {where}"
            body = f"s_mov_b32 s60, 28\n{load}\n{wait_all(arch)}{moves}"
            got = run_registers(arch, body, [], ("v20", count), buffers=[memory])
            assert (got[0] == memory[at : at + count, None]).all(), body


@pytest.mark.parametrize("arch", ARCHS)
def test_scalar_buffer_loads(arch):
    memory = np.arange(64, dtype=np.uint32) + 1
    suffix = "dwordx4" if arch.startswith("gfx9") else "b128"
    for at, want in ((16, [5, 6, 7, 8]), (56, [15, 16, 0, 0]), (64, [0, 0, 0, 0])):
        body = resource(arch, 64) + (
            f"s_buffer_load_{suffix} s[68:71], s[60:63], {at:#x}\n{wait_all(arch)}"
            + "\n".join(f"v_mov_b32_e32 v{20 + n}, s{68 + n}" for n in range(4))
        )
        got = run_registers(arch, body, [], ("v20", 4), buffers=[memory])
        assert got[0, :, 0].tolist() == want


@pytest.mark.parametrize("arch", ["gfx1201"])
@pytest.mark.parametrize(
    ("suffix", "dtype"), [("u8", np.uint8), ("i8", np.int8), ("u16", np.uint16), ("i16", np.int16)]
)
def test_small_scalar_loads(arch, suffix, dtype):
    memory = np.array([0x80, 0xFF, 0x7F, 0x01, 0xFE, 0x90, 0x12, 0x34], np.uint8)
    at = np.dtype(dtype).itemsize
    for instruction in (
        f"s_load_{suffix} s68, s[{BUFFER0}:{BUFFER0 + 1}], {at}",
        f"s_buffer_load_{suffix} s68, s[60:63], {at}",
    ):
        body = resource(arch, 8) + f"{instruction}\n{wait_all(arch)}v_mov_b32_e32 v20, s68"
        got = run_registers(arch, body, [], ("v20", 1), buffers=[memory])
        assert got[0, 0, 0] == int(memory.view(dtype)[1]) & 0xFFFFFFFF


@pytest.mark.parametrize("arch", ARCHS)
def test_inactive_lanes_neither_load_nor_store(arch):
    """Their addresses may be anything."""
    lanes = wave_size(arch)
    memory = np.arange(lanes, dtype=np.uint32) + 100
    mask = 0x5555_0F0F
    exec_ = "exec" if lanes == 64 else "exec_lo"
    move = "s_mov_b64" if lanes == 64 else "s_mov_b32"
    at = np.where(mask >> np.arange(lanes).astype(np.uint64) & 1, 4 * np.arange(lanes), 0x70000000).astype(np.uint32)
    load, store = name(arch, "global", "load", "dword", "b32"), name(arch, "global", "store", "dword", "b32")
    body = (
        f"{move} {exec_}, {mask:#x}\n{load} v20, v10, s[{BUFFER0}:{BUFFER0 + 1}]\n{wait_all(arch)}"
        f"{store} v10, v21, s[{BUFFER0}:{BUFFER0 + 1}]\n{move} {exec_}, -1"
    )
    before = np.full((1, lanes), 7, np.uint32)
    got = run_registers(arch, body, [("v10", at[None]), ("v20", before), ("v21", before)], ("v20", 1), buffers=[memory])
    active = (mask >> np.arange(lanes).astype(np.uint64) & 1).astype(bool)
    assert np.array_equal(got[0, 0], np.where(active, np.arange(lanes) + 100, 7))
    assert np.array_equal(memory, np.where(active, 7, np.arange(lanes) + 100))


@pytest.mark.parametrize("arch", ARCHS)
def test_partial_last_wave(arch):
    """Lanes past the block's last work-item do not exist."""
    lanes = wave_size(arch)
    memory = np.zeros(lanes, np.uint32)
    store = name(arch, "global", "store", "dword", "b32")
    body = f"v_mov_b32_e32 v9, 1\n{store} v1, v9, s[{BUFFER0}:{BUFFER0 + 1}]"
    run_registers(arch, body, [], ("v1", 1), buffers=[memory], block=lanes - 5)
    assert memory.tolist() == [1] * (lanes - 5) + [0] * 5


OUT_OF_BOUNDS = [
    ("load", "global_load_dword v20, v10, s[40:41]", "global load of 4 bytes"),
    ("load", "global_load_dwordx4 v[20:23], v10, s[40:41]", "global load of 16 bytes"),
    ("store", "global_store_dword v10, v20, s[40:41]", "global store of 4 bytes"),
    ("store", "global_store_byte v10, v20, s[40:41]", "global store of 1 bytes"),
    ("atomic", "global_atomic_add v10, v20, s[40:41]", "global atomic of 4 bytes"),
]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("kind", "instruction", "text"), OUT_OF_BOUNDS)
def test_out_of_bounds_stops_the_launch(arch, kind, instruction, text):
    """One lane just past the end, or just before the start; the report says where, and which array is nearest."""
    lanes = wave_size(arch)
    memory = np.zeros(12 * lanes, np.uint32)[4 * lanes : -4 * lanes]  # nothing known lies next to it
    if not arch.startswith("gfx9"):
        for old, new in (("dwordx4", "b128"), ("dword", "b32"), ("byte", "b8"), ("atomic_add", "atomic_add_u32")):
            instruction = instruction.replace(old, new)
    for lane, offset, where in (
        (5, memory.nbytes, "ends 0 bytes before it"),
        (lanes - 1, -64, "begins 64 bytes after it"),
    ):
        at = np.zeros(lanes, np.int64)
        at[lane] = offset
        base = memory.ctypes.data
        body = instruction.replace("v10, s[40:41]", "v[10:11], off").replace("v10, v20, s[40:41]", "v[10:11], v20, off")
        with pytest.raises(ExecutorError) as caught:
            run_registers(
                arch,
                body,
                [("v10", pointer_lanes(base, at)), ("v20", np.zeros((4, lanes)))],
                ("v20", 1),
                buffers=[memory],
            )
        report = str(caught.value)
        for piece in (
            text,
            body.split()[0],
            "wave 0",
            f"lane {lane}",
            f"{base + offset:#x}",
            f"{memory.nbytes} bytes at {base:#x}",
            where,
        ):
            assert piece in report, (piece, report)


@pytest.mark.parametrize("arch", ARCHS)
def test_access_across_the_end(arch):
    """The first bytes are allocated, the last are not."""
    lanes = wave_size(arch)
    memory = np.zeros(16, np.uint8)
    mnemonic = name(arch, "global", "load", "dwordx2", "b64")
    at = np.full((1, lanes), 12, np.uint32)
    with pytest.raises(ExecutorError, match="out-of-bounds global load of 8 bytes"):
        run_registers(arch, f"{mnemonic} v[20:21], v10, s[40:41]", [("v10", at)], ("v20", 2), buffers=[memory])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_unallocated_scalar_load(arch):
    suffix = "dword" if arch == "gfx942" else "b32"
    with pytest.raises(ExecutorError, match="out-of-bounds global scalar load of 4 bytes"):
        run_registers(arch, f"s_load_{suffix} s60, s[40:41], 0x100", [], ("v1", 1), buffers=[np.zeros(16, np.uint8)])


def test_in_range_of_the_resource_but_not_allocated():
    memory = np.zeros(64, np.uint8)
    body = resource("gfx942", 1 << 20) + "buffer_load_dword v20, v10, s[60:63], 0 offen"
    with pytest.raises(ExecutorError, match="out-of-bounds global load of 4 bytes"):
        run_registers("gfx942", body, [("v10", np.full((1, 64), 64))], ("v20", 1), buffers=[memory])


def test_a_global_load_of_gfx12_transposes_groups_of_eight():
    """As measured on a gfx1201: element j of lane l is element l % 8 of lane 8 (l / 8) + j."""
    memory = np.arange(256, dtype=np.uint16)
    at = 16 * np.arange(32, dtype=np.uint32)[None]
    body = "global_load_tr_b128 v[20:23], v10, s[40:41]"
    got = run_registers("gfx1201", body, [("v10", at)], ("v20", 4), buffers=[memory])[0]
    elements = np.stack([got & 0xFFFF, got >> 16], axis=1).reshape(8, 32)
    lane, j = np.arange(32)[None], np.arange(8)[:, None]
    assert np.array_equal(elements, 8 * (8 * (lane // 8) + j) + lane % 8)
