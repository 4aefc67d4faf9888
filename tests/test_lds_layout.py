"""LDS layouts of the matrix kernels: which accesses are free of bank conflicts. The compiler evaluates them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cupygemm.arch import amd_arch
from cupygemm.matrix_tile import PADDING, MatrixTile
from cupygemm.mfma_tile import MfmaTile
from cupygemm.problem import F32, Types
from cupygemm.source import KERNELS
from cupygemm.tiles import candidates


def compiles(tmp_path, claims: list[str], arch: str = "gfx1201") -> bool:
    """Whether clang finds all claims, constant expressions, true."""
    pytest.importorskip("ziglang")
    file = tmp_path / "claims.hip"
    lines = "".join(f"static_assert({claim});\n" for claim in claims)
    file.write_text(f'#include "lds_layout.hpp"\nusing namespace cg;\n{lines}')
    flags = f"-x hip --cuda-device-only -nogpulib -nogpuinc -nostdinc -std=c++17 --offload-arch={arch} -fsyntax-only"
    command = [sys.executable, "-m", "ziglang", "clang", *flags.split(), f"-I{KERNELS}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "static assertion failed" in done.stderr, done.stderr
    return done.returncode == 0


def layout(tile: MatrixTile, rows: int, transposed: bool = False) -> str:
    if tile.lds == "permuted":
        return f"PermutedRows<{tile.itemsize}, {rows}, {tile.block_k}, {str(transposed).lower()}>"
    pad, group_pad = PADDING[tile.lds]
    return f"PaddedRows<{tile.itemsize}, {rows}, {tile.block_k}, {pad}, {group_pad}>"


def test_no_tile_of_the_tables_has_bank_conflicts(tmp_path):
    claims = []
    for arch in ("gfx1100", "gfx1201"):
        for types in (Types("f16", "f32", "f16"), Types("i8", "i32", "i8")):
            for tile in (c.tile for c in candidates(amd_arch(arch), types)):
                for rows in {tile.block_m, tile.block_n}:
                    chunks = tile.block_k * tile.itemsize // 16
                    claims.append(f"reads_spread<{layout(tile, rows)}>({rows}, {chunks})")
                    claims.append(f"copies_spread<{layout(tile, rows)}>({rows}, {chunks})")
                    # Fewer rows are written by fewer than 8 lanes side by side; bytes come 16 rows at a time.
                    if rows >= 64 and tile.itemsize == 2:
                        claims.append(f"transposes_spread<{layout(tile, rows)}>({rows}, {chunks}, 8)")
    assert len(claims) > 40
    assert compiles(tmp_path, sorted(set(claims)))


def test_no_mfma_tile_has_bank_conflicts(tmp_path):
    """Reading fragments, copying whole rows, and writing transposed runs of the rows that a 16-byte load covers."""
    for arch, lanes in (("gfx90a", 8), ("gfx942", 8), ("gfx950", 16)):
        claims = []
        for types in (Types("f64", "f64", "f64"), F32, Types("f16", "f32", "f16"), Types("e4m3", "f32", "bf16")):
            tiles = [c.tile for c in candidates(amd_arch(arch), types)]
            for tile in (t for t in tiles if isinstance(t, MfmaTile)):
                for rows in {tile.block_m, tile.block_n}:
                    chunks, step = tile.block_k * tile.itemsize // 16, 16 // tile.itemsize
                    plain, turned = layout(tile, rows), layout(tile, rows, transposed=True)
                    claims.append(f"copies_spread<{plain}>({rows}, {chunks})")
                    claims += [f"reads_spread<{x}>({rows}, {chunks})" for x in (plain, turned)]
                    if rows >= lanes * step and tile.itemsize >= 2:
                        claims.append(f"transposes_spread<{turned}>({rows}, {chunks}, {step})")
        assert len(claims) > 20
        assert compiles(tmp_path, sorted(set(claims)), arch)


@pytest.mark.parametrize(
    ("layout", "copies", "reads", "transposes"),
    [
        ("PaddedRows<2, 128, 64, 0, 0>", True, False, False),
        ("PaddedRows<2, 128, 64, 16, 0>", True, True, False),
        ("PaddedRows<2, 128, 64, 16, 16>", True, True, True),
        ("PaddedRows<2, 128, 32, 16, 16>", True, True, True),
        ("PermutedRows<2, 128, 64, true>", True, True, True),
        ("PermutedRows<2, 128, 16, true>", True, True, False),
    ],
)
def test_what_padding_and_permuting_are_for(tmp_path, layout, copies, reads, transposes):
    chunks = int(layout.split(",")[2].strip(" >")) // 8
    for claim, holds in (("copies", copies), ("reads", reads), ("transposes", transposes)):
        extra = ", 8" if claim == "transposes" else ""
        assert compiles(tmp_path, [f"{claim}_spread<{layout}>(128, {chunks}{extra})"]) == holds


def test_pairs_of_rows_change_places_on_64_banks(tmp_path):
    """Two rows of 128 bytes make a line of banks there; rows that are transposed on the way in need the exchange."""
    claim = "transposes_spread<PermutedRows<2, 128, 64, {}>>(128, 8, 8)"
    assert compiles(tmp_path, [claim.format("true")], "gfx950")
    assert not compiles(tmp_path, [claim.format("false")], "gfx950")
    assert compiles(tmp_path, [claim.format("false")], "gfx942")
