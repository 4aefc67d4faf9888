"""Why one of the two corrections of an integer quotient may take in, or leave out, equality.

LLVM divides x by y, both of 32 bits, through an estimate z of 2**32 / y: the quotient is x * z >> 32, then twice one
more where the remainder is y or larger. With e = 2**32 / y - z, the remainder before the corrections is less than
y * (1 + x * e / 2**32). `worst` shows that e is below 2 for every divisor it is given, even where the reciprocal is off
by one unit in the last place, as it may be on the hardware: for x below 2**31, that is less than 2 y. So one correction
at most is due; a remainder of exactly y that the first leaves is taken by the second, and the second never meets one.
"""

from __future__ import annotations

import re

import numpy as np

_SCALE = np.array([0x4F7FFFFE], np.uint32).view(np.float32)  # a little less than 2**32
_CORRECTION = re.compile(r"\s+(?:s_cmp_ge_u32\s+\S+, (\S+)|v_cmp_le_u32_e(?:32|64)\s+\S+, (\S+), \S+)\s*$")


def worst(divisors: np.ndarray) -> float:
    """The largest e of these divisors (uint64, from 1 to 2**32 - 1)."""
    found = 0.0
    for off in (-1, 0, 1):
        reciprocal = (np.float32(1) / divisors.astype(np.float32)).view(np.int32) + off
        z = np.minimum((reciprocal.view(np.float32) * _SCALE).astype(np.float64), 2**32 - 1).astype(np.uint64)
        low = np.uint64(2**32 - 1)
        z = (z + (z * (-divisors * z & low) >> np.uint64(32))) & low
        found = max(found, float(((2.0**32 - (z * divisors).astype(np.float64)) / divisors).max()))
    return found


def corrects(listing: str, line: int) -> bool:
    """Whether that line, counted from 0, is a comparison of one of the two corrections."""
    lines = [text.split(";", 1)[0].rstrip() for text in listing.split("\n")]
    own = _CORRECTION.match(lines[line])
    if own is None or not any("v_rcp_iflag_f32" in text for text in lines[:line]):
        return False
    near = [n for n in range(max(0, line - 12), min(len(lines), line + 13)) if n != line]
    return any((m := _CORRECTION.match(lines[n])) and m.groups() == own.groups() for n in near)
