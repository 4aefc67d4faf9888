"""The native build: at first use, once, safe when two processes start together, clear when it cannot be done."""

import pathlib
import subprocess
import sys

import pytest

from cupygemm.emulator import build, wheel
from tests.emulator import emulated

IMPORT = "from cupygemm.emulator import build; print(build.build())"


def python(code, **env):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=emulated.environment(env),
    )


def test_two_processes_start_at_once_on_an_empty_cache(tmp_path):
    processes = [python(IMPORT, CUPYGEMM_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    results = [p.communicate(timeout=300) for p in processes]
    assert [p.returncode for p in processes] == [0, 0], results
    folders = {out.strip() for out, _ in results}
    assert len(folders) == 1
    assert {p.name for p in pathlib.Path(folders.pop()).iterdir()} == set(wheel.LIBRARIES)
    assert sum("building the emulated GPU" in err for _, err in results) == 1
    assert not list(tmp_path.glob("building-*"))


def test_a_built_library_is_found_again_without_a_word():
    folder = build.build()
    process = python(IMPORT)
    out, err = process.communicate(timeout=60)
    assert (out.strip(), err) == (str(folder), "")


def test_a_compile_error_is_shown(tmp_path, monkeypatch):
    source = tmp_path / "native"
    source.mkdir()
    (source / "support.cpp").write_text("int broken(")
    monkeypatch.setattr(build, "NATIVE", source)
    monkeypatch.setenv("CUPYGEMM_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(build.BuildError, match="expected"):
        build.build()
    assert not list((tmp_path / "cache").glob("native-*"))


def test_missing_ziglang_names_the_extra(monkeypatch):
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(build.BuildError, match=r"cupygemm\[emulator\]"):
        build.toolchain()


def test_the_cache_folder_follows_the_environment(monkeypatch):
    monkeypatch.delenv("CUPYGEMM_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert build.cache_root() == pathlib.Path("/x/cupygemm/emulator")
    monkeypatch.setenv("CUPYGEMM_CACHE_DIR", "/y")
    assert build.cache_root() == pathlib.Path("/y")


def test_every_symbol_cupy_wants_is_exported_under_its_version():
    wanted = wheel.wanted_symbols()
    assert len(wanted) > 400
    from cupygemm.emulator import elf

    for library in wheel.LIBRARIES:
        file = elf.Elf((build.build() / library).read_bytes())
        have = {symbol.name for symbol in file.symbols() if symbol.section}
        assert {w.name for w in wanted if w.library == library} <= have, library


def test_stubs_are_made_for_what_is_not_defined():
    wanted = [
        wheel.Wanted("hipA", "hip_4.2", "libamdhip64.so.7", 801),
        wheel.Wanted("hipB", "hip_6.0", "libamdhip64.so.7", 801),
    ]
    source = wheel.stub_source(wanted, {"hipA"})
    assert "hipA" not in source
    assert 'emu_unsupported("hipB"); return 801' in source
    assert wheel.version_script(wanted, " emu_*;") == (
        "hip_4.2 { global: hipA; };\nhip_6.0 { global: hipB; } hip_4.2;\n"
        "EMULATOR_1 { global: emu_*; local: *; } hip_6.0;\n"
    )
