"""LDS instructions and the atomics of every address space, on every arch that has them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cupygemm.emulator.executor import ExecutorError

from .harness import ARCHS
from .registers import BUFFER0, run_registers, wait_all, wave_size
from .test_memory import PATTERN, dwords, loaded, offsets, random_bytes, resource, span, stored

LDS_BYTES = 4096
LOADS = [
    ("read_u8", "load_u8", 1, "zero"),
    ("read_i8", "load_i8", 1, "sign"),
    ("read_u16", "load_u16", 2, "zero"),
    ("read_i16", "load_i16", 2, "sign"),
    ("read_b32", "load_b32", 4, "zero"),
    ("read_b64", "load_b64", 8, "zero"),
    ("read_b96", "load_b96", 12, "zero"),
    ("read_b128", "load_b128", 16, "zero"),
    ("read_u8_d16", "load_u8_d16", 1, "low zero"),
    ("read_u8_d16_hi", "load_u8_d16_hi", 1, "high zero"),
    ("read_i8_d16", "load_i8_d16", 1, "low sign"),
    ("read_i8_d16_hi", "load_i8_d16_hi", 1, "high sign"),
    ("read_u16_d16", "load_u16_d16", 2, "low zero"),
    ("read_u16_d16_hi", "load_u16_d16_hi", 2, "high zero"),
]
STORES = [
    ("write_b8", "store_b8", 1, False),
    ("write_b16", "store_b16", 2, False),
    ("write_b32", "store_b32", 4, False),
    ("write_b64", "store_b64", 8, False),
    ("write_b96", "store_b96", 12, False),
    ("write_b128", "store_b128", 16, False),
    ("write_b8_d16_hi", "store_b8_d16_hi", 1, True),
    ("write_b16_d16_hi", "store_b16_d16_hi", 2, True),
]


def ds(arch: str, old: str, new: str) -> str:
    return f"ds_{old if arch.startswith('gfx9') else new}"


def fill_lds(arch: str, size: int = LDS_BYTES) -> str:
    """Copies the first buffer into LDS, one dword a lane at a time. Uses v2 to v4."""
    lanes = wave_size(arch)
    load = "global_load_dword" if arch.startswith("gfx9") else "global_load_b32"
    text = "v_mov_b32_e32 v2, v1\n"
    for _ in range(0, size, 4 * lanes):
        text += (
            f"{load} v3, v2, s[{BUFFER0}:{BUFFER0 + 1}]\n{wait_all(arch)}{ds(arch, 'write_b32', 'store_b32')} v2, v3\n"
        )
        text += f"v_mov_b32_e32 v4, {4 * lanes}\nv_add_u32_e32 v2, v2, v4\n".replace(
            "v_add_u32", "v_add_u32" if arch.startswith("gfx9") else "v_add_nc_u32"
        )
    return text + wait_all(arch)


def copy_back(arch: str, size: int = LDS_BYTES) -> str:
    """LDS into the second buffer."""
    lanes = wave_size(arch)
    store = "global_store_dword" if arch.startswith("gfx9") else "global_store_b32"
    add = "v_add_u32_e32" if arch.startswith("gfx9") else "v_add_nc_u32_e32"
    text = wait_all(arch) + f"v_mov_b32_e32 v2, v1\nv_mov_b32_e32 v4, {4 * lanes}\n"
    for _ in range(0, size, 4 * lanes):
        text += f"{ds(arch, 'read_b32', 'load_b32')} v3, v2\n{wait_all(arch)}"
        text += f"{store} v2, v3, s[{BUFFER0 + 2}:{BUFFER0 + 3}]\n{add} v2, v2, v4\n"
    return text


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("load", LOADS, ids=lambda x: x[1])
def test_loads(arch, load):
    old, new, size, fill = load
    rng = np.random.default_rng(size)
    memory, at, count = random_bytes(rng, LDS_BYTES), offsets(arch, rng, size), dwords(size)
    at = np.maximum(at, 32)
    before = np.full((count, wave_size(arch)), PATTERN, np.uint32)
    for plus in (0, 32):
        body = fill_lds(arch) + f"{ds(arch, old, new)} {span(20, count)}, v10 offset:{plus}"
        inputs = [("v10", (at - plus).astype(np.uint32)[None]), ("v20", before)]
        got = run_registers(arch, body, inputs, ("v20", count), buffers=[memory], lds=LDS_BYTES)
        assert np.array_equal(got[0], loaded(memory, at, size, fill))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("store", STORES, ids=lambda x: x[1])
def test_stores(arch, store):
    old, new, size, high = store
    rng = np.random.default_rng(size)
    memory, at, count = random_bytes(rng, LDS_BYTES), offsets(arch, rng, size), dwords(size)
    data = rng.integers(0, 1 << 32, (count, wave_size(arch)), dtype=np.uint32)
    out = np.zeros_like(memory)
    body = fill_lds(arch) + f"{ds(arch, old, new)} v10, {span(20, count)}\n" + copy_back(arch)
    inputs = [("v10", at.astype(np.uint32)[None]), ("v20", data)]
    run_registers(arch, body, inputs, ("v1", 1), buffers=[memory, out], lds=LDS_BYTES)
    assert np.array_equal(out, stored(memory, at, size, data, high))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("size", "stride"), [(4, 1), (8, 1), (4, 64), (8, 64)])
def test_two_addresses(arch, size, stride):
    rng = np.random.default_rng(size + stride)
    lanes, count = wave_size(arch), size // 4
    memory = random_bytes(rng, LDS_BYTES)
    at = rng.permutation(lanes) * 8
    first, second = 3, 1 if stride == 64 else 70
    suffix = f"b{8 * size}"
    read = ds(
        arch,
        f"read2{'st64' if stride == 64 else ''}_{suffix}",
        f"load_2addr_{'stride64_' if stride == 64 else ''}{suffix}",
    )
    write = read.replace("read", "write").replace("load", "store")
    unit = size * stride
    body = fill_lds(arch) + f"{read} {span(20, 2 * count)}, v10 offset0:{first} offset1:{second}"
    got = run_registers(
        arch, body, [("v10", at.astype(np.uint32)[None])], ("v20", 2 * count), buffers=[memory], lds=LDS_BYTES
    )
    want = [loaded(memory, at + n * unit, size, "zero") for n in (first, second)]
    assert np.array_equal(got[0], np.concatenate(want))

    data = rng.integers(0, 1 << 32, (2 * count, lanes), dtype=np.uint32)
    out = np.zeros_like(memory)
    body = (
        fill_lds(arch)
        + f"{write} v10, {span(20, count)}, {span(20 + count, count)} offset0:{first} offset1:{second}\n"
        + copy_back(arch)
    )
    run_registers(
        arch,
        body,
        [("v10", at.astype(np.uint32)[None]), ("v20", data)],
        ("v1", 1),
        buffers=[memory, out],
        lds=LDS_BYTES,
    )
    want = stored(memory, at + first * unit, size, data[:count], False)
    assert np.array_equal(out, stored(want, at + second * unit, size, data[count:], False))


@pytest.mark.parametrize("arch", [a for a in ARCHS if a != "gfx90a"])
def test_addtid(arch):
    """The address is M0 + offset + 4 lane."""
    rng = np.random.default_rng(1)
    memory, lanes = random_bytes(rng, LDS_BYTES), wave_size(arch)
    data = rng.integers(0, 1 << 32, (1, lanes), dtype=np.uint32)
    out = np.zeros_like(memory)
    body = (
        fill_lds(arch)
        + f"s_mov_b32 m0, 64\n{ds(arch, 'read_addtid_b32', 'load_addtid_b32')} v20 offset:8\n{wait_all(arch)}"
        + f"{ds(arch, 'write_addtid_b32', 'store_addtid_b32')} v21 offset:1024\n"
        + copy_back(arch)
    )
    got = run_registers(arch, body, [("v21", data)], ("v20", 1), buffers=[memory, out], lds=LDS_BYTES)
    lane = np.arange(lanes)
    assert np.array_equal(got[0], loaded(memory, 72 + 4 * lane, 4, "zero"))
    assert np.array_equal(out, stored(memory, 1088 + 4 * lane, 4, data, False))


@pytest.mark.parametrize("arch", ARCHS)
def test_out_of_bounds_stops_the_launch(arch):
    lanes = wave_size(arch)
    at = np.full((1, lanes), 0, np.uint32)
    at[0, 3] = 252
    for old, new, text in (("read_b64", "load_b64", "load of 8"), ("write_b64", "store_b64", "store of 8")):
        operands = "v[20:21], v10" if "load" in new else "v10, v[20:21]"
        with pytest.raises(ExecutorError) as caught:
            run_registers(arch, f"{ds(arch, old, new)} {operands}", [("v10", at)], ("v20", 2), lds=256)
        for piece in (f"out-of-bounds LDS {text} bytes at offset 0xfc", "0x100 bytes", "lane 3"):
            assert piece in str(caught.value)


@pytest.mark.parametrize("arch", ARCHS)
def test_bpermute_and_permute(arch):
    rng = np.random.default_rng(2)
    lanes = wave_size(arch)
    source = rng.integers(0, lanes, lanes).astype(np.uint32)
    data = rng.integers(0, 1 << 32, lanes, dtype=np.uint32)
    inputs = [("v10", 4 * source[None] + 4 * lanes), ("v11", data[None])]
    got = run_registers(arch, "ds_bpermute_b32 v20, v10, v11", inputs, ("v20", 1))
    assert np.array_equal(got[0, 0], data[source])
    got = run_registers(arch, "ds_bpermute_b32 v20, v10, v11 offset:8", inputs, ("v20", 1))
    assert np.array_equal(got[0, 0], data[(source + 2) % lanes])
    got = run_registers(arch, "ds_permute_b32 v20, v10, v11", inputs, ("v20", 1))
    want = np.zeros(lanes, np.uint32)
    for lane in range(lanes):
        want[source[lane]] = data[lane]
    assert np.array_equal(got[0, 0], want)
    if arch == "gfx1201":
        got = run_registers(arch, "ds_bpermute_fi_b32 v20, v10, v11", inputs, ("v20", 1))
        assert np.array_equal(got[0, 0], data[source])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_bpermute_from_an_inactive_lane_gives_zero(arch):
    lanes = wave_size(arch)
    move, exec_ = ("s_mov_b64", "exec") if lanes == 64 else ("s_mov_b32", "exec_lo")
    body = f"{move} {exec_}, 0xff\nds_bpermute_b32 v20, v10, v11\n{move} {exec_}, -1"
    inputs = [
        ("v10", 4 * (np.arange(lanes)[None] + 4)),
        ("v11", np.arange(lanes)[None] + 1),
        ("v20", np.full((1, lanes), 9)),
    ]
    got = run_registers(arch, body, inputs, ("v20", 1))[0, 0]
    assert got.tolist() == [5, 6, 7, 8, 0, 0, 0, 0] + [9] * (lanes - 8)


SWIZZLES = {
    'BITMASK_PERM, "ppp01"': lambda lane: lane & ~3 | 1,
    'BITMASK_PERM, "pppii"': lambda lane: lane ^ 3,
    'BITMASK_PERM, "0pppp"': lambda lane: lane & ~16,
    "QUAD_PERM, 3, 1, 2, 0": lambda lane: lane & ~3 | np.array([3, 1, 2, 0])[lane & 3],
    "SWAP, 16": lambda lane: lane ^ 16,
    "REVERSE, 8": lambda lane: lane ^ 7,
    "BROADCAST, 8, 3": lambda lane: lane & ~7 | 3,
    "ROTATE, 0, 5": lambda lane: lane & ~31 | (lane + 5) & 31,
    "ROTATE, 1, 5": lambda lane: lane & ~31 | (lane - 5) & 31,
}


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("pattern", SWIZZLES)
def test_swizzle(arch, pattern):
    lanes = wave_size(arch)
    data = np.arange(lanes, dtype=np.uint32) * 7 + 1
    got = run_registers(arch, f"ds_swizzle_b32 v20, v10 offset:swizzle({pattern})", [("v10", data[None])], ("v20", 1))
    assert np.array_equal(got[0, 0], data[SWIZZLES[pattern](np.arange(lanes))])


@pytest.mark.parametrize(("suffix", "bits"), [("b64_tr_b16", 16), ("b64_tr_b8", 8), ("b64_tr_b4", 4), ("b96_tr_b6", 6)])
def test_transposing_reads(suffix, bits):
    """16 lanes read a row-major tile of 16 columns; lane l of them gets column l."""
    rng = np.random.default_rng(bits)
    size = 12 if bits == 6 else 8
    count = size * 8 // bits
    tile = rng.integers(0, 1 << bits, (4, count, 16))  # [group of lanes, row, column]
    stream = (tile.reshape(-1, 1) >> np.arange(bits) & 1).astype(np.uint8).ravel()
    memory = np.zeros(LDS_BYTES, np.uint8)
    packed = np.packbits(stream, bitorder="little")
    memory[: packed.size] = packed
    at = np.arange(64, dtype=np.uint32)[None] * size
    body = fill_lds("gfx950") + f"ds_read_{suffix} {span(20, size // 4)}, v10"
    got = run_registers("gfx950", body, [("v10", at)], ("v20", size // 4), buffers=[memory], lds=LDS_BYTES)[0]
    lanes = np.unpackbits(np.ascontiguousarray(got.T).view(np.uint8), axis=1, bitorder="little").reshape(
        64, count, bits
    )
    elements = (lanes.astype(np.int64) << np.arange(bits)).sum(axis=2)
    assert np.array_equal(elements, tile.transpose(0, 2, 1).reshape(64, count))


def test_transposing_reads_need_every_lane():
    body = "s_mov_b64 exec, 0xff\nds_read_b64_tr_b16 v[20:21], v10"
    with pytest.raises(ExecutorError, match="EXEC to be all ones"):
        run_registers("gfx950", body, [("v10", np.zeros((1, 64)))], ("v20", 2), lds=256)


# ---- Atomics: name from gfx9 (VMEM), name from gfx11 (VMEM), names in LDS, type, function(old, data, compare) -> new


def _wrap(function, dtype):
    def call(old, data, compare):
        with np.errstate(over="ignore"):
            return np.asarray(function(old.view(dtype), data.view(dtype), compare.view(dtype)), dtype).view(old.dtype)

    return call


def _integer(function, signed=False):
    return {
        4: _wrap(function, np.int32 if signed else np.uint32),
        8: _wrap(function, np.int64 if signed else np.uint64),
    }


INTEGER = {
    ("add", "add_u", "add_u"): _integer(lambda o, d, c: o + d),
    ("sub", "sub_u", "sub_u"): _integer(lambda o, d, c: o - d),
    ("smin", "min_i", "min_i"): _integer(lambda o, d, c: np.minimum(o, d), signed=True),
    ("smax", "max_i", "max_i"): _integer(lambda o, d, c: np.maximum(o, d), signed=True),
    ("umin", "min_u", "min_u"): _integer(lambda o, d, c: np.minimum(o, d)),
    ("umax", "max_u", "max_u"): _integer(lambda o, d, c: np.maximum(o, d)),
    ("and", "and_b", "and_b"): _integer(lambda o, d, c: o & d),
    ("or", "or_b", "or_b"): _integer(lambda o, d, c: o | d),
    ("xor", "xor_b", "xor_b"): _integer(lambda o, d, c: o ^ d),
    ("inc", "inc_u", "inc_u"): _integer(lambda o, d, c: np.where(o >= d, 0, o + 1)),
    ("dec", "dec_u", "dec_u"): _integer(lambda o, d, c: np.where((o == 0) | (o > d), d, o - 1)),
    ("swap", "swap_b", ""): _integer(lambda o, d, c: d),
    ("cmpswap", "cmpswap_b", "compare"): _integer(lambda o, d, c: np.where(o == c, d, o)),
}


def atomic_values(rng: np.random.Generator, lanes: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """old, data, compare: random and edge values; compare is right in every other lane."""
    dtype = {4: np.uint32, 8: np.uint64}[size]
    edges = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).max // 2, np.iinfo(dtype).max // 2 + 1], dtype)

    def pick() -> np.ndarray:
        random = rng.integers(0, 1 << 30, lanes).astype(dtype)
        return np.where(rng.integers(0, 2, lanes), rng.choice(edges, lanes), random)

    old, data = pick(), pick()
    return old, data, np.where(np.arange(lanes) % 2, old, data)


def as_registers(values: np.ndarray) -> np.ndarray:
    """[dwords, lanes]"""
    return np.ascontiguousarray(values).view(np.uint32).reshape(len(values), -1).T.copy()


def run_atomic(arch, space, mnemonic, size, old, data, compare, returning, compares):
    """Memory afterwards, and what was returned."""
    lanes, count = len(old), size // 4
    memory = old.copy()
    at = np.arange(lanes, dtype=np.uint32)[None] * size
    address = (np.uint64(memory.ctypes.data) + at[0].astype(np.uint64)) if space == "flat" else None
    image = as_registers(address) if address is not None else at
    both = np.concatenate([as_registers(data), as_registers(compare)]) if compares else as_registers(data)
    wide = len(both)
    inputs = [("v10", image), ("v20", both)]
    result, where = f"{span(30, count)}, ", "v30"
    flag = (
        (" th:TH_ATOMIC_RETURN" if arch.startswith("gfx12") else " sc0" if arch in ("gfx942", "gfx950") else " glc")
        if returning
        else ""
    )
    result = result if returning else ""
    extra: dict = {"buffers": [memory]}
    if space == "global":
        body = f"{mnemonic} {result}v10, {span(20, wide)}, s[{BUFFER0}:{BUFFER0 + 1}]{flag}"
    elif space == "flat":
        body = f"{mnemonic} {result}v[10:11], {span(20, wide)}{flag}"
    elif space == "buffer":
        soffset = "null" if arch.startswith("gfx12") else "0"
        body = resource(arch, memory.nbytes) + f"{mnemonic} {span(20, wide)}, v10, s[60:63], {soffset} offen{flag}"
        where = "v20"
    else:
        out = np.zeros_like(memory)
        operands = [span(20, count)]
        if compares:
            pair = [span(20, count), span(20 + count, count)]
            operands = pair[::-1] if arch.startswith("gfx9") else pair
        size_ = memory.nbytes
        body = fill_lds(arch, size_) + f"{mnemonic} {result}v10, {', '.join(operands)}\n" + copy_back(arch, size_)
        extra = {"buffers": [memory, out], "lds": size_}
        got = run_registers(arch, body, inputs, ("v30", count), **extra)
        return out, np.ascontiguousarray(got[0].T).view(old.dtype)[:, 0]
    got = run_registers(arch, body, inputs, (where, count), **extra)
    return memory, np.ascontiguousarray(got[0].T).view(old.dtype)[:, 0]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("space", ["global", "flat", "buffer", "ds"])
@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("operation", INTEGER, ids=lambda x: x[1])
def test_integer_atomics(arch, space, size, operation):
    old_name, new_name, ds_name = operation
    old, data, compare = atomic_values(np.random.default_rng(size), wave_size(arch), size)
    compares = "cmpswap" in old_name
    want = INTEGER[operation][size](old, data, compare)
    for returning in (True, False):
        if space != "ds":
            mnemonic = f"{space}_atomic_" + (
                old_name + ("_x2" if size == 8 else "") if arch.startswith("gfx9") else f"{new_name}{8 * size}"
            )
        elif compares:
            stem = "ds_cmpst" if arch.startswith("gfx9") else "ds_cmpstore"
            mnemonic = f"{stem}_{'rtn_' if returning else ''}b{8 * size}"
        elif old_name == "swap":
            if not returning:
                continue
            mnemonic = f"ds_{'wrxchg' if arch.startswith('gfx9') else 'storexchg'}_rtn_b{8 * size}"
        else:
            stem, kind = ds_name.rsplit("_", 1)
            mnemonic = f"ds_{stem}_{'rtn_' if returning else ''}{kind}{8 * size}"
        after, returned = run_atomic(arch, space, mnemonic, size, old, data, compare, returning, compares)
        assert np.array_equal(after, want), mnemonic
        if returning:
            assert np.array_equal(returned, old), mnemonic


def _f16_pairs(function, dtype):
    def call(o, d):
        a, b = (x.view(np.uint16).view(dtype).astype(np.float64) for x in (o, d))
        return (a + b).astype(dtype).view(np.uint16).view(np.uint32)

    return call


def _pairs(rng, lanes, dtype):
    return rng.standard_normal(2 * lanes).astype(dtype).view(np.uint16).view(np.uint32)


#: space, mnemonic (returning ones have {rtn}), type, archs
FLOAT = [
    ("global", "add_f32", "add_f32", np.float32, "add", ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")),
    ("flat", "add_f32", "add_f32", np.float32, "add", ("gfx942", "gfx950", "gfx1100", "gfx1201")),
    ("buffer", "add_f32", "add_f32", np.float32, "add", ("gfx90a", "gfx942", "gfx1100", "gfx1201")),
    ("global", "add_f64", "add_f64", np.float64, "add", ("gfx90a", "gfx942", "gfx950")),
    ("global", "min_f64", "min_f64", np.float64, "min", ("gfx90a", "gfx942", "gfx950")),
    ("global", "max_f64", "max_f64", np.float64, "max", ("gfx90a", "gfx942", "gfx950")),
    ("global", "", "min_f32", np.float32, "min", ("gfx1100",)),
    ("global", "", "max_f32", np.float32, "max", ("gfx1100",)),
    ("global", "", "min_num_f32", np.float32, "min", ("gfx1201",)),
    ("global", "", "max_num_f32", np.float32, "max", ("gfx1201",)),
    ("ds", "add{rtn}_f32", "add{rtn}_f32", np.float32, "add", ARCHS),
    ("ds", "add{rtn}_f64", "", np.float64, "add", ("gfx90a", "gfx942", "gfx950")),
    ("ds", "min{rtn}_f32", "min{rtn}_f32", np.float32, "min", ("gfx90a", "gfx942", "gfx1100")),
    ("ds", "max{rtn}_f32", "max{rtn}_f32", np.float32, "max", ("gfx90a", "gfx942", "gfx1100")),
    ("ds", "", "min_num{rtn}_f32", np.float32, "min", ("gfx1201",)),
    ("ds", "", "max_num{rtn}_f64", np.float64, "max", ("gfx1201",)),
]


@pytest.mark.parametrize("case", FLOAT, ids=lambda x: f"{x[0]}-{x[2] or x[1]}")
def test_float_atomics(case):
    space, old_name, new_name, dtype, operation, archs = case
    function = {"add": np.add, "min": np.fmin, "max": np.fmax}[operation]
    for arch in archs:
        rng = np.random.default_rng(3)
        lanes, size = wave_size(arch), np.dtype(dtype).itemsize
        unsigned = {4: np.uint32, 8: np.uint64}[size]
        old, data = rng.standard_normal(lanes).astype(dtype), rng.standard_normal(lanes).astype(dtype)
        old[:5], data[:5] = (
            [1e30, 0.0, -1e-40, np.inf, 2.5],
            [1.0, -0.0, 1e-41, 1.0, np.nan if operation != "add" else 1.0],
        )
        want = function(old, data)
        for returning in (True, False):
            stem = (old_name if arch.startswith("gfx9") else new_name).format(rtn="_rtn" if returning else "")
            mnemonic = f"ds_{stem}" if space == "ds" else f"{space}_atomic_{stem}"
            bits = old.view(unsigned), data.view(unsigned), old.view(unsigned)
            after, returned = run_atomic(arch, space, mnemonic, size, *bits, returning, False)
            after = after.view(dtype)
            if operation != "add":  # the sign of a zero: -0 is the smaller
                assert np.signbit(after[1]) == (operation == "min")
                after[1] = want[1]
            assert np.array_equal(after.view(unsigned), want.view(unsigned)), (arch, mnemonic)
            if returning:
                assert np.array_equal(returned, old.view(unsigned))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_packed_atomics(arch, kind):
    import ml_dtypes

    dtype = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[kind]
    rng = np.random.default_rng(4)
    old, data = _pairs(rng, wave_size(arch), dtype), _pairs(rng, wave_size(arch), dtype)
    want = _f16_pairs(np.add, dtype)(old, data)
    spaces = ["global", "ds"] if arch != "gfx90a" else ["global"] if kind == "f16" else []
    for space in spaces:
        mnemonic = f"ds_pk_add_{kind}" if space == "ds" else f"{space}_atomic_pk_add_{kind}"
        after, _ = run_atomic(arch, space, mnemonic, 4, old, data, old, False, False)
        assert np.array_equal(after, want), mnemonic


def test_other_lds_operations():
    """rsub on gfx9 and gfx11; the clamping and conditional subtractions of gfx12."""
    for arch, name, function in (
        ("gfx942", "ds_rsub{rtn}_u32", lambda o, d: d - o),
        ("gfx1100", "ds_rsub{rtn}_u32", lambda o, d: d - o),
        ("gfx1201", "ds_sub_clamp{rtn}_u32", lambda o, d: np.where(o < d, 0, o - d)),
        ("gfx1201", "ds_cond_sub{rtn}_u32", lambda o, d: np.where(o < d, o, o - d)),
    ):
        old, data, compare = atomic_values(np.random.default_rng(5), wave_size(arch), 4)
        for rtn in ("", "_rtn"):
            after, returned = run_atomic(arch, "ds", name.format(rtn=rtn), 4, old, data, compare, bool(rtn), False)
            assert np.array_equal(after, function(old, data).astype(np.uint32)), name
            if rtn:
                assert np.array_equal(returned, old)
    for arch, name, function in (
        ("gfx1100", "csub_u32", lambda o, d: np.where(o < d, 0, o - d)),
        ("gfx1201", "sub_clamp_u32", lambda o, d: np.where(o < d, 0, o - d)),
        ("gfx1201", "cond_sub_u32", lambda o, d: np.where(o < d, o, o - d)),
    ):
        old, data, compare = atomic_values(np.random.default_rng(6), wave_size(arch), 4)
        after, returned = run_atomic(arch, "global", f"global_atomic_{name}", 4, old, data, compare, True, False)
        assert np.array_equal(after, function(old, data).astype(np.uint32)), name
        assert np.array_equal(returned, old)


@pytest.mark.parametrize("threads", [1, 4])
def test_atomics_of_many_workgroups(threads):
    """No addition is lost, whatever the number of host threads."""
    total = np.zeros(1, np.uint32)
    groups, lanes = 300, 32
    body = f"v_mov_b32_e32 v10, 0\nv_mov_b32_e32 v11, 1\nglobal_atomic_add_u32 v10, v11, s[{BUFFER0}:{BUFFER0 + 1}]"
    run_registers(
        "gfx1201", body, [("v20", np.zeros((groups, 1, lanes)))], ("v20", 1), buffers=[total], threads=threads
    )
    assert total[0] == groups * lanes


def test_misaligned_atomic_stops_the_launch():
    memory = np.zeros(64, np.uint32)
    body = f"global_atomic_add v10, v20, s[{BUFFER0}:{BUFFER0 + 1}]"
    with pytest.raises(ExecutorError, match="atomic of 4 bytes at the misaligned address"):
        run_registers(
            "gfx942", body, [("v10", np.full((1, 64), 2)), ("v20", np.ones((1, 64)))], ("v20", 1), buffers=[memory]
        )
