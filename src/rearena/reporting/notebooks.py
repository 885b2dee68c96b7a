"""Run the notebooks: ``python -m rearena.reporting.notebooks {run,check,evidence,lab}``.

A run does not depend on the user's Jupyter, IPython or matplotlib configuration, and counts as done only
when every code cell ran without an error. Until then its figures stay in a folder of their own, so that a
failing run changes nothing that is committed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from rearena.atomic import write_bytes, write_text
from rearena.project import figures, root
from rearena.reporting import contract

_DROPPED = (
    *("JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "JUPYTER_PLATFORM_DIRS", "MATPLOTLIBRC", "MPLBACKEND"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"),
)
_FIXED = {
    "JUPYTER_NO_CONFIG": "1",
    "JUPYTER_PREFER_ENV_PATH": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
}
_PRIVATE = {
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "MPLCONFIGDIR": "matplotlib",
}
# Tags of the cells that papermill adds.
_INSERTED = {"injected-parameters", "papermill-error-cell-tag"}


class NotebookError(RuntimeError):
    """A notebook cannot be run as asked, or did not run to its end."""


def digest(notebook: Path) -> str:
    """Fingerprint of what a notebook computes: 10 hexadecimal digits of sha256.

    It covers the code cells and what ``profiles/default.yaml`` sets for them; not ``src/`` and not the data,
    whose changes make every notebook run again. Figures and results carry it, so that one of an earlier
    version of the notebook is recognised.

    Raises
    ------
    ValueError
        If the file is not a notebook.
    NotebookError
        If the profile is not a mapping of notebooks to values.
    """
    code = [cell["source"] for cell in contract.load(notebook)["cells"] if cell["cell_type"] == "code"]
    profile = root() / "profiles" / "default.yaml"
    values = _settings(profile).get(notebook.stem, {}) if profile.is_file() else {}
    code += [f"{name} = {value!r}" for name, value in sorted(values.items())]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:10]


def workspace(profile: str) -> Path:
    """Folder for what runs in a profile leave behind: ``build``, or ``build/<profile>`` for the others."""
    return root() / "build" if profile == "default" else root() / "build" / profile


def destination(profile: str) -> Path:
    """Folder that the figures of a profile end up in: the committed ones are those of ``default``."""
    return figures() if profile == "default" else workspace(profile) / "figures"


def parameters(notebook: Path, profile: str) -> dict[str, Any]:
    """Parameters that ``profiles/<profile>.yaml`` sets for a notebook; none means the notebook's own.

    Raises
    ------
    NotebookError
        If there is no such profile, it is not a mapping, it names a notebook that does not exist, it sets a
        name that the notebook's parameters cell does not assign, or that cell is absent.
    """
    profiles = {file.stem: file for file in (root() / "profiles").glob("*.yaml")}
    if profile not in profiles:
        raise NotebookError(f"no profile {profile!r} in profiles/; there are {sorted(profiles)}")
    chosen = _settings(profiles[profile])
    where = f"profiles/{profile}.yaml"
    unknown = sorted(set(chosen) - {file.stem for file in notebook.parent.glob("*.ipynb")})
    if unknown:
        raise NotebookError(f"{where} names notebooks that do not exist: {', '.join(unknown)}")
    try:
        names = contract.parameter_names(notebook)
    except (ValueError, SyntaxError) as error:
        raise NotebookError(str(error)) from error
    values = chosen.get(notebook.stem, {})
    unknown = sorted(set(values) - names)
    if unknown:
        raise NotebookError(
            f"{where}: {notebook.stem} has no parameter {', '.join(unknown)}; "
            f"it has {', '.join(sorted(names))}"
        )
    return values


def _settings(profile: Path) -> dict[str, dict[str, Any]]:
    """Content of a profile: what it sets, by notebook stem."""
    import yaml

    try:
        chosen = yaml.safe_load(profile.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise NotebookError(f"profiles/{profile.name} is not YAML: {error}") from error
    if not isinstance(chosen, dict) or not all(isinstance(values, dict) for values in chosen.values()):
        raise NotebookError(f"profiles/{profile.name} must map notebook stems to {{name: value}}, or be {{}}")
    return chosen


def run(notebook: Path, output: Path, profile: str = "default", timeout: int = 3600) -> None:
    """Execute one notebook with the parameters of a profile; publish its figures, executed copy and page.

    Nothing is published unless every code cell ran. Figures that an earlier run made and this one did not
    stay as they are.

    Parameters
    ----------
    notebook : pathlib.Path
        A notebook of the ``notebooks`` folder.
    output : pathlib.Path
        Where the executed copy goes, in one rename and after everything else.
    profile : str
        Name of a file in ``profiles``.
    timeout : int
        Seconds that one cell may take.

    Raises
    ------
    NotebookError
        If the notebook or the profile is not as it must be, the kernel is not this interpreter, or a cell
        failed; then the copy as far as it ran is ``build/failed/<notebook>``.
    """
    from rearena.reporting import webpage

    values = parameters(notebook, profile)
    place, target, chosen = workspace(profile), destination(profile), os.environ.get("REARENA_FIGURES")
    isolate()
    _require_own_kernel()
    stage = _stage(output.parent.resolve(), notebook.stem)
    part, drawn, kept = stage / notebook.name, stage / "figures", place / "failed" / notebook.name
    os.environ["REARENA_FIGURES"] = str(drawn)
    try:
        problem = _execute(notebook, part, values, timeout)
        if problem is not None:
            if part.is_file():
                write_bytes(kept, part.read_bytes())
                problem += f"\n  executed copy: {os.path.relpath(kept)}"
            raise NotebookError(f"{notebook.stem} failed {problem}")
        webpage.write(part, place / "html" / f"{notebook.stem}.html", title=notebook.stem)
        for file in filter(Path.is_file, sorted(drawn.rglob("*"))):
            write_bytes(target / file.relative_to(drawn), file.read_bytes())
        os.replace(part, output)
        kept.unlink(missing_ok=True)
    finally:
        shutil.rmtree(stage, ignore_errors=True)  # what a dying kernel still writes, the next run sweeps
        del os.environ["REARENA_FIGURES"]
        os.environ.update({"REARENA_FIGURES": chosen} if chosen else {})


def _stage(folder: Path, stem: str) -> Path:
    """Make a folder for this run, beside its output; remove those of runs that were killed."""
    for left in folder.glob(f".{stem}.[0-9]*"):
        if left.suffix == f".{os.getpid()}" or not _alive(int(left.suffix[1:])):
            shutil.rmtree(left)
    stage = folder / f".{stem}.{os.getpid()}"
    (stage / "figures").mkdir(parents=True)
    return stage


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except OSError as error:
        return isinstance(error, PermissionError)  # there, but another user's
    return True


def isolate() -> None:
    """Make this process, and the kernels it starts, independent of the user's configuration.

    Must come before anything of Jupyter is imported. Kernels talk over TCP, so the length of the path of
    the runtime folder does not matter.
    """
    for name in _DROPPED:
        os.environ.pop(name, None)
    os.environ.update(_FIXED)
    for name, folder in _PRIVATE.items():
        private = root() / "build" / "jupyter" / folder
        private.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.environ[name] = str(private)


def evidence(notebooks: list[Path]) -> None:
    """Write ``build/evidence/<notebook>.txt``: its source files, their sha256, and which are here.

    Make compares dates, so an unchanged file keeps its own and the notebook is not executed again.
    """
    from rearena.data import downloads

    for notebook in notebooks:
        ids = downloads.used_by(notebook.stem)
        absent = set(downloads.missing(*ids))
        text = "".join(
            f"{id} {downloads.lookup(id).sha256} {'absent' if id in absent else 'here'}\n" for id in ids
        )
        target = root() / "build" / "evidence" / f"{notebook.stem}.txt"
        write_text(target, text)


def _execute(notebook: Path, part: Path, values: dict[str, Any], timeout: int) -> str | None:
    """Run into ``part``; what went wrong and where, or None.

    Papermill saves a notebook whose kernel was killed or left by ``exit()`` as completed, so that its
    silence is not trusted: every code cell must have been counted and be without an error.
    """
    import nbformat
    import papermill
    from traitlets.config import Config

    # Other users of the machine cannot listen in, and the kernel does not warn that they could.
    encrypted = Config({"KernelManager": {"transport_encryption": "auto"}})
    raised: Exception | None = None
    try:
        papermill.execute_notebook(
            os.path.relpath(notebook),
            os.path.relpath(part),
            values,
            kernel_name="python3",
            progress_bar=sys.stderr.isatty(),
            cwd=os.path.relpath(notebook.parent),
            execution_timeout=timeout,
            config=encrypted,
            # nbclient ends an idle kernel by an interrupt, which the kernel would report as an error.
            extra_arguments=["--IPKernelApp.log_level=50"],
        )
    except Exception as exception:  # whatever a cell, the kernel or its time limit raises is a failure
        raised = exception
    cells = nbformat.read(part, as_version=4).cells if part.is_file() else []  # type: ignore[no-untyped-call]
    # Counted as in the committed notebook: without what papermill puts in.
    own = [cell for cell in cells if not _INSERTED & set(cell.metadata.get("tags", []))]
    code = [
        (n, cell) for n, cell in enumerate(own, start=1) if cell.cell_type == "code" and cell.source.strip()
    ]
    begun = [n for n, cell in code if cell.metadata.get("papermill", {}).get("start_time")]
    errors = [(n, out) for n, cell in code for out in cell.outputs if out.output_type == "error"]
    unrun = [n for n, cell in code if cell.execution_count is None]
    if errors and not isinstance(raised, TimeoutError):
        number, error = errors[0]
        return f"in cell {number}: {f'{error.ename}: {error.evalue}'.strip().splitlines()[0]}"
    if raised is not None:
        return f"in cell {begun[-1] if begun else 0}: {_line(raised)}"
    return f"in cell {unrun[0]}: it did not run, the kernel had ended" if unrun else None


def _line(error: Exception) -> str:
    """First line of an exception that says something."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _require_own_kernel() -> None:
    """Refuse to run a notebook in any other interpreter than this one, the environment's."""
    from jupyter_client.manager import KernelManager

    command = KernelManager(kernel_name="python3").format_kernel_cmd()
    if command[0] != sys.executable:
        raise NotebookError(
            f"kernel python3 starts {command[0]}, not {sys.executable}; remove .venv and run make again"
        )


def _run(options: argparse.Namespace) -> int:
    name = options.notebook.stem
    print(f"{name}: running, profile {options.profile}", flush=True)
    start = time.monotonic()
    try:
        run(options.notebook, options.output, options.profile, options.timeout)
    except NotebookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{name}: done in {time.monotonic() - start:.1f} s", flush=True)
    return 0


def _check(options: argparse.Namespace) -> int:
    found = [breach for notebook in options.notebooks for breach in contract.check(notebook)]
    print("\n".join(found) if found else f"{len(options.notebooks)} notebooks keep the contract")
    return 1 if found else 0


def _evidence(options: argparse.Namespace) -> int:
    evidence(options.notebooks)
    return 0


def _lab(options: argparse.Namespace) -> int:
    isolate()
    _require_own_kernel()
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--LabApp.default_url=/lab/tree/notebooks",
        *options.arguments,
    ]
    os.execv(sys.executable, command)


def main(arguments: list[str] | None = None) -> int:
    """Command line of this module; returns the exit status."""
    parser = argparse.ArgumentParser(prog="rearena.reporting.notebooks", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run", help="execute one notebook")
    one.add_argument("notebook", type=Path)
    one.add_argument("--output", type=Path, required=True, help="where the executed copy goes")
    one.add_argument("--profile", default="default", help="a file of profiles/")
    one.add_argument("--timeout", type=int, default=3600, help="seconds that one cell may take")
    one.set_defaults(call=_run)
    for name, call in (("check", _check), ("evidence", _evidence)):
        several = commands.add_parser(name, help=(call.__doc__ or name))
        several.add_argument("notebooks", type=Path, nargs="*")
        several.set_defaults(call=call)
    lab = commands.add_parser("lab", help="start JupyterLab on this environment's kernel")
    lab.add_argument("arguments", nargs="*")
    lab.set_defaults(call=_lab)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    try:
        status: int = options.call(options)
    except KeyboardInterrupt:
        print("interrupted, nothing published", file=sys.stderr)
        return 130
    return status


def _stop(*_: object) -> NoReturn:
    """Take SIGTERM, which a stopped make sends, for Ctrl-C: the one way out that asyncio leaves clean."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not break off the cleaning up
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
