"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_text(target: Path, text: str) -> None:
    """Write UTF-8 text, line ends as they are; see `write_bytes`."""
    write_bytes(target, text.encode())


def write_bytes(target: Path, content: bytes) -> None:
    """Write by a rename in the same folder; a file that already holds the content keeps its date.

    Parameters
    ----------
    target : pathlib.Path
        File to write; its folders are made.
    content : bytes
        All of it.
    """
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        part.chmod(0o644)  # mkstemp makes it private
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
