"""An FP8 linear layer: quantise activations and weights, pack the weights, multiply, compare with float32.

On a machine without a GPU: python -m cupygemm.emulator --arch gfx942 examples/fp8_linear.py
"""

import cupy
import ml_dtypes
import numpy

import cupygemm

rng = numpy.random.default_rng(0)
x, w = (cupy.asarray(rng.standard_normal(s, dtype=numpy.float32)) for s in ((100, 512), (256, 512)))
arch = cupygemm.explain(x, w.T).arch
fp8 = ml_dtypes.float8_e4m3fnuz if arch == "gfx942" else ml_dtypes.float8_e4m3fn
qx, scale_x = cupygemm.quantize(x, fp8, axis=-1)
qw, scale_w = cupygemm.quantize(w, fp8, axis=-1)
weight = cupygemm.preshuffle(qw.T) if arch in ("gfx942", "gfx950") else qw.T
y = cupygemm.scaled_matmul(qx, weight, scale_x, scale_w.T, activation="relu", out_dtype=numpy.float32)
want = cupy.maximum(cupygemm.matmul(x, w.T), 0)
error = float(cupy.linalg.norm(y - want) / cupy.linalg.norm(want))
print(f"{cupygemm.explain_scaled(fp8)}; relative error {error:.3%}")
assert error < 0.05, error
