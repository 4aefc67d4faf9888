"""The ROCm installation that CuPy looks for even when it compiles by hiprtc: a folder with a `hipcc` that knows only
one answer."""

from __future__ import annotations

import os
import pathlib

# CuPy runs `hipcc -x hip -E -v /dev/null` once a process and reads the include folders out of what it prints. There are
# none to add.
_HIPCC = """#!/bin/sh
case " $* " in
*" -E -v "*)
    printf '#include <...> search starts here:\\n\\nEnd of search list.\\n' >&2
    exit 0 ;;
esac
echo "hipcc: an emulated GPU compiles by hiprtc only (RawModule with backend='nvrtc')" >&2
exit 1
"""


def make_root(folder: pathlib.Path) -> pathlib.Path:
    """Writes the installation under ``folder`` if it is not there; returns its root."""
    hipcc = folder / "rocm" / "bin" / "hipcc"
    if not hipcc.exists() or hipcc.read_text() != _HIPCC:
        hipcc.parent.mkdir(parents=True, exist_ok=True)
        temporary = hipcc.with_suffix(f".{os.getpid()}")
        temporary.write_text(_HIPCC)
        temporary.chmod(0o755)
        temporary.replace(hipcc)
    return hipcc.parent.parent


def use(root: pathlib.Path) -> None:
    """Makes this process, and those it starts, find the installation."""
    os.environ["ROCM_HOME"] = str(root)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if str(root / "bin") not in folders:
        os.environ["PATH"] = os.pathsep.join([str(root / "bin"), *folders])
