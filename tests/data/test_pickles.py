"""The restricted unpickler: tables come out, everything else is refused before it is looked up."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

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


def test_omitted_classes_leave_an_inert_object(tmp_path):
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
