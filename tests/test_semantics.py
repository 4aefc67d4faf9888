"""matmul's meaning beyond the numbers: keywords, types, errors in CuPy's types and words; cupy.matmul is the oracle."""

from __future__ import annotations

from typing import Any

import cupy
import numpy
import pytest

import cupygemm
from tests.products import integers


def f32(*shape: int) -> cupy.ndarray:
    return cupy.zeros(shape, numpy.float32)


def outcome(function: Any, *args: Any, **keywords: Any) -> tuple[type[BaseException] | None, str]:
    try:
        function(*args, **keywords)
    except Exception as error:
        return type(error), str(error)
    return None, ""


SQUARE = (3, 3)

# What is refused: operand shapes, keywords, exception, words in its message, and whether cupy.matmul raises the same
# type. Where it does not, the comment says what it does instead.
REFUSED = {
    "0-d operand": (((), SQUARE), {}, ValueError, "Scalar operands are not allowed, use '*' instead", True),
    "0-d second operand": ((SQUARE, ()), {}, ValueError, "Scalar operands are not allowed, use '*' instead", True),
    "K differs": (((3, 4), (3, 4)), {}, ValueError, "shapes (3, 4) and (3, 4) not aligned", True),
    "K differs in a vector": (((4,), (3,)), {}, ValueError, "shapes (4,) and (3,) not aligned", True),
    "K differs in a batch": (((2, 3, 4), (2, 3, 4)), {}, ValueError, "not aligned", True),
    "K differs, keyword": (((3, 4), (3, 4)), {"order": "F"}, ValueError, "mismatch in its core dimension", True),
    "batch differs": (((2, 3, 4), (3, 4, 5)), {}, ValueError, "operands could not be broadcast together", True),
    "0 against 2": (((0, 1, 1), (2, 1, 1)), {}, ValueError, "operands could not be broadcast together", True),
    "axis": ((SQUARE, SQUARE), {"axis": 0}, ValueError, "`axis` can be used only", True),
    "keepdims": ((SQUARE, SQUARE), {"keepdims": True}, ValueError, "`keepdims` can only be used", True),
    "axes no list": ((SQUARE, SQUARE), {"axes": 1}, ValueError, "`axes` has to be of type list", True),
    "axes too few": ((SQUARE, SQUARE), {"axes": [(0, 1)]}, ValueError, "number of `axes` entries", True),
    "axes entry too short": (
        (SQUARE, SQUARE),
        {"axes": [(0,), (0, 1), (0, 1)]},
        cupy.exceptions.AxisError,
        "Number of axes passed for argument 0",
        True,
    ),
    "axes and axis": ((SQUARE, SQUARE), {"axes": [(0, 1)] * 3, "axis": 0}, ValueError, "Only one of", True),
    "signature": ((SQUARE, SQUARE), {"signature": "ff->f"}, TypeError, "No loop matching", True),
    "unknown keyword": ((SQUARE, SQUARE), {"where": True}, TypeError, "unexpected keyword argument 'where'", True),
    "dtype that is none": ((SQUARE, SQUARE), {"dtype": "foo"}, TypeError, "not understood", True),
    # cupy.matmul looks at the rule only where there is something to cast.
    "casting": ((SQUARE, SQUARE), {"casting": "foo"}, ValueError, "casting must be one of", False),
    # RuntimeError there.
    "order": ((SQUARE, SQUARE), {"order": "Z"}, ValueError, "order must be one of", False),
    # AttributeError there.
    "order no string": ((SQUARE, SQUARE), {"order": 1}, TypeError, "order must be str", False),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(device, case):
    shapes, keywords, error, words, same = REFUSED[case]
    a, b = (f32(*shape) for shape in shapes)
    got, message = outcome(cupygemm.matmul, a, b, **keywords)
    assert got is not None
    assert issubclass(got, error)
    assert words in message
    assert (outcome(cupy.matmul, a, b, **keywords)[0] is got) == same


# As above for `out`: it, exception, words, whether cupy.matmul raises the same type.
REFUSED_OUT = {
    "a list": (lambda: [1], TypeError, "`out` must be a tuple or `cupy.ndarray`", True),
    "a NumPy array": (lambda: numpy.zeros(SQUARE, "f"), TypeError, "`out` must be a tuple or `cupy.ndarray`", True),
    "a tuple of a number": (lambda: (1,), TypeError, "`out` tuple must contain `cupy.ndarray` or None", True),
    # Taken for the first array, and for no `out`.
    "a pair": (lambda: (f32(3, 3), f32(3, 3)), ValueError, "exactly one entry", False),
    "too narrow": (lambda: f32(3, 2), ValueError, "Output array has an invalid size", True),
    # Taken for (3, 3) by its 2-D path.
    "too many dimensions": (lambda: f32(1, 3, 3), ValueError, "Output array has an invalid size", False),
    "too narrow, other type": (lambda: cupy.zeros((3, 2), "d"), ValueError, "has invalid shape", True),
    "integers": (lambda: cupy.zeros(SQUARE, "i"), TypeError, "Cannot cast out dtype", True),
    "booleans": (lambda: cupy.zeros(SQUARE, "?"), TypeError, "Cannot cast out dtype", True),
}


@pytest.mark.parametrize("case", REFUSED_OUT)
def test_what_is_refused_as_out(device, case):
    make, error, words, same = REFUSED_OUT[case]
    x = f32(*SQUARE)
    got, message = outcome(cupygemm.matmul, x, x, out=make())
    assert got is error
    assert words in message
    assert (outcome(cupy.matmul, x, x, out=make())[0] is got) == same


@pytest.mark.parametrize("wrong", [[[1.0]], numpy.ones(SQUARE, "f"), 3, None], ids=lambda x: type(x).__name__)
def test_operands_must_be_cupy_arrays(device, wrong):
    x = f32(*SQUARE)
    for pair in ((wrong, x), (x, wrong)):
        got, message = outcome(cupygemm.matmul, *pair)
        assert got is TypeError
        if wrong is not None:  # cupy.matmul dereferences it
            assert outcome(cupy.matmul, *pair)[0] is TypeError
        assert "cupy.asarray" in message


def pair(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[cupy.ndarray, cupy.ndarray]:
    rng = numpy.random.default_rng(len(left) * 100 + len(right))
    return cupy.asarray(integers(rng, *left)), cupy.asarray(integers(rng, *right))


SHAPES = [
    ((2,), (2,)),
    ((2,), (2, 4)),
    ((3, 2), (2,)),
    ((3, 2), (2, 4)),
    ((0,), (0,)),
    ((4, 0), (0,)),
    ((0, 3), (3, 0)),
    ((3, 0), (0, 4)),
    ((4, 5, 3, 2), (4, 5, 2, 4)),
    ((0, 3, 2), (0, 2, 4)),
    ((0, 3, 2), (1, 2, 4)),
    ((5, 3, 2), (2, 4)),
    ((2,), (5, 2, 4)),
    ((5, 3, 2), (2,)),
    ((1, 5, 3, 2), (4, 1, 2, 4)),
    ((1, 3, 3), (10, 1, 3, 1)),
    ((3, 2, 1, 1, 3), (1, 5, 3, 2)),
    ((2, 2, 2, 2, 2, 2, 3), (2, 1, 2, 1, 2, 3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_shapes_like_cupy_and_numpy(device, left, right):
    a, b = pair(left, right)
    got, same, want = cupygemm.matmul(a, b), cupy.matmul(a, b), numpy.matmul(a.get(), b.get())
    assert got.shape == same.shape == want.shape
    assert type(got) is cupy.ndarray
    numpy.testing.assert_array_equal(got.get(), want)
    numpy.testing.assert_array_equal(got.get(), same.get())


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [
        ((2, 5, 3), (2, 3, 4), [(-2, -1), (-2, -1), (-2, -1)]),
        ((5, 3, 2), (3, 4, 2), [(0, 1), (0, 1), (0, 1)]),
        ((3, 2, 5), (4, 2, 3), [(-1, 0), (-1, 0), (-1, 0)]),
        ((3, 5), (3, 4), [(1, 0), (0, 1), (1, 0)]),
        ((6, 2, 3, 5), (6, 2, 5, 4), [(2, 3), (2, 3), (0, 3)]),
    ],
    ids=str,
)
def test_axes(device, left, right, axes):
    a, b = pair(left, right)
    want = numpy.matmul(a.get(), b.get(), axes=axes)
    got = cupygemm.matmul(a, b, axes=axes)
    numpy.testing.assert_array_equal(got.get(), want)
    out = cupy.full(want.shape, numpy.nan, numpy.float32)
    assert cupygemm.matmul(a, b, axes=axes, out=out) is out
    numpy.testing.assert_array_equal(out.get(), want)


@pytest.mark.parametrize("order", ["C", "F", "A", "K", "f"])
@pytest.mark.parametrize("operands", ["row-major", "column-major"])
def test_order(device, order, operands):
    a, b = pair((3, 5), (5, 4))
    if operands == "column-major":
        a, b = cupy.asfortranarray(a), cupy.asfortranarray(b)
    got, same = cupygemm.matmul(a, b, order=order), cupy.matmul(a, b, order=order)
    assert got.strides == same.strides
    numpy.testing.assert_array_equal(got.get(), a.get() @ b.get())


def test_order_of_a_batch(device):
    a, b = pair((2, 3, 5), (2, 5, 4))
    got = cupygemm.matmul(a, b, order="F")
    assert got.flags.f_contiguous
    numpy.testing.assert_array_equal(got.get(), a.get() @ b.get())


def test_out_comes_back(device):
    a, b = pair((3, 5), (5, 4))
    for out in (f32(3, 4), cupy.zeros((3, 4), "e"), cupy.zeros((3, 4), "d"), f32(6, 8)[::2, ::2], f32(4, 3).T):
        for form in (out, (out,)):
            out.fill(numpy.nan)
            assert cupygemm.matmul(a, b, out=form) is out
            numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
        out.fill(numpy.nan)
        assert cupygemm.matmul(a, b, out) is out
        numpy.testing.assert_array_equal(out.get(), a.get() @ b.get())
    assert cupygemm.matmul(a, b, out=(None,)).shape == (3, 4)


@pytest.mark.parametrize(("dtype", "casting"), [("e", "same_kind"), ("d", "safe"), ("i", "unsafe"), ("?", "unsafe")])
def test_casting_to_out(device, dtype, casting):
    a, b = pair((3, 5), (5, 4))
    out, same = cupy.ones((3, 4), dtype), cupy.ones((3, 4), dtype)
    assert cupygemm.matmul(a, b, out=out, casting=casting) is out
    cupy.matmul(a, b, out=same, casting=casting)
    numpy.testing.assert_array_equal(out.get(), same.get())


@pytest.mark.parametrize("casting", ["no", "equiv", "safe"])
def test_casting_that_forbids_the_type_of_out(device, casting):
    x = f32(*SQUARE)
    for function in (cupygemm.matmul, cupy.matmul):
        with pytest.raises(TypeError, match="Cannot cast out dtype"):
            function(x, x, out=cupy.zeros(SQUARE, "e"), casting=casting)


def test_dtype(device):
    a, b = pair((3, 5), (5, 4))
    for dtype in ("e", "f", "d"):
        got = cupygemm.matmul(a, b, dtype=dtype)
        assert got.dtype == cupy.matmul(a, b, dtype=dtype).dtype == dtype
        numpy.testing.assert_array_equal(got.get(), a.get() @ b.get())


PROMOTED = ["ff", "fe", "ef", "fb", "Bf", "fh", "f?", "fi", "fd", "dd", "FF", "fF", "bb", "bB", "hi", "??"]


@pytest.mark.parametrize("types", PROMOTED)
def test_types_are_promoted_like_cupy(device, types):
    rng = numpy.random.default_rng(1)
    a, b = (
        cupy.asarray(rng.integers(0, 3, shape).astype(dtype))
        for shape, dtype in zip(((4, 5), (5, 3)), types, strict=True)
    )
    got, same = cupygemm.matmul(a, b), cupy.matmul(a, b)
    assert got.dtype == same.dtype == numpy.promote_types(*types)
    numpy.testing.assert_array_equal(got.get(), numpy.matmul(a.get(), b.get()))


def test_integers_wrap(device):
    a = cupy.full((3, 40), 100, numpy.int8)
    got = cupygemm.matmul(a, a.T)
    assert got.dtype == numpy.int8
    numpy.testing.assert_array_equal(got.get(), a.get() @ a.get().T)


def test_a_converted_operand_is_announced(device):
    a, b = pair((3, 5), (5, 4))
    text = cupygemm.explain(a.astype("e"), b)
    assert not text.is_fallback
    assert text.conversions == ("A is converted from float16 to float32",)
    assert text.conversions[0] in str(text)
    assert cupygemm.explain(a, b).conversions == ()


def field(structure: numpy.ndarray, name: str) -> tuple[cupy.ndarray, cupy.ndarray]:
    """A field of an array of structures on the device, and the bytes of that array."""
    flat = cupy.asarray(structure.view(numpy.uint8).ravel())
    offset = structure.dtype.fields[name][1]
    x = cupy.ndarray(structure.shape, structure.dtype[name], flat.data + offset, strides=structure.strides)
    return x, flat


def test_strides_that_are_no_multiple_of_the_item_size(device):
    rng = numpy.random.default_rng(2)
    structure = numpy.zeros((6, 6), [("flag", "u1"), ("value", "<f4"), ("rest", "u2")])
    structure["value"] = integers(rng, 6, 6)
    x, _ = field(structure, "value")
    assert x.strides == (42, 7)
    value = structure["value"]
    numpy.testing.assert_array_equal(cupygemm.matmul(x, x).get(), value @ value)
    assert "copied" in cupygemm.explain(x, x).conversions[0]
    structure["flag"], structure["rest"] = 7, 9
    target, flat = field(structure, "value")
    a = cupy.asarray(numpy.ascontiguousarray(value))
    assert cupygemm.matmul(a, a, out=target) is target
    structure["value"] = value @ value
    numpy.testing.assert_array_equal(flat.get(), structure.view(numpy.uint8).ravel())


def test_interleaved_views_need_no_copy(device, monkeypatch):
    """Left and right half of one buffer: bounds overlap, elements do not."""
    rng = numpy.random.default_rng(3)
    buffer = cupy.asarray(integers(rng, 20, 40))
    a, out = buffer[:, :20], buffer[:, 20:]
    want = a.get() @ a.get()
    with monkeypatch.context() as without:
        without.delattr(cupy, "empty")
        assert cupygemm.matmul(a, a, out=out) is out
    numpy.testing.assert_array_equal(out.get(), want)


@pytest.mark.parametrize("shift", [(1, 0), (0, 1), (-1, 0), (0, -1), (5, 3)])
def test_out_that_partly_overlaps_an_operand(device, shift):
    rng = numpy.random.default_rng(4)
    frame = cupy.asarray(integers(rng, 40, 40))
    a = frame[5:35, 5:35]
    out = frame[5 + shift[0] : 35 + shift[0], 5 + shift[1] : 35 + shift[1]]
    want = a.get() @ a.get()
    cupygemm.matmul(a, a, out=out)
    numpy.testing.assert_array_equal(out.get(), want)


def test_subclasses_give_plain_arrays_like_cupy(device):
    class Tagged(cupy.ndarray):
        pass

    x = pair((3, 3), (3, 3))[0]
    tagged = x.view(Tagged)
    assert type(cupygemm.matmul(tagged, x)) is type(cupy.matmul(tagged, x)) is cupy.ndarray
