from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from rearena import project
from rearena.data import downloads

CONTENT = b"a,b\n1,2\n"
COLUMNS = ["id", "url", "sha256", "bytes", "licence", "kind", "used_by", "holds"]


def row(id: str = "one", content: bytes = CONTENT, **changes: str) -> dict[str, str]:
    values = {
        "id": id,
        "url": f"https://raw.example.com/owner/repo/abc/K=5%20x/{id}.csv",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": str(len(content)),
        "licence": "MIT",
        "kind": "released",
        "used_by": "09-benchmark-metrics;10-forecast-calibration",
        "holds": "numbers",
    }
    return values | changes


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Make a checkout that lists the given rows; no network, no mirror."""

    def make(*rows: dict[str, str]) -> Path:
        home = tmp_path / "a checkout"
        (home / "data").mkdir(parents=True)
        (home / "data" / "claims.csv").write_text("id\n")
        with (home / "data" / "sources.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        monkeypatch.setenv("REARENA_HOME", str(home))
        monkeypatch.setenv("REARENA_OFFLINE", "1")
        monkeypatch.delenv("REARENA_MIRROR", raising=False)
        forget()
        return home

    def forget() -> None:
        for cached in (project.root, downloads._listed, downloads._verify):
            cached.cache_clear()

    yield make
    monkeypatch.undo()
    forget()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make a mirror that holds file ``one``."""

    def make(content: bytes = CONTENT) -> Path:
        file = tmp_path / "mirror" / "raw.example.com" / "owner" / "repo" / "abc" / "K=5 x" / "one.csv"
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        monkeypatch.setenv("REARENA_MIRROR", "../mirror")
        return file

    return make


def test_a_file_comes_from_the_mirror_under_our_own_name(
    checkout: Callable[..., Path], mirror: Callable[..., Path]
) -> None:
    home = checkout(row())
    assert not downloads.available("one")
    mirror()
    assert downloads.available("one")
    assert downloads.path("one") == home / "data" / "downloads" / "one.csv"
    assert downloads.path("one").read_bytes() == CONTENT


def test_a_changed_byte_in_the_mirror_is_refused_and_nothing_is_left(
    checkout: Callable[..., Path], mirror: Callable[..., Path]
) -> None:
    home = checkout(row())
    changed = b"a,b\n1,3\n"
    mirror(changed)
    with pytest.raises(downloads.SourceError, match=r"one: the mirror's .*one\.csv was refused") as caught:
        downloads.path("one")
    assert row()["sha256"] in str(caught.value)
    assert hashlib.sha256(changed).hexdigest() in str(caught.value)
    assert list((home / "data" / "downloads").iterdir()) == []


def test_a_damaged_local_file_is_refused_and_fetch_replaces_it(
    checkout: Callable[..., Path], mirror: Callable[..., Path]
) -> None:
    home = checkout(row())
    mirror()
    local = home / "data" / "downloads" / "one.csv"
    local.parent.mkdir()
    local.write_bytes(b"damaged")
    with pytest.raises(downloads.SourceError, match=r"data/downloads/one\.csv is damaged: sha256 expected"):
        downloads.path("one")
    assert downloads.fetch(["one"]) == {}
    assert downloads.path("one").read_bytes() == CONTENT


def test_a_failing_file_does_not_stop_the_others(
    checkout: Callable[..., Path], mirror: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(row("absent"), row("one"))
    mirror()
    assert downloads.main([]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith(f"2 files, {2 * len(CONTENT) / 1000:.1f} kB")
    assert "1 verified, 1 failed" in printed.out
    assert "absent: REARENA_MIRROR is set, and that mirror lacks raw.example.com" in printed.err
    assert downloads.main(["one"]) == 0


def test_offline_and_not_downloaded_are_said(checkout: Callable[..., Path]) -> None:
    checkout(row())
    assert downloads.missing("one") == ["one"]
    with pytest.raises(downloads.SourceError, match="one is not downloaded: run `make data`"):
        downloads.path("one")
    assert "REARENA_OFFLINE forbids the network" in str(downloads.fetch()["one"])


def test_a_file_gets_the_mode_of_any_other(
    checkout: Callable[..., Path], mirror: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = checkout(row("one"), row("two"))
    mirror()
    ordinary = home / "ordinary"
    ordinary.write_bytes(b"")
    assert downloads.path("one").stat().st_mode == ordinary.stat().st_mode

    class Network:
        def __init__(self, **_: object) -> None: ...

        def __call__(self, url: str, output_file: str, keeper: object) -> None:
            Path(output_file).write_bytes(CONTENT)

    monkeypatch.setattr("pooch.HTTPDownloader", Network)
    monkeypatch.delenv("REARENA_MIRROR")
    monkeypatch.delenv("REARENA_OFFLINE")
    assert downloads.fetch(["two"]) == {}
    assert downloads.path("two").stat().st_mode == ordinary.stat().st_mode
    assert sorted(file.name for file in downloads.path("two").parent.iterdir()) == ["one.csv", "two.csv"]


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (requests.ConnectionError("refused"), ["one"] * 3 + ["two"]),
        (requests.HTTPError("503: no connection to the backend"), ["one"] * 3 + ["two"] * 3),
    ],
)
def test_only_a_missing_connection_ends_the_retries(
    checkout: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, error: Exception, tries: list[str]
) -> None:
    checkout(row("one"), row("two"))
    monkeypatch.delenv("REARENA_OFFLINE")
    tried: list[str] = []

    class Network:
        def __init__(self, **_: object) -> None: ...

        def __call__(self, url: str, output_file: str, keeper: object) -> None:
            tried.append(Path(url).stem)
            raise error

    monkeypatch.setattr("pooch.HTTPDownloader", Network)
    monkeypatch.setattr("time.sleep", lambda _: None)
    failures = downloads.fetch()
    assert list(failures) == ["one", "two"]
    assert all(isinstance(failure, downloads.SourceError) for failure in failures.values())
    assert tried == tries


def test_a_mirror_that_is_no_folder_is_an_error_not_an_absence(
    checkout: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(row())
    monkeypatch.setenv("REARENA_MIRROR", "../no-such-folder")
    with pytest.raises(downloads.SourceError, match="which is not a folder"):
        downloads.available("one")


def test_an_unknown_id_is_answered_with_close_ones(checkout: Callable[..., Path]) -> None:
    checkout(row("leaderbot-counts"))
    with pytest.raises(downloads.SourceError, match="close to it: leaderbot-counts"):
        downloads.available("leaderbot-count")


def test_files_are_found_by_notebook(checkout: Callable[..., Path]) -> None:
    checkout(row("one"), row("two", used_by="12-bt-intervals"), row("licence", used_by=""))
    assert downloads.used_by("12") == downloads.used_by("12-bt-intervals") == ["two"]
    assert downloads.used_by("1") == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"id": "../one"}, "id"),
        ({"id": "One"}, "id"),
        ({"url": "http://raw.example.com/one.csv"}, "url"),
        ({"url": "https://../one.csv"}, "url"),
        ({"url": "https://raw.example.com/a/%2e%2e/%2E%2E/one.csv"}, "path of the url"),
        ({"sha256": "abc"}, "sha256"),
        ({"bytes": "-1"}, "bytes"),
        ({"kind": "simulated"}, "kind"),
    ],
)
def test_a_row_that_could_lead_elsewhere_is_refused(
    checkout: Callable[..., Path], changes: dict[str, str], named: str
) -> None:
    checkout(row(**changes))
    with pytest.raises(downloads.SourceError, match=f"sources.csv line 2: {named} is not valid"):
        downloads.available("one")


def test_a_name_listed_twice_is_refused(checkout: Callable[..., Path]) -> None:
    checkout(row(), row())
    with pytest.raises(downloads.SourceError, match="line 3: one is listed twice"):
        downloads.sources()


def test_our_list_names_only_notebooks_of_the_map_and_every_repository_has_its_licence() -> None:
    frame = downloads.sources()
    assert not frame.empty
    assert all(len(stem) > 3 and stem[:2].isdigit() for stems in frame["used_by"] for stem in stems)
    repositories = frame["url"].str.split("/").str[3:5].str.join("/")
    licensed = set(repositories[frame.index.str.endswith("-licence")])
    # Three repositories state their licence elsewhere than in a file of its own.
    without = {"Vibhanshu-555/Human-Aligned-LLM-Evaluation-Audit", "beniaminogreen/chatbot_arena"}
    assert set(repositories) - licensed == without


@pytest.mark.real
def test_every_listed_file_is_what_the_list_says() -> None:
    frame = downloads.sources()
    here = [id for id in frame.index if downloads.available(id)]
    if not here:
        pytest.skip("nothing is downloaded")
    sizes = {id: downloads.path(id).stat().st_size for id in here}
    assert sizes == frame.loc[here, "bytes"].to_dict()
