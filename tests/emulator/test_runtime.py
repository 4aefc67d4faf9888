"""The stand-in HIP runtime under unmodified CuPy: devices, memory, streams, graphs, modules, launch limits, errors."""

import subprocess
import sys
import textwrap

import pytest

from tests.emulator.emulated import environment, run, start

KERNELS = '''
SOURCE = r"""
extern "C" __global__ __launch_bounds__(64) void add_one(int* p) { p[blockIdx.x * 64 + threadIdx.x] += 1; }
extern "C" __global__ void past_the_end(int* p, int n) { p[n + threadIdx.x] = 1; }
extern "C" __global__ void shape(unsigned* p) {
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    p[0] = gridDim.x, p[1] = gridDim.y, p[2] = gridDim.z, p[3] = blockDim.x, p[4] = blockDim.y, p[5] = blockDim.z;
  }
}
extern "C" __global__ void mixed(char a, double b, short c, long long* out, float d) {
  if (threadIdx.x == 0) { out[0] = a; out[1] = __double_as_longlong(b); out[2] = c; out[3] = __float_as_int(d); }
}
extern "C" __global__ void dynamic(int* p) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[63 - threadIdx.x];
}
__constant__ int table[4] = {10, 20, 30, 40};
__device__ int counter = 5;
extern "C" __global__ void globals(int* p) { if (threadIdx.x == 0) { p[0] = table[3] + counter; counter = 77; } }
"""
import cupy, numpy as np
rt = cupy.cuda.runtime
module = cupy.RawModule(code=SOURCE)
'''


def program(text, archs="gfx1201", **more):
    """Runs ``text`` after the kernels above have been compiled."""
    return run(KERNELS + textwrap.dedent(text), archs, **more)


def test_properties_of_several_devices():
    out = run(
        """
        import cupy
        for i in range(cupy.cuda.runtime.getDeviceCount()):
            p = cupy.cuda.runtime.getDeviceProperties(i)
            print(p["gcnArchName"].decode(), p["warpSize"], p["sharedMemPerBlock"], p["major"], p["minor"],
                  p["multiProcessorCount"], p["totalGlobalMem"] >> 30, cupy.cuda.Device(i).compute_capability,
                  p["maxThreadsPerBlock"], p["regsPerBlock"], p["maxSharedMemoryPerMultiProcessor"],
                  p["canMapHostMemory"], p["clockRate"])
    """,
        "gfx1201,gfx942,gfx950,gfx1100",
    )
    assert out.splitlines() == [
        "gfx1201 32 65536 12 0 32 16 120 1024 65536 65536 1 2970000",
        "gfx942:sramecc+:xnack- 64 65536 9 4 304 192 94 1024 65536 65536 1 2100000",
        "gfx950:sramecc+:xnack- 64 163840 9 5 256 288 95 1024 65536 163840 1 2400000",
        "gfx1100 32 65536 11 0 48 24 110 1024 65536 65536 1 2500000",
    ]


def test_each_device_runs_code_of_its_own_arch_and_reads_its_peers():
    program(
        """
        rt = cupy.cuda.runtime
        assert rt.deviceCanAccessPeer(0, 1) and not rt.deviceCanAccessPeer(1, 1)
        kernel = module.get_function("add_one")
        arrays = []
        for device in (0, 1):
            with cupy.cuda.Device(device):
                x = cupy.asarray(np.arange(128, dtype="i"))
                cupy.RawModule(code=SOURCE).get_function("add_one")((2,), (64,), (x,))
                arrays.append(x)
        for x in arrays:
            np.testing.assert_array_equal(x.get(), np.arange(128) + 1)
        with cupy.cuda.Device(1):
            y = cupy.asarray(arrays[0])
            assert y.device.id == 1 and y.data.ptr != arrays[0].data.ptr
            np.testing.assert_array_equal(y.get(), np.arange(128) + 1)
    """,
        "gfx1201,gfx942",
    )


def test_memory_is_accounted_for_and_limited():
    program("""
        cupy.cuda.set_allocator(None)
        free, total = rt.memGetInfo()
        assert total == 16 << 30
        x = cupy.empty(1 << 30, "b")
        assert rt.memGetInfo() == (free - (1 << 30), total)
        del x
        assert rt.memGetInfo() == (free, total)
        sparse = cupy.empty(12 << 30, "b")          # address space, not memory
        sparse[-1:].set(np.array([7], "b"))
        assert sparse[-1:].get() == 7
        try:
            cupy.empty(5 << 30, "b")
        except (cupy.cuda.memory.OutOfMemoryError, rt.CUDARuntimeError) as error:
            assert "emory" in str(error)
        else:
            raise SystemExit("16 GiB hold 17")
        del sparse
        cupy.empty(5 << 30, "b")
    """)


def test_kinds_of_memory_and_their_attributes():
    program("""
        import ctypes
        device, pinned, plain = cupy.zeros(8), cupy.cuda.alloc_pinned_memory(64), np.zeros(8)
        managed = cupy.cuda.malloc_managed(64)
        # Asked of the library: CuPy takes HIP's type numbers for those of ROCm 5.
        hip, words = ctypes.CDLL("libamdhip64.so.7"), (ctypes.c_int * 8)()
        for pointer, kind in ((device.data.ptr, 2), (pinned.ptr, 1), (managed.ptr, 3), (plain.ctypes.data, 0)):
            assert hip.hipPointerGetAttributes(words, ctypes.c_void_p(pointer + 8)) == 0
            assert (words[0], words[1]) == (kind, 0 if kind else -2)
        view = np.frombuffer(pinned, "d", 8)
        view[:] = np.arange(8)
        device.set(view)
        np.testing.assert_array_equal(device.get(), np.arange(8))
        kernel = module.get_function("add_one")
        m = cupy.ndarray(16, "i", managed)
        m[...] = 4
        kernel((1,), (16,), (m,))
        assert (m.get() == 5).all()
        device.data.memset(0, 64)
        assert not device.get().any()
        other = cupy.empty(8)
        other.data.copy_from_device(cupy.arange(8.0).data, 64)
        np.testing.assert_array_equal(other.get(), np.arange(8))
        try:
            rt.memcpy(device.data.ptr, plain.ctypes.data, 1 << 20, 1)
        except rt.CUDARuntimeError as error:
            assert "its allocation" in str(error), error
        else:
            raise SystemExit("a copy ran past the allocation")
    """)


def test_streams_and_events():
    program("""
        stream, other = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream()
        first, last, calls = cupy.cuda.Event(), cupy.cuda.Event(), []
        kernel = module.get_function("add_one")
        with stream:
            first.record()
            x = cupy.zeros(64, "i")
            kernel((1,), (64,), (x,))
            last.record()
            stream.launch_host_func(lambda arg: calls.append(arg), 1)
            stream.add_callback(lambda s, error, arg: calls.append(arg), 2)
        other.wait_event(last)
        with other:
            kernel((1,), (64,), (x,))
        other.synchronize()
        stream.synchronize()
        assert stream.done and other.done and last.done
        assert (x.get() == 2).all() and calls == [1, 2]
        assert cupy.cuda.get_elapsed_time(first, last) >= 0
    """)


@pytest.mark.parametrize("seed", range(3))
def test_deferred_streams_keep_the_order_that_was_asked_for_and_no_other(seed):
    out = program(
        """
        kernel = module.get_function("add_one")
        wrong = 0
        for trial in range(12):
            producer, consumer = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
            x, y = cupy.asarray(np.zeros(64, "i")), cupy.asarray(np.zeros(64, "i"))
            event = cupy.cuda.Event()
            with producer:
                kernel((1,), (64,), (x,))
                event.record()
            with consumer:
                if trial % 2:
                    consumer.wait_event(event)
                y.data.copy_from_device_async(x.data, 256)
            cupy.cuda.Device().synchronize()
            result = y.get()
            assert (x.get() == 1).all()
            if trial % 2:
                assert (result == 1).all()
            else:
                wrong += int((result == 0).all())
        print(wrong)
    """,
        options=["--defer", "--seed", str(seed)],
    )
    assert 0 < int(out) <= 6


def test_graphs_replay_kernels_copies_and_fills():
    program("""
        kernel = module.get_function("add_one")
        x, y = cupy.asarray(np.zeros(64, "i")), cupy.asarray(np.zeros(64, "i"))
        stream, side = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
        event = cupy.cuda.Event(disable_timing=True)
        with stream:
            stream.begin_capture()
            assert stream.is_capturing()
            kernel((1,), (64,), (x,))
            event.record()
            side.wait_event(event)
            with side:
                y.data.copy_from_device_async(x.data, 256)
                done = cupy.cuda.Event(disable_timing=True)
                done.record()
            stream.wait_event(done)
            kernel((1,), (64,), (x,))
            graph = stream.end_capture()
        assert not stream.is_capturing() and not side.is_capturing()
        assert not x.get().any()
        for round in range(3):
            graph.launch(stream)
        stream.synchronize()
        assert (x.get() == 6).all() and (y.get() == 5).all()
    """)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx90a", "gfx942", "gfx950"])
def test_launch_arguments_and_shape(arch):
    program(
        """
        p = cupy.asarray(np.zeros(8, "I"))
        module.get_function("shape")((5, 3, 2), (8, 4, 2), (p,))
        assert p.get()[:6].tolist() == [5, 3, 2, 8, 4, 2]
        out = cupy.asarray(np.zeros(4, "q"))
        module.get_function("mixed")((1,), (64,), (np.int8(-5), np.float64(2.5), np.int16(-300), out, np.float32(1.5)))
        a, b, c, d = out.get()
        assert (a, c) == (-5, -300) and np.int64(b).view("d") == 2.5 and np.int32(d).view("f") == 1.5
        x = cupy.asarray(np.arange(64, dtype="i"))
        module.get_function("dynamic")((1,), (64,), (x,), shared_mem=256)
        assert x.get().tolist() == list(range(64))[::-1]
    """,
        arch,
    )


def test_device_variables():
    program("""
        p = cupy.asarray(np.zeros(1, "i"))
        kernel = module.get_function("globals")
        kernel((1,), (64,), (p,))
        assert p.get() == 45
        counter = cupy.ndarray(1, "i", module.get_global("counter"))
        assert counter.get() == 77
        counter.set(np.array([2], "i"))
        table = cupy.ndarray(4, "i", module.get_global("table"))
        table.set(np.array([1, 1, 1, 100], "i"))
        kernel((1,), (64,), (p,))
        assert p.get() == 102
        try:
            module.get_global("absent")
        except cupy.cuda.driver.CUDADriverError as error:
            assert "absent" in str(error)
        else:
            raise SystemExit("found a variable that is not there")
    """)


def test_function_attributes():
    program("""
        f = module.get_function("add_one")
        assert f.max_threads_per_block == 64 and f.local_size_bytes == 0 and 0 < f.num_regs < 64
        assert f.shared_size_bytes == 0
    """)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ('module.get_function("shape")((1,), (1025,), (x,))', "at most 1024"),
        ('module.get_function("shape")((1,), (32, 33), (x,))', "at most 1024"),
        ('module.get_function("add_one")((1,), (65,), (x,))', "larger than its launch bounds (64)"),
        ('module.get_function("shape")((1, 65536), (1,), (x,))', "at most 65535 workgroups"),
        ('module.get_function("shape")((1, 1, 65536), (1,), (x,))', "at most 65535 workgroups"),
        ('module.get_function("shape")((1 << 31,), (1,), (x,))', "at most 2147483647 workgroups"),
        ('module.get_function("shape")((1 << 22,), (1024,), (x,))', "2^32 or more work-items"),
        ('module.get_function("dynamic")((1,), (64,), (x,), shared_mem=65537)', "more than the 65536 of gfx1201"),
    ],
)
def test_launch_limits(launch, message):
    out = program(f"""
        x = cupy.asarray(np.zeros(4096, "I"))
        try:
            {launch}
        except cupy.cuda.driver.CUDADriverError as error:
            print(error)
    """)
    assert message in out


def test_an_access_outside_every_allocation_raises_and_names_the_place():
    out = program("""
        cupy.cuda.set_allocator(None)
        x = cupy.asarray(np.zeros(64, "i"))
        try:
            module.get_function("past_the_end")((1,), (64,), (x, np.int32(40)))
        except cupy.cuda.driver.CUDADriverError as error:
            print(error)
    """)
    assert "hipErrorLaunchFailure" in out
    assert "past_the_end" in out
    assert "store" in out
    assert "lane" in out


def test_compile_errors_carry_clangs_message():
    run("""
        import cupy
        for options, code, message in (((), "__global__ void k( {", "error: expected"),
                                       (("--no-such-option",), "__global__ void k() {}", "--no-such-option")):
            try:
                cupy.RawModule(code=code, options=options).compile()
            except cupy.cuda.compiler.CompileException as error:
                assert message in str(error), error
            else:
                raise SystemExit("compiled")
    """)


def test_name_expressions_through_cupy():
    run("""
        import cupy, numpy as np
        code = "template<class T> __global__ void twice(T* x) { x[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }"
        names = {"twice<int>": "i", "twice<long long>": "q"}
        module = cupy.RawModule(code=code, options=("--std=c++17",), name_expressions=list(names))
        for name, dtype in names.items():
            x = cupy.asarray(np.arange(64, dtype=dtype))
            module.get_function(name)((1,), (64,), (x,))
            assert x.get().tolist() == list(range(0, 128, 2))
    """)


def test_a_code_object_for_another_arch_or_without_listing_is_refused(tmp_path):
    out = program(f"""
        from cupygemm.emulator import compiler
        made = compiler.compile_hip(SOURCE, "gfx942").code
        (open(r"{tmp_path}/other.hsaco", "wb")).write(made)
        own = compiler.compile_hip(SOURCE, "gfx1201").code
        hidden = own.replace(b".emulator_listing", b".something_else__")
        (open(r"{tmp_path}/hidden.hsaco", "wb")).write(hidden)
        (open(r"{tmp_path}/good.hsaco", "wb")).write(own)
        (open(r"{tmp_path}/text.hsaco", "wb")).write(b"no code object at all")
        (open(r"{tmp_path}/short.hsaco", "wb")).write(own[:3000])
        for name in ("other", "hidden", "text", "short"):
            try:
                cupy.RawModule(path=r"{tmp_path}/" + name + ".hsaco").get_function("add_one")
            except cupy.cuda.driver.CUDADriverError as error:
                print(str(error).replace(chr(10), " "))
        x = cupy.asarray(np.zeros(64, "i"))
        cupy.RawModule(path=r"{tmp_path}/good.hsaco").get_function("add_one")((1,), (64,), (x,))
        assert (x.get() == 1).all()
    """)
    other, hidden, text, short = out.splitlines()
    assert "hipErrorNoBinaryForGpu" in other
    assert "gfx942" in other
    assert "gfx1201" in other
    assert "no assembly listing" in hidden
    assert "not a code object" in text
    assert "not a code object" in short


def test_precompiled_kernels_and_absent_libraries_fail_clearly():
    out = run("""
        import cupy, cupy.cuda.thrust
        for call in (lambda: cupy.random.default_rng(0).random(5).get(), lambda: cupy.random.rand(3),
                     lambda: cupy.fft.fft(cupy.zeros(8)), lambda: cupy.sort(cupy.zeros(5000)).get(),
                     lambda: cupy.linalg.svd(cupy.zeros((3, 3)))):
            try:
                print("returned", call())
            except Exception as error:
                print(type(error).__name__, str(error).replace(chr(10), " "))
    """)
    lines = out.splitlines()
    assert len(lines) == 5
    assert not any(line.startswith("returned") for line in lines), out
    assert "precompiled" in lines[0]


def test_the_disk_cache_serves_a_second_process(tmp_path):
    code = """
        import cupy, numpy as np
        from cupygemm import emulator
        x = cupy.asarray(np.arange(5)) + 1
        kernel = cupy.RawKernel('extern "C" __global__ void k(int* p) { p[threadIdx.x] = 3; }', "k")
        kernel((1,), (4,), (cupy.zeros(4, "i"),))
        assert x.get().tolist() == [1, 2, 3, 4, 5]
        print(emulator.compilations())
    """
    log = tmp_path / "log"
    env = {"CUPY_CACHE_DIR": str(tmp_path / "kernels"), "CUPYGEMM_EMULATOR_COMPILE_LOG": str(log)}
    first = int(run(code, env=env))
    lines = log.read_text().splitlines()
    assert first >= 2
    assert len(lines) == first
    assert int(run(code, env=env)) == 0
    assert log.read_text().splitlines() == lines
    assert int(run(code, "gfx1200", env=env)) == first  # the same compute capability, another arch


def test_activation_is_once_and_before_cupy():
    process = start("""
        from cupygemm import emulator
        assert emulator.active_archs() == ("gfx1201",)
        emulator.activate("gfx1201")
        for archs, kind in ((("gfx942",), RuntimeError), (("gfx000",), ValueError)):
            try:
                emulator.activate(*archs)
            except kind as error:
                print(error)
    """)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "active already" in out
    assert "cannot emulate 'gfx000'" in out


def test_importing_cupy_first_is_refused():
    code = "import sys, types; sys.modules['cupy'] = types.ModuleType('cupy')\n"
    code += "import cupygemm.emulator as e\ne.activate('gfx1201')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False)
    assert "RuntimeError: cupy is imported already" in done.stderr


def test_the_command_line_runs_scripts_modules_and_code(tmp_path):
    (tmp_path / "helper.py").write_text("VALUE = 3\n")
    (tmp_path / "script.py").write_text(
        "import sys, helper, cupygemm.emulator as e\nprint(__name__, sys.argv[1:], helper.VALUE, e.active_archs())\n"
    )
    for words in (["script.py", "--check", "b"], ["-m", "script", "--check", "b"]):
        command = [sys.executable, "-m", "cupygemm.emulator", "--arch", "gfx1100,gfx950", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=tmp_path, check=False)
        assert done.stdout == "__main__ ['--check', 'b'] 3 ('gfx1100', 'gfx950')\n", done.stderr
    assert run("import sys; print(sys.argv, __name__)") == "['-c'] __main__\n"
    done = subprocess.run(
        [sys.executable, "-m", "cupygemm.emulator", "--arch", "gfx1", "x.py"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 2
    assert "cannot emulate 'gfx1'" in done.stderr


def test_under_check_every_array_is_an_allocation_of_its_own():
    run(
        """
        import cupy
        x, y = cupy.empty(1, "b"), cupy.empty(1, "b")
        assert abs(x.data.ptr - y.data.ptr) >= 4096
        assert x.get().view("B") == 0xFF
    """,
        options=["--check"],
    )


def test_a_variable_behind_the_global_offset_table():
    run(
        """
        import cupy
        module = cupy.RawModule(code=r'''
        extern "C" {
        __attribute__((visibility("default"))) __device__ int first = 5;
        __attribute__((weak)) __device__ int second = 6;
        __global__ void k(int* p) { p[0] = first; p[1] = second; first = 9; }
        }''')
        x = cupy.zeros(2, "i")
        module.get_function("k")((1,), (1,), (x,))
        assert x.tolist() == [5, 6]
        module.get_function("k")((1,), (1,), (x,))
        assert x.tolist() == [9, 6]
    """,
        "gfx942",
    )


def test_a_report_names_the_source_line():
    out = run(
        r"""
        import cupy
        kernel = cupy.RawKernel(
            'extern "C" __global__ void k(int* p, int n) {\n  int x = n;\n  p[n + threadIdx.x] = x;\n}', "k",
            options=("-gline-tables-only",))
        try:
            kernel((1,), (64,), (cupy.zeros(4, "i"), cupy.int32(1 << 20)))
        except cupy.cuda.driver.CUDADriverError as error:
            print(error)
    """,
        "gfx1201",
    )
    assert "out-of-bounds global store" in out
    assert ":3)\n" in out.split("workgroup")[0]
