"""profile() and --profile: what they give for programs under CuPy; and the steps of AMD's tutorial "Optimizing GEMM in
HIP", whose counters have to move as its tables "What to observe" say."""

from __future__ import annotations

import csv
import threading

import numpy as np
import pytest

import cupygemm.emulator
from cupygemm.emulator.profiling import COLUMNS, Dispatch, Profile, table

from .emulated import run

cupy = pytest.importorskip("cupy")

TWO_KERNELS = r"""
extern "C" __global__ void fill(int* p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
extern "C" __global__ __launch_bounds__(128) void reverse(int* p) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""


def test_dispatches_of_one_profile(device) -> None:
    module = cupy.RawModule(code=TWO_KERNELS)
    x = cupy.empty(512, "i")
    fill, reverse = module.get_function("fill"), module.get_function("reverse")
    fill((2,), (256,), (x,))
    with cupygemm.emulator.profile() as profiled:
        assert profiled.dispatches == ()
        fill((2,), (256,), (x,))
        (seen,) = profiled.dispatches
        reverse((1,), (128,), (x,), shared_mem=512)
    fill((2,), (256,), (x,))
    first, second = profiled.dispatches
    assert seen == first
    assert second.number == first.number + 1
    assert (first.kernel, first.device, first.grid, first.block) == ("fill", device.id, (2, 1, 1), (256, 1, 1))
    assert (first.grid_size, first.workgroup_size, first.lds_bytes, first.scratch_bytes) == (512, 256, 0, 0)
    assert (first.waves, first.vmem_write) == (512 // first.target.wave_size,) * 2
    assert (first.bytes_written, first.lines_written, first.vmem_read, first.lds) == (2048, 16, 0, 0)
    waves = 128 // second.target.wave_size
    assert (second.lds_bytes, second.lds, second.barrier) == (512, 2 * waves, waves)
    assert second.lds_conflicts == 0
    with pytest.raises(RuntimeError, match="once"):
        profiled.__enter__()


def test_accumulation_registers() -> None:
    """40 and 60: CuPy shows their sum, the profile both, in fours and in what is left of a total in eights."""
    code = r"""
        import cupy, cupygemm.emulator
        kernel = cupy.RawKernel(
            'extern "C" __global__ void k(int* a) { asm volatile("" ::: "v39", "a59"); a[0] = 1; }', "k")
        with cupygemm.emulator.profile() as profiled:
            kernel((1,), (64,), (cupy.zeros(1, "i"),))
        print(kernel.num_regs, profiled.dispatches[0].vgprs, profiled.dispatches[0].agprs)
    """
    assert run(code, "gfx942").split() == ["100", "40", "64"]


def test_profiles_nest_and_threads_share_the_log() -> None:
    device_count = cupy.cuda.runtime.getDeviceCount()

    def work(n: int) -> None:
        with cupy.cuda.Device(n % device_count):
            x = cupy.empty(64, "i")
            fill = cupy.RawModule(code=TWO_KERNELS).get_function("fill")
            for _ in range(n + 1):
                fill((1,), (64,), (x,))

    with cupygemm.emulator.profile() as outer:
        work(0)
        with cupygemm.emulator.profile() as inner:
            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        work(0)
    assert len(inner.dispatches) == 1 + 2 + 3 + 4
    assert outer.dispatches[1:-1] == inner.dispatches
    by_device = [sum(d.device == n for d in inner.dispatches) for n in range(device_count)]
    assert by_device == [sum(n + 1 for n in range(4) if n % device_count == k) for k in range(device_count)]


def test_a_launch_that_fails_is_not_a_dispatch() -> None:
    code = """
        import cupy, cupygemm.emulator
        fill = cupy.RawKernel('extern "C" __global__ void fill(int* p) { p[threadIdx.x] = 1; }', "fill")
        x = cupy.empty(8, "i")
        with cupygemm.emulator.profile() as profiled:
            try:
                fill((1,), (1024,), (x[4:],))
            except cupy.cuda.driver.CUDADriverError:
                print("failed")
            fill((1,), (8,), (x,))
        print(len(profiled.dispatches), profiled.dispatches[0].grid_size)
    """
    assert run(code, options=["--check"]).split() == ["failed", "1", "8"]


def test_the_command_line_writes_csv_and_a_table(tmp_path) -> None:
    code = f"""
        import cupy
        module = cupy.RawModule(code={TWO_KERNELS!r})
        for n in range(2):
            with cupy.cuda.Device(n):
                x = cupy.empty(512, "i")
                module = cupy.RawModule(code={TWO_KERNELS!r})
                module.get_function("fill")((2,), (256,), (x,))
                module.get_function("reverse")((1,), (128,), (x,), shared_mem=512)
        raise SystemExit(0)
    """
    run(code, "gfx1201,gfx942", ["--profile", str(tmp_path / "counters.csv")])
    with open(tmp_path / "counters.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    assert [(r["Kernel_Name"], r["Agent_Id"], r["Arch"]) for r in rows] == [
        ("fill", "0", "gfx1201"),
        ("reverse", "0", "gfx1201"),
        ("fill", "1", "gfx942"),
        ("reverse", "1", "gfx942"),
    ]
    assert [r["SQ_WAVES"] for r in rows] == ["16", "4", "8", "2"]
    assert [r["LDS_Block_Size"] for r in rows] == ["0", "512", "0", "512"]
    assert [r["SGPR_Count"] for r in rows[:2]] == ["128", "128"]


def test_the_table_adds_up_launches_of_one_shape() -> None:
    x = cupy.empty(512, "i")
    fill = cupy.RawModule(code=TWO_KERNELS).get_function("fill")
    with cupygemm.emulator.profile() as profiled:
        for _ in range(3):
            fill((2,), (256,), (x,))
        fill((1,), (256,), (x,))
    head, first, second = table(profiled.dispatches).splitlines()
    assert head.split()[:4] == ["kernel", "arch", "calls", "waves"]
    wave = profiled.dispatches[0].target.wave_size
    assert first.split()[2:4] == ["3", str(3 * 512 // wave)]
    assert second.split()[2:4] == ["1", str(256 // wave)]
    assert table(profiled.dispatches, rows=1).splitlines()[-1] == "... and 1 more"


# ---- The tutorial's steps -------------------------------------------------------------------------------------------

SIZE = 128
_measured: dict[str, dict[str, Dispatch]] = {}


def measured() -> dict[str, Dispatch]:
    """The current device's dispatch of every step that its arch has, by the step's name; all compute A B."""
    from cupygemm import chosen, ladder
    from cupygemm.plan import current_device

    ordinal = cupy.cuda.runtime.getDevice()
    arch = current_device(ordinal).arch
    if arch.name in _measured:
        return _measured[arch.name]
    rng = np.random.default_rng(3)
    a, b = (cupy.asarray(rng.integers(-3, 4, (SIZE, SIZE)).astype("f")) for _ in range(2))
    c, expected = cupy.empty((SIZE, SIZE), "f"), a.get() @ b.get()
    found = {}

    def keep(name: str, profiled: Profile) -> None:
        (found[name],) = profiled.dispatches
        np.testing.assert_array_equal(c.get(), expected)
        c.fill(np.nan)

    for step in ladder.steps("fp32", arch.wave):
        if step.infeasible(arch):
            continue
        decision = step.decision(chosen.matrix_problem(a, b, c, step.types))
        with cupygemm.emulator.profile() as profiled:
            chosen.run(decision, a, b, c)
        keep(step.name, profiled)
    _measured[arch.name] = found
    return found


def test_lds_tiles(device) -> None:
    """Reads of cache lines fall; bank conflicts stay near zero."""
    before, after = (measured()[n] for n in ("fp32-1", "fp32-2"))
    assert after.lines_read < before.lines_read / 8
    assert after.vmem_read < before.vmem_read / 8
    assert before.lds == 0 < after.lds
    assert after.lds_bank_conflict < 10


def test_register_tiles(device) -> None:
    """VALU instructions a wave rise, LDS instructions fall."""
    before, after = (measured()[n] for n in ("fp32-2", "fp32-3"))
    assert after.valu / after.waves > 1.5 * before.valu / before.waves
    assert after.lds < 0.75 * before.lds
    assert after.lds_cycles < before.lds_cycles
    assert after.flops == pytest.approx(before.flops, rel=0.01)


def test_double_buffering(device) -> None:
    """The same reads, twice the LDS, fewer barriers."""
    before, after = (measured()[n] for n in ("fp32-3", "fp32-4"))
    assert after.lines_read == pytest.approx(before.lines_read, rel=0.05)
    assert after.lds_bytes == 2 * before.lds_bytes
    assert after.barrier < before.barrier


def test_wide_loads(device) -> None:
    """A quarter of the read instructions for the same cache lines."""
    before, after = (measured()[n] for n in ("fp32-4", "fp32-5"))
    assert after.vmem_read == before.vmem_read / 4
    assert after.lines_read == pytest.approx(before.lines_read, rel=0.05)
    assert after.bytes_read == before.bytes_read
    assert after.lds < before.lds


def test_two_waves_a_simd(device) -> None:
    """Registers fall to what leaves room for two waves, where there was none."""
    before, after = (measured()[n] for n in ("fp32-5", "fp32-6"))
    assert after.waves_per_simd >= 2
    assert after.vgprs + after.agprs <= before.vgprs + before.agprs
    if before.waves_per_simd < 2:
        assert after.vgprs + after.agprs < before.vgprs + before.agprs


def test_straight_to_lds(device) -> None:
    """No VGPR and no LDS instruction of its own for what is staged; the LDS is the same."""
    if device.id not in [n for n, arch in enumerate(cupygemm.emulator.active_archs()) if arch in ("gfx942", "gfx950")]:
        pytest.skip("no loads straight to LDS")
    before, after = (measured()[n] for n in ("fp32-4", "fp32-7"))
    assert after.vgprs + after.agprs < before.vgprs + before.agprs
    assert after.lds < before.lds
    assert after.vmem_read == before.vmem_read
    assert after.lds_bytes == before.lds_bytes
