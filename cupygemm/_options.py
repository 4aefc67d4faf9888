"""Options of matmul, and where they hold: in a `with` block, for the thread or task that entered it."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import typing
from collections.abc import Iterator

Accumulate = typing.Literal["float32", "float16"]


@dataclasses.dataclass(frozen=True)
class Options:
    """What a caller may ask of matmul beyond its arguments.

    Attributes:
        strict: a kernel that does not compile or load raises, instead of leaving the product to cupy.matmul with a
            warning.
        batch_invariant: a row of the result has the same bits whatever the number of rows and wherever it is: K is
            added up in one order everywhere, not cut for some of the tiles or for some sizes. May be slower where M or
            N is small.
        accumulate: type of the running sums of float16 products. "float32" is exact enough for any K; "float16" is
            faster on some GPUs and loses digits from a few hundred terms on.
        deterministic: the same input gives the same bits on every run. Always so; False is refused.
    """

    strict: bool = False
    batch_invariant: bool = False
    accumulate: Accumulate = "float32"
    deterministic: bool = True

    def __post_init__(self) -> None:
        for name in ("strict", "batch_invariant", "deterministic"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.accumulate not in typing.get_args(Accumulate):
            raise ValueError(f"accumulate must be 'float32' or 'float16', not {self.accumulate!r}")
        if not self.deterministic:
            raise ValueError("every result is deterministic: there is no faster kernel to switch to")


DEFAULTS = Options()
current_options: contextvars.ContextVar[Options] = contextvars.ContextVar("cupygemm_options", default=DEFAULTS)


class Config:
    """Access to the options in force. The package has one, `cupygemm.config`.

    with cupygemm.config(strict=True, batch_invariant=True):
        cupygemm.matmul(a, b)

    Options not named keep the value of the surrounding block. They hold for the current thread or asyncio task; a
    thread started inside the block begins with the defaults.
    """

    def __call__(self, **changes: typing.Any) -> contextlib.AbstractContextManager[Options]:
        """A `with` block (or decorator) under changed options.

        Raises:
            TypeError: there is no option of that name, or a switch is not a bool.
            ValueError: an option cannot have that value.
        """
        names = [field.name for field in dataclasses.fields(Options)]
        unknown = sorted(set(changes) - set(names))
        if unknown:
            raise TypeError(f"no option named {', '.join(unknown)}; there are {', '.join(names)}")
        Options(**changes)  # refuses wrong values here, where they are written, not when the block is entered
        return _scope(changes)

    def get(self) -> Options:
        """The options in force here."""
        return current_options.get()


@contextlib.contextmanager
def _scope(changes: dict[str, typing.Any]) -> Iterator[Options]:
    options = dataclasses.replace(current_options.get(), **changes)
    if options == DEFAULTS:
        options = DEFAULTS  # known by identity where every call looks
    token = current_options.set(options)
    try:
        yield options
    finally:
        current_options.reset(token)


config = Config()
