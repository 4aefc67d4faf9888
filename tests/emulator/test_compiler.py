"""hiprtc's work: code objects, their listings, options, errors, names, and reproducibility."""

import re
import subprocess

import pytest

from cupygemm.emulator import build, codeobject, compiler, elf

ARCHS = [
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1103",
    "gfx1150",
    "gfx1151",
    "gfx1152",
    "gfx1153",
    "gfx1200",
    "gfx1201",
]

SAXPY = """
__constant__ float factors[4] = {1, 2, 3, 4};
extern "C" __global__ __launch_bounds__(128) void saxpy(float* y, const float* x, float a, int n) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] += a * tile[threadIdx.x ^ 1] * factors[i & 3];
}
"""


def text_section(code):
    file = elf.Elf(code)
    return file.content(file.section(".text"))


@pytest.mark.parametrize("arch", ARCHS)
def test_every_target_compiles_and_is_described(arch):
    result = compiler.compile_hip(SAXPY, arch)
    assert result.ok, result.log
    code = codeobject.parse(result.code)
    assert code.arch == arch
    (kernel,) = code.kernels
    assert (kernel.name, kernel.max_block, kernel.lds_bytes, kernel.private_bytes) == ("saxpy", 128, 512, 0)
    assert kernel.wave_size == (64 if arch.startswith("gfx9") else 32)
    explicit = [(a.offset, a.size) for a in kernel.arguments if not a.kind.startswith("hidden_")]
    assert explicit == [(0, 8), (8, 8), (16, 4), (20, 4)]
    assert "factors" in code.variables
    assert code.symbols["factors"][1] == 16
    assert compiler.target_arch(code.listing) == arch
    assert "saxpy:" in code.listing
    assert "\t.loc\t" in code.listing


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942", "gfx950"])
def test_line_tables_do_not_change_the_code(arch, monkeypatch):
    with_lines = compiler.compile_hip(SAXPY, arch)
    monkeypatch.setattr(compiler, "_FIXED_FLAGS", [f for f in compiler._FIXED_FLAGS if f != "-gline-tables-only"])
    without = compiler.compile_hip(SAXPY, arch)
    assert ".loc" not in codeobject.parse(without.code).listing
    assert text_section(with_lines.code) == text_section(without.code)


def test_the_listing_assembled_is_the_code_that_clang_makes(tmp_path):
    code = compiler.compile_hip(SAXPY, "gfx1201").code
    (tmp_path / "k.hip").write_text(SAXPY)
    flags = [
        *compiler._FIXED_FLAGS,
        "-isystem",
        str(compiler.INCLUDE / "std"),
        "-include",
        str(compiler.INCLUDE / "hip_prelude.h"),
    ]
    command = [
        build.toolchain().zig,
        "clang",
        *flags,
        "-O3",
        "--offload-arch=gfx1201",
        "-S",
        "-Xclang",
        "-emit-obj",
        "k.hip",
        "-o",
        "k.o",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, env=build.zig_environment())
    subprocess.run([build.toolchain().zig, "ld.lld", "-shared", "k.o", "-o", "k.co"], cwd=tmp_path, check=True)
    assert text_section(code) == text_section((tmp_path / "k.co").read_bytes())


def test_the_output_is_reproducible_and_ends_in_a_byte_to_drop():
    first, second = (compiler.compile_hip(SAXPY, "gfx1201") for _ in range(2))
    assert first == second
    assert first.code[-1] == 0
    assert codeobject.parse(first.code[:-1]) == codeobject.parse(first.code)


def test_the_current_arch_is_the_default_and_options_override_it():
    assert codeobject.parse(compiler.compile_hip(SAXPY, "gfx1100").code).arch == "gfx1100"
    for option in ("--offload-arch=gfx942", "--gpu-architecture=gfx942"):
        assert codeobject.parse(compiler.compile_hip(SAXPY, "gfx1100", options=[option]).code).arch == "gfx942"


def test_options_reach_the_compiler(tmp_path):
    (tmp_path / "twice.h").write_text("#define TWICE(x) (2 * (x))\n")
    source = '#include "twice.h"\n#include "given.h"\nextern "C" __global__ void k(int* p) { *p = TWICE(N) + GIVEN; }'
    result = compiler.compile_hip(
        source, "gfx1201", options=[f"-I{tmp_path}", "-DN=21"], headers={"given.h": "#define GIVEN 1\n"}
    )
    assert result.ok, result.log
    assert re.search(r"mov_b32\w* v\d+, 43\b", codeobject.parse(result.code).listing)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ((), 3),
        (("-fcuda-flush-denormals-to-zero",), 0),
        (("-fcuda-flush-denormals-to-zero", "-Xclang", "-fdenormal-fp-math-f32=ieee"), 3),
    ],
)
def test_denormal_mode_options(options, mode):
    listing = codeobject.parse(compiler.compile_hip(SAXPY, "gfx1201", options=options).code).listing
    assert f".amdhsa_float_denorm_mode_32 {mode}\n" in listing


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("__global__ void k( {}", (), "error: expected"),
        ("__global__ void k() {}", ("--no-such-option",), "unknown argument: '--no-such-option'"),
        ("__global__ void k(float* x) { *x = erff(*x); }", (), "the emulated GPU has no erf"),
        ('#include "absent.h"', (), "'absent.h' file not found"),
    ],
)
def test_errors_come_back_in_the_log(source, options, message):
    result = compiler.compile_hip(source, "gfx1201", options=options)
    assert not result.ok
    assert message in result.log


def test_warnings_come_back_with_the_code():
    result = compiler.compile_hip('#warning "careful"\n' + SAXPY, "gfx1201")
    assert result.ok
    assert "careful" in result.log


def test_name_expressions():
    source = """
    namespace n { template <class T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; } }
    __device__ int counter;
    """
    expressions = ["n::scale<float, 2>", "n::scale<double, 3>", "&counter"]
    result = compiler.compile_hip(source, "gfx942", expressions=expressions)
    assert result.ok, result.log
    lowered = [result.lowered[e] for e in expressions]
    assert lowered == ["_ZN1n5scaleIfLi2EEEvPT_", "_ZN1n5scaleIdLi3EEEvPT_", "counter"]
    assert {k.name for k in codeobject.parse(result.code).kernels} == set(lowered[:2])


def test_compilations_are_counted_and_logged(tmp_path, monkeypatch):
    monkeypatch.setenv(compiler.COUNT_FILE_VARIABLE, str(tmp_path / "log"))
    before = compiler.compilations()
    compiler.compile_hip(SAXPY, "gfx1201", name="first.cu")
    compiler.compile_hip("broken(", "gfx1201", name="second.cu")
    assert compiler.compilations() == before + 2
    assert [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()] == ["first.cu", "second.cu"]


def test_nothing_is_left_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compiler.compile_hip(SAXPY, "gfx1201")
    assert list(tmp_path.iterdir()) == []


def test_an_edited_listing_assembles():
    listing = codeobject.parse(compiler.compile_hip(SAXPY, "gfx1201").code).listing
    edited = listing.replace("\ts_endpgm\n", "\ts_nop 7\n\ts_endpgm\n", 1)
    code = compiler.assemble(edited)
    assert codeobject.parse(code).listing == edited
    assert text_section(code) != text_section(compiler.assemble(listing))
    with pytest.raises(ValueError, match="no_such_instruction"):
        compiler.assemble(listing.replace("\ts_endpgm\n", "\tno_such_instruction\n", 1))


@pytest.mark.parametrize(
    ("data", "message"), [(b"", "not a 64-bit"), (b"\x7fELF\x02\x01" + bytes(100), "not an AMDGPU code object")]
)
def test_what_is_no_code_object_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        codeobject.parse(data)


def test_relocation_puts_addresses_into_the_image():
    source = 'extern "C" __device__ int values[4]; __device__ int values[4]; __device__ int* pointer = values + 1;'
    code = codeobject.parse(compiler.compile_hip(source, "gfx1201").code)
    at, (values, _) = code.symbols["pointer"][0], code.symbols["values"]
    image = codeobject.relocate(code, 0x10000000)
    assert int.from_bytes(image[at : at + 8], "little") == 0x10000000 + values + 4
