"""Files that are downloaded, not shipped: what they are, where they come from, and whether they are here.

``data/sources.csv`` lists every file with its address (at a pinned commit), sha256 and size. Local copies
are ``data/downloads/<id><suffix>``; nothing enters that folder whose sha256 differs from the list. Only
``make data`` uses the network. ``REARENA_MIRROR=DIR`` reads ``DIR/<host>/<path>`` in its place (a relative
DIR starts at the checkout), ``REARENA_OFFLINE=1`` forbids the network altogether.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from rearena.project import root

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("released", "analogous")
_SUFFIXES = (".csv", ".json", ".jsonl", ".pkl", ".rds", ".zip")
_ATTEMPTS = 3


class SourceError(RuntimeError):
    """A downloadable file is unknown, absent, unreachable or not what ``data/sources.csv`` says it is."""


class _NoConnectionError(SourceError):
    """The host cannot be reached at all, as probably no other can."""


@dataclass(frozen=True)
class Source:
    """One row of ``data/sources.csv``.

    Attributes
    ----------
    id : str
        Our own name of the file; also its local file name, before the suffix.
    url : str
        https address at a pinned commit.
    sha256 : str
        64 lower-case hexadecimal digits.
    bytes : int
        Size of the file.
    licence : str
        Licence as its publisher states it.
    kind : str
        ``released`` (by the papers' own authors) or ``analogous``.
    used_by : tuple of str
        Stems of the notebooks that read it; empty for licence texts.
    holds : str
        What is in it, in one line.
    """

    id: str
    url: str
    sha256: str
    bytes: int
    licence: str
    kind: str
    used_by: tuple[str, ...]
    holds: str

    @property
    def filename(self) -> str:
        """Local file name, made of the id and a suffix from a closed list, never of the address."""
        suffix = Path(urlsplit(self.url).path).suffix
        return self.id + (suffix if suffix in _SUFFIXES else ".txt")

    @property
    def mirrored(self) -> Path:
        """Path of the file inside a mirror: ``<host>/<path>``, percent-decoded."""
        parts = urlsplit(self.url)
        return Path(parts.netloc, *unquote(parts.path).strip("/").split("/"))


def sources() -> pd.DataFrame:
    """``data/sources.csv`` as a frame with index ``id`` and ``used_by`` as tuples of notebook stems."""
    import pandas as pd

    return pd.DataFrame([asdict(source) for source in _listed().values()]).set_index("id")


def used_by(notebook: str) -> list[str]:
    """Ids of the files that a notebook reads.

    Parameters
    ----------
    notebook : str
        Its stem or its two-digit number.

    Returns
    -------
    list of str
        In the order of ``data/sources.csv``; empty where the notebook reads none.

    Raises
    ------
    SourceError
        If a row of ``data/sources.csv`` is not valid.
    """
    return [
        id for id, source in _listed().items() if notebook in {n for s in source.used_by for n in (s, s[:2])}
    ]


def available(*ids: str) -> bool:
    """Whether every one of these files is in ``data/downloads`` or in the mirror; contents are not read.

    Raises
    ------
    SourceError
        If an id is not listed, or ``REARENA_MIRROR`` names no folder.
    """
    return not missing(*ids)


def missing(*ids: str) -> list[str]:
    """Those of the ids that are neither in ``data/downloads`` nor in the mirror; see `available`."""
    mirror, folder = _mirror(), _folder()
    here = [folder / lookup(id).filename for id in ids]
    there = [mirror / lookup(id).mirrored if mirror else None for id in ids]
    return [
        id
        for id, local, mirrored in zip(ids, here, there, strict=True)
        if not local.is_file() and not (mirrored and mirrored.is_file())
    ]


def path(id: str) -> Path:
    """Local path of a file whose bytes are verified, copied from the mirror when there is one.

    The network is never used. Each file is hashed once in a process.

    Parameters
    ----------
    id : str
        An id of ``data/sources.csv``.

    Returns
    -------
    pathlib.Path
        File in ``data/downloads`` with the listed sha256.

    Raises
    ------
    SourceError
        If the id is not listed, the file is absent, or its sha256 differs from the list.
    """
    source = lookup(id)
    local = _folder() / source.filename
    if not local.is_file():
        if _mirror() is None:
            raise SourceError(
                f"{id} is not downloaded: run `make data` (this file: {_size(source.bytes)}), "
                "or set REARENA_MIRROR to a local mirror"
            )
        _obtain(source)
    _verify(local, source.sha256)
    return local


def fetch(ids: Iterable[str] | None = None) -> dict[str, SourceError]:
    """Bring files into ``data/downloads``, from the mirror or else from the network.

    Files that are already there and verified are left alone; a damaged one is replaced. A file that fails
    does not stop the others, and leaves nothing behind.

    Parameters
    ----------
    ids : iterable of str, optional
        What to bring; everything that is listed by default.

    Returns
    -------
    dict of str to SourceError
        The failures by id; empty when all went well.

    Raises
    ------
    SourceError
        If an id is not listed, or ``REARENA_MIRROR`` names no folder.
    """
    from tqdm import tqdm

    wanted = list(_listed().values()) if ids is None else [lookup(id) for id in ids]
    _mirror()
    failures: dict[str, SourceError] = {}
    attempts = _ATTEMPTS
    total = sum(source.bytes for source in wanted)
    with tqdm(total=total, unit="B", unit_scale=True, disable=None, leave=False) as bar:
        for source in wanted:
            bar.set_description(source.id, refresh=True)
            try:
                _obtain(source, attempts)
            except SourceError as error:
                failures[source.id] = error
                # Without a connection, trying every file three times would only take minutes.
                attempts = 1 if isinstance(error, _NoConnectionError) else attempts
            bar.update(source.bytes)
    return failures


def main(arguments: list[str] | None = None) -> int:
    """Run ``python -m rearena.data.downloads [ids ...] [--notebook NN]``: bring files and report.

    Returns
    -------
    int
        0 when every wanted file is in ``data/downloads`` and verified, else 1.
    """
    parser = argparse.ArgumentParser(prog="rearena.data.downloads", description="Download the real data.")
    parser.add_argument("ids", nargs="*", help="ids of data/sources.csv; all of them by default")
    parser.add_argument("--notebook", default="", help="only what this notebook uses: its number or stem")
    options = parser.parse_args(arguments)
    try:
        wanted = options.ids or (used_by(options.notebook) if options.notebook else list(_listed()))
        if not wanted:
            raise SourceError(f"no file of data/sources.csv is used by notebook {options.notebook!r}")
        total = sum(lookup(id).bytes for id in wanted)
        print(f"{len(wanted)} files, {_size(total)}, into {_folder().relative_to(root())}/", flush=True)
        failures = fetch(wanted)
    except SourceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: files that are complete stay, run it again for the rest", file=sys.stderr)
        return 130
    print(f"{len(wanted) - len(failures)} verified, {len(failures)} failed")
    for failure in failures.values():
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


@cache
def _listed() -> dict[str, Source]:
    """All sources by id, in the order of the file."""
    file = root() / "data" / "sources.csv"
    listed: dict[str, Source] = {}
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        expected = [field.name for field in fields(Source)]
        if reader.fieldnames != expected:
            raise SourceError(f"{file.name}: columns are {reader.fieldnames}, expected {expected}")
        for row in reader:
            source = _parse(row, f"{file.name} line {reader.line_num}")
            if source.id in listed:
                raise SourceError(f"{file.name} line {reader.line_num}: {source.id} is listed twice")
            listed[source.id] = source
    return listed


def _parse(row: dict[str | Any, str | Any], where: str) -> Source:
    """One checked row. The patterns keep every path made from it inside its folder."""
    if None in row or None in row.values():
        raise SourceError(f"{where}: the number of cells is not that of the header")
    url = urlsplit(row["url"])
    checks = {
        "id": re.fullmatch(r"[a-z0-9][a-z0-9._-]*", row["id"]),
        "url": url.scheme == "https" and re.fullmatch(r"[a-z0-9.-]+\.[a-z]+", url.netloc) and not url.query,
        "path of the url": not {"", ".", ".."} & set(unquote(url.path).strip("/").split("/")),
        "sha256": re.fullmatch(r"[0-9a-f]{64}", row["sha256"]),
        "bytes": re.fullmatch(r"[0-9]+", row["bytes"]),
        "kind": row["kind"] in KINDS,
    }
    for name, passed in checks.items():
        if not passed:
            raise SourceError(f"{where}: {name} is not valid in {row}")
    return Source(
        id=row["id"],
        url=row["url"],
        sha256=row["sha256"],
        bytes=int(row["bytes"]),
        licence=row["licence"],
        kind=row["kind"],
        used_by=tuple(stem for stem in row["used_by"].split(";") if stem),
        holds=row["holds"],
    )


def lookup(id: str) -> Source:
    """The row of ``data/sources.csv`` with this id; SourceError with the closest ids where there is none."""
    try:
        return _listed()[id]
    except KeyError:
        import difflib

        close = ", ".join(difflib.get_close_matches(id, _listed(), n=3)) or "see the file"
        raise SourceError(f"{id!r} is not an id of data/sources.csv; close to it: {close}") from None


def _folder() -> Path:
    return root() / "data" / "downloads"


def _mirror() -> Path | None:
    """Folder that ``REARENA_MIRROR`` names, or None where it is not set."""
    name = os.environ.get("REARENA_MIRROR")
    if not name:
        return None
    folder = root() / name
    if not folder.is_dir():
        raise SourceError(f"REARENA_MIRROR is {name!r}, which is not a folder; correct or unset it")
    return folder


def _obtain(source: Source, attempts: int = 1) -> None:
    """Put one verified file into ``data/downloads``: a temporary file there, the check, then a rename."""
    import requests
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        # pooch asks for a notebook's progress bar, which warns where ipywidgets are not installed.
        warnings.simplefilter("ignore", TqdmWarning)
        import pooch
    pooch.get_logger().setLevel("WARNING")
    mirror = _mirror()
    keeper = pooch.create(
        _folder(),
        base_url="",
        registry={source.filename: f"sha256:{source.sha256}"},
        urls={source.filename: source.url},
        retry_if_failed=0 if mirror else attempts - 1,
    )
    try:
        keeper.fetch(source.filename, downloader=_copy_from_mirror(source, mirror) if mirror else _download)
    except ValueError as error:  # pooch's word for a sha256 that differs; the message holds both
        origin = f"the mirror's {source.mirrored}" if mirror else source.url
        raise SourceError(
            f"{source.id}: {origin} was refused and not kept: {error} "
            + ("Repair the mirror." if mirror else "Try `make data` again later.")
        ) from error
    except requests.ConnectionError as error:
        raise _NoConnectionError(f"{source.id}: {source.url}: no connection") from error
    except OSError as error:  # of the disk, or of requests, whose exceptions derive from it
        raise SourceError(f"{source.id}: {source.url}: {error}") from error


def _copy_from_mirror(source: Source, mirror: Path) -> object:
    def copy(url: str, output_file: str, keeper: object) -> None:
        if not (mirror / source.mirrored).is_file():
            raise SourceError(f"{source.id}: REARENA_MIRROR is set, and that mirror lacks {source.mirrored}")
        os.unlink(output_file)  # pooch made it for its owner only; made anew, it is as any other file
        shutil.copyfile(mirror / source.mirrored, output_file)

    return copy


def _download(url: str, output_file: str, keeper: object) -> None:
    import pooch

    if os.environ.get("REARENA_OFFLINE", "0") not in ("", "0"):
        raise SourceError(f"{url} is not here and REARENA_OFFLINE forbids the network; unset it to download")
    os.unlink(output_file)  # as above
    pooch.HTTPDownloader(timeout=60)(url, output_file, None)


@cache
def _verify(local: Path, sha256: str) -> None:
    import hashlib

    with local.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise SourceError(
            f"data/downloads/{local.name} is damaged: sha256 expected {sha256}, found {found}. "
            "Delete it, or run `make data`, which replaces it"
        )


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


if __name__ == "__main__":
    sys.exit(main())
