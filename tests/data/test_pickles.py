"""The restricted unpickler: tables come out, everything else is refused before it is looked up."""

from __future__ import annotations

import contextlib
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearena.data import pickles


def written(tmp_path, content: bytes):
    path = tmp_path / "table.pkl"
    path.write_bytes(content)
    return path


def call(module: str, name: str, argument: str, protocol: int) -> bytes:
    """Pickle that calls ``module.name(argument)`` when it is loaded plainly."""
    if protocol == 0:
        return f"c{module}\n{name}\n(V{argument}\ntR.".encode()
    pieces = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name, argument)]
    return b"\x80\x04" + pieces[0] + pieces[1] + b"\x93" + pieces[2] + b"\x85R."


REFUSED = [
    ("os", "system"),
    ("posix", "system"),
    ("nt", "system"),
    ("subprocess", "Popen"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("builtins", "getattr"),
    ("builtins", "__import__"),
    ("numpy.f2py", "compile"),
    ("numpy", "load"),
    ("numpy", "fromfile"),
    ("numpy.core.multiarray", "fromfile"),
    ("pandas", "read_pickle"),
    ("pandas", "eval"),
    ("pandas.io.pickle", "read_pickle"),
    ("pandas.core.frame", "DataFrame.eval"),
    ("pandas.core.frame", "DataFrame.to_csv"),
    ("pickle", "loads"),
    ("importlib", "import_module"),
]


@pytest.mark.parametrize("protocol", [0, 4])
@pytest.mark.parametrize(("module", "name"), REFUSED)
def test_other_names_are_refused_and_named(tmp_path, module, name, protocol):
    path = written(tmp_path, call(module, name, "1", protocol))
    with pytest.raises(pickle.UnpicklingError, match=rf"table\.pkl asks for {module}\.{name}: refused"):
        pickles.load(path, omit=[("plotly.graph_objs._figure", "Figure")])


def test_what_a_plain_load_would_run_does_not_run(tmp_path):
    target = tmp_path / "ran"
    content = call("os", "mkdir", str(target), 0)
    with pytest.raises(pickle.UnpicklingError):
        pickles.load(written(tmp_path, content))
    assert not target.exists()
    pickle.loads(content)  # the same bytes do harm where nothing is refused
    assert target.exists()


def test_refused_modules_are_not_imported(tmp_path):
    sys.modules.pop("this", None)
    with pytest.raises(pickle.UnpicklingError):
        pickles.load(written(tmp_path, call("this", "s", "", 4)))
    assert "this" not in sys.modules


OLD_PATHS = {
    b"cnumpy._core.multiarray\n": b"cnumpy.core.multiarray\n",
    b"cpandas\nDataFrame\n": b"cpandas.core.frame\nDataFrame\n",
    b"cpandas\nSeries\n": b"cpandas.core.series\nSeries\n",
    b"cpandas\nIndex\n": b"cpandas.core.indexes.base\nIndex\n",
    b"cpandas\nRangeIndex\n": b"cpandas.core.indexes.range\nRangeIndex\n",
}


def as_written_in_2024(data: object) -> bytes:
    """Pickle whose names are those of numpy 1 and pandas 2; protocol 3 writes each name on a line."""
    content = pickle.dumps(data, protocol=3)
    for present, old in OLD_PATHS.items():
        content = content.replace(present, old)
    return content


def test_frames_series_and_arrays_come_out_as_they_were(tmp_path):
    models = pd.Index(["a", "b"], dtype=object)
    frame = pd.DataFrame({"rating": [1.5, -2.0], "battles": [3, 4]}, index=models)
    frame.columns = frame.columns.astype(object)
    series = pd.Series([0.5, 2.5])
    array = np.arange(6.0).reshape(2, 3)
    content = as_written_in_2024(
        {"frame": frame, "series": series, "array": array, "scalar": np.float64(2.5)}
    )
    assert b"numpy.core.multiarray" in content
    read = pickles.load(written(tmp_path, content))
    pd.testing.assert_frame_equal(read["frame"], frame)
    pd.testing.assert_series_equal(read["series"], series)
    np.testing.assert_array_equal(read["array"], array)
    assert read["scalar"] == 2.5


def test_omitted_classes_leave_an_inert_object(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "plotly", raising=False)  # another test may have imported it
    figure = b"\x80\x04}\x8c\x03fig\x8c\x06plotly\x8c\x06Figure\x93\x8c\x01x\x85R}\x8c\x01k\x8c\x01vsbs."
    read = pickles.load(written(tmp_path, figure), omit=[("plotly", "Figure")])
    assert type(read["fig"]) is pickles.Omitted
    assert vars(read["fig"]) == {}
    assert "plotly" not in sys.modules
    with pytest.raises(pickle.UnpicklingError, match=r"plotly\.Figure"):
        pickles.load(tmp_path / "table.pkl")


@pytest.mark.parametrize("content", [b"", b"\x80\x04}", b"}\x8c\x03", b"not a pickle at all"])
def test_damaged_pickles_are_refused_with_the_name_of_the_file(tmp_path, content):
    with pytest.raises(pickle.UnpicklingError, match=r"table\.pkl is damaged"):
        pickles.load(written(tmp_path, content))


# Pickles by hand: pieces of the stack machine, put together


def plain(value: object) -> bytes:
    """Opcodes that leave a plain value on the stack."""
    return pickle.dumps(value, protocol=3)[2:-1]


def named(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def called(function: bytes, *arguments: bytes) -> bytes:
    return function + b"(" + b"".join(arguments) + b"tR"


DTYPE = named("numpy", "dtype")
RECONSTRUCT = named("numpy.core.multiarray", "_reconstruct")
EMPTY = called(RECONSTRUCT, named("numpy", "ndarray"), plain((0,)), plain(b"b"))
FRAME = named("pandas.core.frame", "DataFrame") + b")\x81"


def typed(code: str) -> bytes:
    return called(DTYPE, plain(code), plain(False), plain(True))


def array_state(shape: object, code: str, raw: object) -> bytes:
    return b"(" + plain(1) + plain(shape) + typed(code) + plain(False) + plain(raw) + b"tb"


def refused(tmp_path, content: bytes, message: str) -> None:
    with pytest.raises(pickles.RefusedError, match=rf"table\.pkl .*{message}"):
        pickles.load(written(tmp_path, content + b"."))


def attributes() -> dict[str, object]:
    return {
        f"{kind}.{name}": value for kind in (pd.Index, pd.DataFrame) for name, value in vars(kind).items()
    }


@pytest.mark.parametrize(("module", "name"), sorted(pickles.ADMITTED))
def test_no_class_and_no_function_takes_a_state_or_an_item(tmp_path, module, name):
    before = attributes()
    refused(
        tmp_path, named(module, name) + plain((None, {"tolist": 1, "__call__": 2})) + b"b", "sets the state"
    )
    for item in (plain("tolist") + plain(1) + b"s", b"(" + plain("tolist") + plain(1) + b"u"):
        with pytest.raises(pickle.UnpicklingError, match=r"table\.pkl"):
            pickles.load(written(tmp_path, named(module, name) + item + b"."))
    assert attributes() == before


@pytest.mark.parametrize("target", [plain({}), plain([]), plain("text"), plain(None)])
def test_plain_values_take_no_state(tmp_path, target):
    refused(tmp_path, target + plain({"a": 1}) + b"b", "sets the state of a")


@pytest.mark.parametrize(
    "code", ["V8", "O,O", "f8,O", "(2,)O", "M8[ns]", "c16", ">f8", "f8\n", "U9999999", "a" * 99]
)
def test_values_other_than_numbers_text_and_objects_are_refused(tmp_path, code):
    refused(tmp_path, typed(code), "has values of type")


@pytest.mark.parametrize(
    "state",
    [
        plain((3, "<", None, None, None, -1, -1, 63)),
        plain((3, ">", None, None, None, -1, -1, 0)),
        plain((3, "<", None, None, None, 16, 8, 0)),
        plain((3, "<", None, ("x",), {}, 8, 1, 63)),
        b"(" + plain(3) + plain("<") + b"(" + typed("O8") + plain((1,)) + b"t" + plain(None) * 2 + b"t",
    ],
)
def test_a_forged_type_is_refused_and_the_process_keeps_its_own(tmp_path, state):
    refused(tmp_path, typed("f8") + state + b"b", "gives float64 another state than its own")
    assert np.dtype("f8").__reduce__()[2] == (3, "<", None, None, None, -1, -1, 0)


@pytest.mark.parametrize(
    ("shape", "code", "raw"),
    [
        ((4,), "O8", ["one"]),
        ((1,), "O8", b"12345678"),
        ((1,), "f8", b"1234567"),
        ((1,), "f8", b"123456789"),
        ((1,), "f8", [1.0]),
        ((-1, -1), "f8", b"12345678"),
        ((2,), "U2", b"12345678"),
    ],
)
def test_values_that_do_not_fit_an_array_are_refused(tmp_path, shape, code, raw):
    refused(tmp_path, EMPTY + array_state(shape, code, raw), "state that does not fit")


def test_an_array_keeps_its_first_values(tmp_path):
    state = array_state((1,), "f8", bytes(8))
    assert pickles.load(written(tmp_path, EMPTY + state + b".")).tolist() == [0.0]
    refused(tmp_path, EMPTY + state + state, "state that does not fit")


@pytest.mark.parametrize("shape", [(2**62, 2**62, 0), (2**64, 0), (1,) * 99, "a", ("a",), (0.5, 2), None, 1])
def test_a_shape_that_cannot_be_is_an_error(tmp_path, shape):
    with pytest.raises(pickle.UnpicklingError, match=r"table\.pkl"):
        pickles.load(written(tmp_path, EMPTY + array_state(shape, "f8", bytes(8)) + b"."))


def a_frame(columns: int, *positions: slice) -> bytes:
    """Frame of one row, with a block of two columns at each of the positions."""
    slices = [called(named("builtins", "slice"), plain(part.start), plain(part.stop)) for part in positions]
    values = EMPTY + array_state((2, 1), "i8", np.array([5, 7], dtype="<i8").tobytes())
    unpickle = named("pandas._libs.internals", "_unpickle_block")
    blocks = b"(" + b"".join(called(unpickle, values, part, plain(2)) for part in slices) + b"t"
    axes = b"(" + b"".join(
        called(
            named("pandas.core.indexes.base", "_new_Index"),
            named("pandas.core.indexes.range", "RangeIndex"),
            plain({"name": None, "start": 0, "stop": stop, "step": 1}),
        )
        for stop in (columns, 1)
    )
    manager = called(named("pandas.core.internals.managers", "BlockManager"), blocks, axes + b"t")
    return FRAME + b"}" + plain("_mgr") + manager + b"sb"


def test_blocks_go_to_their_positions(tmp_path):
    read = pickles.load(written(tmp_path, a_frame(4, slice(2, 4), slice(0, 2)) + b"."))
    pd.testing.assert_frame_equal(read, pd.DataFrame([[5, 7, 5, 7]]))


@pytest.mark.parametrize(
    ("columns", "positions"),
    [(3, [slice(0, 2)]), (4, [slice(0, 2), slice(1, 3)]), (10**12, [slice(0, 2)]), (1, [slice(0, 2)])],
)
def test_blocks_that_are_not_the_columns_are_refused(tmp_path, columns, positions):
    refused(tmp_path, a_frame(columns, *positions), "blocks are not its columns")


def test_a_block_outside_its_frame_is_an_error(tmp_path):
    with pytest.raises(pickle.UnpicklingError, match=r"table\.pkl is damaged"):
        pickles.load(written(tmp_path, a_frame(2, slice(10**6, 10**6 + 2)) + b"."))


@settings(max_examples=300)
@given(st.data())
def test_no_damage_gives_anything_but_a_table_or_an_error(tmp_path_factory, data):
    good = bytearray(a_frame(4, slice(2, 4), slice(0, 2)) + b".")
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    path = written(tmp_path_factory.mktemp("damage"), bytes(good))
    with contextlib.suppress(pickle.UnpicklingError):
        repr(pickles.load(path))
