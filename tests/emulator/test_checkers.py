"""The checkers: clang's own output runs clean, and every planted fault is reported with its place and other party."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cupygemm.emulator.executor import ExecutorError

from .harness import Kernel, compile_hip
from .registers import BUFFER0, run_registers, wait_all, wave_size

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx950")

COMMON = """
typedef float f4 __attribute__((ext_vector_type(4)));
#define TID ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP ((int)__builtin_amdgcn_workgroup_id_x())
static __device__ inline __attribute__((always_inline)) void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define KERNEL(n) extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(n, n)))
"""

#: Every work-item reads what another wave staged in LDS, twice over.
STAGED = (
    COMMON
    + """
KERNEL(256) void k(const float* in, float* out, int rounds) {
  __shared__ float tile[256];
  float sum = 0;
  for (int r = 0; r < rounds; r++) {
    tile[TID] = in[(GROUP * rounds + r) * 256 + TID];
    sync();
    sum += tile[255 - TID] + tile[(TID + 64) & 255];
    sync();
  }
  out[GROUP * 256 + TID] = sum;
}"""
)

#: A 32 x 32 x 16 tile product with ragged edges, as small as a tiled GEMM can be.
GEMM = (
    COMMON
    + """
KERNEL(256) void k(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float sA[16][33], sB[16][32];
  int m0 = GROUP * 32, tx = TID & 15, ty = TID >> 4;
  float acc[2][2] = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int i = TID; i < 512; i += 256) {
      int r = i >> 4, c = i & 15;
      sA[c][r] = m0 + r < M && k0 + c < K ? A[(long)(m0 + r) * K + k0 + c] : 0;
      r = i >> 5, c = i & 31;
      sB[r][c] = k0 + r < K && c < N ? B[(long)(k0 + r) * N + c] : 0;
    }
    sync();
    for (int k = 0; k < 16; k++)
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) acc[i][j] += sA[k][ty * 2 + i] * sB[k][tx * 2 + j];
    sync();
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      if (m0 + ty * 2 + i < M && tx * 2 + j < N) C[(long)(m0 + ty * 2 + i) * N + tx * 2 + j] = acc[i][j];
}"""
)

#: Divergence, private arrays, atomics, 16-bit and 8-bit data, shuffles, early exits.
MIXED = (
    COMMON
    + """
KERNEL(128) void k(const unsigned char* a, const short* b, _Float16* c, int* counts, int n) {
  __shared__ int histogram[16];
  if (TID < 16) histogram[TID] = 0;
  sync();
  int i = GROUP * 128 + TID;
  int own[8];
  for (int j = 0; j < 8; j++) own[j] = TID * j;
  if (i < n) {
    int v = a[i] + b[i];
    __atomic_fetch_add(&histogram[v & 15], 1, __ATOMIC_RELAXED);
    own[v & 7] += 3;
    c[i] = (_Float16)(own[(v >> 1) & 7] + __builtin_amdgcn_ds_bpermute((TID ^ 1) * 4, TID));
  }
  sync();
  if (TID < 16) __atomic_fetch_add(&counts[TID], histogram[TID], __ATOMIC_RELAXED);
}"""
)


def run_staged(kernel: Kernel, rounds: int = 3, groups: int = 2) -> tuple[np.ndarray, np.ndarray]:
    data = np.arange(groups * rounds * 256, dtype=np.float32)
    out = np.zeros(groups * 256, np.float32)
    kernel.launch(groups, 256, data, out, np.int32(rounds), check=True)
    tiles = data.reshape(groups, rounds, 256)
    return out, (tiles[:, :, ::-1] + np.roll(tiles, -64, axis=2)).sum(axis=1).ravel()


def run_gemm(kernel: Kernel, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(np.float32) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    kernel.launch((m + 31) // 32, 256, a, b, c, np.int32(m), np.int32(n), np.int32(k), check=True)
    return c, a @ b


@pytest.mark.parametrize("arch", ARCHS)
def test_clean_kernels_are_not_reported(arch):
    got, want = run_staged(Kernel.from_hip(STAGED, arch))
    assert np.array_equal(got, want)
    gemm = Kernel.from_hip(GEMM, arch)
    for m, n, k in ((32, 32, 16), (33, 31, 17), (1, 1, 1), (70, 5, 40)):
        got, want = run_gemm(gemm, m, n, k)
        assert np.array_equal(got, want)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("optimize", ["-O3", "-O1"])
def test_clean_mixed_kernel(arch, optimize):
    n = 300
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 256, n).astype(np.uint8), rng.integers(-99, 99, n).astype(np.int16)
    c, counts = np.zeros(n, np.float16), np.zeros(16, np.int32)
    Kernel.from_hip(MIXED, arch, optimize).launch(3, 128, a, b, c, counts, np.int32(n), check=True)
    assert np.array_equal(counts, np.bincount((a.astype(int) + b) & 15, minlength=16))


def mutants(text: str, pattern: str) -> list[tuple[int, str]]:
    """(line, listing without that line) for every line that matches."""
    lines = text.split("\n")
    return [
        (n, "\n".join([*lines[:n], "", *lines[n + 1 :]]))
        for n, line in enumerate(lines)
        if re.match(r"\s+(?:" + pattern + r")\b", line)
    ]


@pytest.mark.parametrize("arch", ARCHS)
def test_every_removed_barrier_is_found(arch):
    text = compile_hip(STAGED, arch)
    pattern = "s_barrier_signal" if arch == "gfx1201" else "s_barrier"
    found = mutants(text, pattern)
    assert len(found) >= 2
    for line, mutant in found:
        if arch == "gfx1201":  # the wait belongs to the signal
            lines = mutant.split("\n")
            wait = next(n for n in range(line, len(lines)) if "s_barrier_wait" in lines[n])
            mutant = "\n".join([*lines[:wait], "", *lines[wait + 1 :]])
        with pytest.raises(
            ExecutorError,
            match=r"LDS race: (read|write) of offset 0x[0-9a-f]+, which wave \d+ (wrote|read) at assembly line \d+",
        ):
            run_staged(Kernel.from_assembly(mutant, arch))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("source", [STAGED, GEMM], ids=["staged", "gemm"])
def test_every_removed_wait_that_matters_is_found(arch, source):
    """A wait may be removed unseen only if another one stands between it and every use: then the numbers stay right."""
    text = compile_hip(source, arch)
    pattern = r"s_wait_(?:load|ds|km|loadcnt_ds|store)cnt" if arch == "gfx1201" else "s_waitcnt|s_waitcnt_vscnt"
    caught = survived = 0
    for _, mutant in mutants(text, pattern):
        kernel = Kernel.from_assembly(mutant, arch)
        report, got, want = "", np.zeros(0), np.zeros(0)
        try:
            got, want = run_staged(kernel) if source is STAGED else run_gemm(kernel, 33, 31, 17)
        except ExecutorError as error:
            report = str(error)
        if report:
            assert re.search("missing wait|LDS race", report), report
            caught += 1
        else:
            assert np.array_equal(got, want)
            survived += 1
    assert caught >= 3
    assert survived <= caught


@pytest.mark.parametrize("arch", ARCHS)
def test_a_wait_that_is_too_weak_is_found(arch):
    """Two loads in flight, a wait that lets one remain, and the second one used."""
    load = "global_load_dword" if arch.startswith("gfx9") else "global_load_b32"
    wait = "s_wait_loadcnt 0x1" if arch == "gfx1201" else "s_waitcnt vmcnt(1)"
    strong = wait.replace("0x1", "0x0").replace("(1)", "(0)")
    memory = np.arange(64, dtype=np.uint32)
    head = f"{load} v20, v1, s[{BUFFER0}:{BUFFER0 + 1}]\n{load} v21, v1, s[{BUFFER0}:{BUFFER0 + 1}]\n"
    use = "v_mov_b32_e32 v22, v{}"
    run_registers(
        arch, head + wait + "\n" + use.format(20) + "\n" + strong, [], ("v22", 1), buffers=[memory], check=True
    )
    run_registers(arch, head + strong + "\n" + use.format(21), [], ("v22", 1), buffers=[memory], check=True)
    with pytest.raises(ExecutorError, match="missing wait: v21 is read before the load of assembly line"):
        run_registers(arch, head + wait + "\n" + use.format(21), [], ("v22", 1), buffers=[memory], check=True)
    with pytest.raises(ExecutorError, match="missing wait: v20 is overwritten before the load"):
        run_registers(arch, head + "v_mov_b32_e32 v20, 0", [], ("v22", 1), buffers=[memory], check=True)


@pytest.mark.parametrize("arch", ARCHS)
def test_loads_of_a_kind_write_in_order(arch):
    """A second load into the same register needs no wait, but a read needs one for both."""
    load = "global_load_dword" if arch.startswith("gfx9") else "global_load_b32"
    read = "ds_read_b32" if arch.startswith("gfx9") else "ds_load_b32"
    weak = "s_wait_loadcnt 0x1" if arch == "gfx1201" else "s_waitcnt vmcnt(1)"
    strong = weak.replace("0x1", "0x0").replace("(1)", "(0)")
    memory = np.arange(64, dtype=np.uint32)
    twice = f"{load} v20, v1, s[{BUFFER0}:{BUFFER0 + 1}]\n" * 2
    use = "\nv_mov_b32_e32 v22, v20"
    run_registers(arch, twice + strong + use, [], ("v22", 1), buffers=[memory], check=True)
    with pytest.raises(ExecutorError, match="missing wait: v20 is read before the load of assembly line"):
        run_registers(arch, twice + weak + use, [], ("v22", 1), buffers=[memory], check=True)
    with pytest.raises(ExecutorError, match="missing wait: v20 is overwritten before the load"):
        run_registers(arch, twice + f"{read} v20, v1\n", [], ("v22", 1), buffers=[memory], check=True)


@pytest.mark.parametrize("arch", ARCHS)
def test_scalar_loads_return_in_any_order(arch):
    suffix = "dword" if arch.startswith("gfx9") else "b32"
    weak = "s_wait_kmcnt 0x1" if arch == "gfx1201" else "s_waitcnt lgkmcnt(1)"
    load = (
        f"s_load_{suffix} s60, s[{BUFFER0}:{BUFFER0 + 1}], 0x0\ns_load_{suffix} s61, s[{BUFFER0}:{BUFFER0 + 1}], 0x4\n"
    )
    with pytest.raises(ExecutorError, match="missing wait: s60 is read before the load"):
        run_registers(
            arch, load + weak + "\nv_mov_b32_e32 v20, s60", [], ("v20", 1), buffers=[np.zeros(4, np.uint32)], check=True
        )


#: Instructions of one lane group, and whether its last one decides something by an undefined register.
UNDEFINED = [
    (
        "v_mov_b32_e32 v30, v50\nv_add_u32_e32 v30, v30, v1",
        "v30",
        "stored data depends on v30, which was never written",
    ),
    ("v_lshlrev_b32_e32 v30, 16, v50\nv_and_b32_e32 v30, 0xffff, v30", "v30", None),
    ("v_and_b32_e32 v30, 0xff, v50\nv_lshrrev_b32_e32 v30, 8, v30", "v30", None),
    ("v_and_b32_e32 v30, 0xff, v50\nv_lshrrev_b32_e32 v30, 7, v30", "v30", "stored data"),
    ("v_or_b32_e32 v30, -1, v50", "v30", None),
    ("v_xor_b32_e32 v30, v50, v1", "v30", "stored data"),
    ("v_cmp_eq_u32_e32 vcc, v50, v1\nv_cndmask_b32_e32 v30, v1, v0, vcc", "v30", "stored data"),
    ("v_cmp_eq_u32_e32 vcc, v0, v1\nv_cndmask_b32_e32 v30, v1, v50, vcc", "v30", "stored data"),
    (
        "v_cmp_eq_u32_e32 vcc, 0, v0\nv_cndmask_b32_e32 v30, v1, v50, vcc\nv_cndmask_b32_e32 v30, v30, v1, vcc",
        "v30",
        None,
    ),
    ("v_readfirstlane_b32 s60, v50\ns_add_u32 s60, s60, 1\nv_mov_b32_e32 v30, s60", "v30", "stored data"),
    ("s_mov_b32 s60, s90\ns_and_b32 s60, s60, 0\nv_mov_b32_e32 v30, s60", "v30", None),
    ("s_mov_b32 s60, s90\nv_mov_b32_e32 v30, s60", "v30", "stored data"),
    ("v_writelane_b32 v51, s40, 3\nv_readlane_b32 s60, v51, 3\nv_mov_b32_e32 v30, s60", "v30", None),
    ("v_writelane_b32 v51, s40, 3\nv_readlane_b32 s60, v51, 4\nv_mov_b32_e32 v30, s60", "v30", "stored data"),
    (
        "s_cmp_eq_u32 s90, 0\ns_cbranch_scc1 .Lend\n.Lend:\nv_mov_b32_e32 v30, 0",
        "v30",
        "the branch depends on it, through SCC",
    ),
    (
        "v_cmp_eq_u32_e32 vcc, v50, v1\ns_cbranch_vccnz .Lend\n.Lend:\nv_mov_b32_e32 v30, 0",
        "v30",
        "the branch depends on vcc_lo",
    ),
    (
        "s_and_saveexec_b64 s[60:61], s[90:91]\ns_mov_b64 exec, s[60:61]\nv_mov_b32_e32 v30, 0",
        "v30",
        "EXEC, which says what lanes run",
    ),
    ("v_mov_b32_e32 v30, 0\nglobal_store_dword v50, v30, s[40:41]", "v30", "the address depends on v50"),
    ("v_mov_b32_dpp v30, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "v30", None),
    ("v_mov_b32_dpp v30, v50 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "v30", "stored data"),
    ("v_pk_add_f16 v30, v50, v1\nv_lshlrev_b32_e32 v30, 0, v30", "v30", "stored data"),
]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_halves_of_packed_pairs(arch):
    """v50 and v51 are never written; op_sel and op_sel_hi say which half of a pair either half of the result uses."""
    head = "v_mov_b32_e32 v{}, 0\nv_mov_b32_e32 v40, 0\nv_mov_b32_e32 v41, 0\n"
    for name, tail in (("v_pk_fma_f32", ", v[40:41]"), ("v_pk_mul_f32", ""), ("v_pk_add_f32", "")):
        for defined, modifiers, bad in (
            (50, "op_sel_hi:[0,1,1]", ()),
            (51, "op_sel:[1,0,0]", ()),
            (50, "", (31,)),
            (51, "", (30,)),
            (50, "op_sel:[1,0,0]", (30, 31)),
        ):
            if not tail:
                modifiers = modifiers.replace(",1]", "]").replace(",0]", "]")
            body = head.format(defined) + f"{name} v[30:31], v[50:51], v[40:41]{tail} {modifiers}"
            for result in (30, 31):
                if result not in bad:
                    run_registers(arch, body, [], (f"v{result}", 1), check=True)
                    continue
                with pytest.raises(ExecutorError, match=f"uninitialised value: stored data depends on v{result}"):
                    run_registers(arch, body, [], (f"v{result}", 1), check=True)


def port(arch: str, text: str) -> str:
    """gfx9's spelling to the arch's."""
    if arch.startswith("gfx9"):
        return text
    for old, new in (
        ("v_add_u32", "v_add_nc_u32"),
        ("global_store_dword", "global_store_b32"),
        ("vcc\n", "vcc_lo\n"),
        (" vcc,", " vcc_lo,"),
    ):
        text = (text + "\n").replace(old, new).rstrip("\n") if old == "vcc\n" else text.replace(old, new)
    return re.sub(r"s_and_saveexec_b64 s\[60:61\], s\[90:91\]\ns_mov_b64 exec, s\[60:61\]",
                  "s_and_saveexec_b32 s60, s90\ns_mov_b32 exec_lo, s60", text)  # fmt: skip


@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
@pytest.mark.parametrize(("body", "result", "report"), UNDEFINED)
def test_uninitialised_registers(arch, body, result, report):
    """v50, s90 and the like are never written; moving them about is no error, deciding by them is."""
    memory = np.zeros(64, np.uint32)
    body = port(arch, body)
    if report is None:
        run_registers(arch, body, [], (result, 1), buffers=[memory], check=True)
    else:
        with pytest.raises(ExecutorError, match="uninitialised value: .*" + re.escape(report)):
            run_registers(arch, body, [], (result, 1), buffers=[memory], check=True)


@pytest.mark.parametrize("arch", ARCHS)
def test_undefined_lanes_only_matter_where_they_are_used(arch):
    """A register written under a partial EXEC and read under the same, or a larger, one."""
    lanes = wave_size(arch)
    move, exec_ = ("s_mov_b64", "exec") if lanes == 64 else ("s_mov_b32", "exec_lo")
    store = "global_store_dword" if lanes == 64 else "global_store_b32"
    memory = np.zeros(64, np.uint32)
    inside = (
        f"{move} {exec_}, 0xff\nv_mov_b32_e32 v30, 1\n{store} v1, v30, s[{BUFFER0}:{BUFFER0 + 1}]\n{move} {exec_}, -1"
    )
    run_registers(arch, inside, [], ("v1", 1), buffers=[memory], check=True)
    with pytest.raises(ExecutorError, match="lane 8: uninitialised value: stored data depends on v30"):
        run_registers(
            arch,
            inside.replace(f"\n{store}", f"\n{move} {exec_}, 0x1ff\n{store}"),
            [],
            ("v1", 1),
            buffers=[memory],
            check=True,
        )


@pytest.mark.parametrize("arch", ARCHS)
def test_lds_bytes_never_written(arch):
    """Reading them is no error by itself; storing what was read is."""
    gfx9 = arch.startswith("gfx9")
    write, read = ("ds_write_b8", "ds_read_b32") if gfx9 else ("ds_store_b8", "ds_load_b32")
    body = f"{write} v1, v0\n{wait_all(arch)}{read} v30, v1\n{wait_all(arch)}v_and_b32_e32 v31, 0xff, v30"
    run_registers(arch, body, [], ("v31", 1), lds=1024, check=True)
    with pytest.raises(
        ExecutorError, match=r"stored data depends on v30; the undefined bits came from assembly line \d+"
    ):
        run_registers(arch, body, [], ("v30", 1), lds=1024, check=True)


@pytest.mark.parametrize(("arch", "name", "a", "b", "d"), [
    ("gfx1201", "v_wmma_f32_16x16x16_f16", 4, 4, 8),
    ("gfx1201", "v_wmma_i32_16x16x16_iu8", 2, 2, 8),
    ("gfx942", "v_mfma_f32_16x16x16_f16", 2, 2, 4),
    ("gfx942", "v_mfma_i32_16x16x32_i8", 2, 2, 4),
    ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", 2, 2, 4),
])  # fmt: skip
def test_undefined_elements_through_matrix_instructions(arch, name, a, b, d):
    """One undefined row of A makes one row of D undefined, and no other."""
    lanes = wave_size(arch)
    move, exec_ = ("s_mov_b64", "exec") if lanes == 64 else ("s_mov_b32", "exec_lo")
    row3 = sum(1 << lane for lane in range(lanes) if lane % 16 == 3)
    full = (1 << lanes) - 1
    fill = "\n".join(f"v_mov_b32_e32 v{32 + n}, 0" for n in range(b)) + "\n"
    fill += f"{move} {exec_}, {full & ~row3:#x}\n".replace("0xf7f7f7f7f7f7f7f7", "0xf7f7f7f7")
    if lanes == 64:
        fill = fill.replace("s_mov_b64 exec, ", "s_mov_b32 exec_hi, 0xfff7fff7\ns_mov_b32 exec_lo, 0xfff7fff7 ; ")
    fill += "\n".join(f"v_mov_b32_e32 v{16 + n}, 0" for n in range(a)) + f"\n{move} {exec_}, -1\n"
    # gfx12: row 8 (lane / 16) + r; CDNA: row 4 (lane / 16) + r. Row 3 is register 3 of the first 16 lanes.
    body = fill + f"{name} v[64:{63 + d}], v[16:{15 + a}], v[32:{31 + b}], 0\n"
    run_registers(arch, body, [], ("v64", 3), check=True)
    with pytest.raises(ExecutorError, match="lane 0: uninitialised value: stored data depends on v67"):
        run_registers(arch, body, [], ("v64", 4), check=True)


def test_gfx11_wmma_wants_replicas():
    a = np.random.default_rng(0).integers(0, 1 << 14, (1, 8, 32), dtype=np.uint32)
    a[:, :, 16:] = a[:, :, :16]
    body = "v_wmma_f32_16x16x16_f16 v[64:71], v[16:23], v[16:23], 0"
    run_registers("gfx1100", body, [("v16", a)], ("v64", 8), check=True)
    a[0, 2, 20] ^= 1
    with pytest.raises(
        ExecutorError, match=r"lane 20: operand A of a gfx11 WMMA: lane 20 holds 0x[0-9a-f]+ in v18, but lane 4"
    ):
        run_registers("gfx1100", body, [("v16", a)], ("v64", 8), check=True)


CONFLICT = (
    COMMON
    + """
KERNEL(64) void k(int* a, int* b, int mode) {
  int i = GROUP * 64 + TID;
  if (mode == 0) a[i] = i;                                        // each its own
  if (mode == 1) a[GROUP * 63 + TID] = i;                         // one element of overlap
  if (mode == 2) { a[i] = i; b[i] = a[GROUP ? 0 : 1]; }           // a read of another's
  if (mode == 3) { b[i] = a[64]; if (GROUP == 1) a[i] = 7; }      // a write of what another read
  if (mode == 4) a[TID] = 5;                                      // all the same value
  if (mode == 5) __atomic_fetch_add(&a[TID], 1, __ATOMIC_RELAXED);
  if (mode == 6) ((unsigned char*)a)[GROUP * 2 + (TID & 1)] = 3 + GROUP;  // neighbours in one dword
}"""
)


@pytest.mark.parametrize("arch", ARCHS)
def test_conflicts_between_workgroups(arch):
    kernel = Kernel.from_hip(CONFLICT, arch)
    for mode, report in (
        (0, None),
        (1, r"is written here and also touched by workgroup \(0, 0, 0\)"),
        (2, r"is read here and written by workgroup \(0, 0, 0\)"),
        (3, "is written here and read by several other workgroups"),
        (4, None),
        (5, None),
        (6, None),
    ):
        a, b = np.zeros(256, np.int32), np.zeros(256, np.int32)
        if report is None:
            kernel.launch(2, 64, a, b, np.int32(mode), check=True)
        else:
            with pytest.raises(ExecutorError, match="conflict between workgroups: 0x[0-9a-f]+ " + report):
                kernel.launch(2, 64, a, b, np.int32(mode), check=True)


BARRIER = (
    COMMON
    + """
KERNEL(256) void k(int* out, int limit) {
  __shared__ int s[256];
  s[TID] = TID;
  if (__builtin_amdgcn_readfirstlane(TID) >= limit) return;
  sync();
  out[TID] = s[TID];
}"""
)


@pytest.mark.parametrize("arch", ARCHS)
def test_barrier_reached_by_part_of_the_workgroup(arch):
    kernel = Kernel.from_hip(BARRIER, arch)
    out = np.zeros(256, np.int32)
    kernel.launch(1, 256, out, np.int32(256), check=True)
    with pytest.raises(ExecutorError, match="a barrier that only part of the workgroup reaches"):
        kernel.launch(1, 256, out, np.int32(64), check=True)


@pytest.mark.parametrize("arch", ARCHS)
def test_misaligned_lds_access(arch):
    write = "ds_write_b64" if arch.startswith("gfx9") else "ds_store_b64"
    body = f"v_add_u32_e32 v10, 4, v1\n{write} v10, v[20:21]".replace(
        "v_add_u32", "v_add_u32" if arch.startswith("gfx9") else "v_add_nc_u32"
    )
    with pytest.raises(ExecutorError, match="misaligned LDS access: 8 bytes at offset 0x4"):
        run_registers(arch, body, [("v20", np.zeros((2, wave_size(arch))))], ("v1", 1), lds=1024, check=True)


@pytest.mark.parametrize("arch", ARCHS)
def test_nothing_active(arch):
    lanes = wave_size(arch)
    move, exec_ = ("s_mov_b64", "exec") if lanes == 64 else ("s_mov_b32", "exec_lo")
    body = f"{move} {exec_}, {{}}\nv_readfirstlane_b32 s60, v1\n{move} {exec_}, -1"
    run_registers(arch, body.format(2), [], ("v1", 1), check=True)
    with pytest.raises(ExecutorError, match="EXEC is 0: v_readfirstlane_b32 has no lane to read"):
        run_registers(arch, body.format(0), [], ("v1", 1), check=True)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_direct_load_read_before_its_wait(arch):
    memory = np.arange(64, dtype=np.uint32)
    load = f"s_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dword v1, s[{BUFFER0}:{BUFFER0 + 1}]\n"
    body = load + "{}ds_read_b32 v30, v1\ns_waitcnt lgkmcnt(0)"
    got = run_registers(
        arch, body.format("s_waitcnt vmcnt(0)\n"), [], ("v30", 1), buffers=[memory], lds=256, check=True
    )
    assert np.array_equal(got[0, 0], memory)
    with pytest.raises(ExecutorError, match="while this wave's load to LDS into it is in flight"):
        run_registers(arch, body.format(""), [], ("v30", 1), buffers=[memory], lds=256, check=True)


def test_a_report_says_where():
    text = compile_hip(STAGED, "gfx1201")
    mutant = "\n".join("" if "s_barrier" in line else line for line in text.split("\n"))
    with pytest.raises(ExecutorError) as caught:
        run_staged(Kernel.from_assembly(mutant, "gfx1201"))
    report = str(caught.value)
    for piece in ("kernel k", "assembly line", "workgroup (0, 0, 0)", "wave ", "lane "):
        assert piece in report


UNALIGNED = (
    COMMON
    + """
typedef int i2 __attribute__((ext_vector_type(2), aligned(1)));
KERNEL(64) void k(const char* in, int* out) {
  const i2 x = *(const i2*)(in + 8 * TID + 2);
  out[TID] = x[0] + x[1];
}"""
)


@pytest.mark.parametrize("arch", ARCHS)
def test_vector_memory_may_be_unaligned(arch):
    """ROCm sets the mode for it, and clang joins loads and stores on the strength of that."""
    data, out = np.arange(64 * 8 + 8, dtype=np.uint8), np.zeros(64, np.int32)
    Kernel.from_hip(UNALIGNED, arch).launch(1, 64, data, out, check=True)
    np.testing.assert_array_equal(out, data[2:514].view(np.int32).reshape(64, 2).sum(1, dtype=np.int32))


@pytest.mark.parametrize("arch", ARCHS)
def test_misaligned_scalar_load(arch):
    load = "s_load_dword" if arch.startswith("gfx9") else "s_load_b32"
    wait = "s_wait_kmcnt 0x0" if arch == "gfx1201" else "s_waitcnt lgkmcnt(0)"
    body = f"s_add_u32 s{BUFFER0}, s{BUFFER0}, 2\n{load} s60, s[{BUFFER0}:{BUFFER0 + 1}], 0x0\n{wait}"
    with pytest.raises(ExecutorError, match="misaligned scalar load"):
        run_registers(arch, body, [], ("v1", 1), buffers=[np.zeros(64, np.uint32)], check=True)
