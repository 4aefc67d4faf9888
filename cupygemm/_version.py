"""The version, readable without importing CuPy."""

__version__ = "0.1.0"
