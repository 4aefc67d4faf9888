"""cupygemm: matrix multiplication for CuPy arrays on AMD GPUs, with kernels of its own."""

from cupygemm._explain import Explanation, explain
from cupygemm._matmul import matmul

__all__ = ["Explanation", "explain", "matmul"]
__version__ = "0.1.0"
