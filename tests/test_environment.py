"""The files that describe the environment agree, and what they promise holds."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import warnings
from typing import Any

import numpy as np
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from rearena import project

ROOT = project.root()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))


def locked() -> dict[tuple[str, str], dict[str, Any]]:
    """Packages of uv.lock by name and version."""
    return {(package["name"], package["version"]): package for package in LOCK["package"]}


def runtime_closure() -> set[tuple[str, str]]:
    """What ``rearena`` needs without its dependency groups, over every platform."""
    versions: dict[str, list[str]] = {}
    for name, version in locked():
        versions.setdefault(name, []).append(version)
    found: set[tuple[str, str]] = set()
    project_package = locked()["rearena", PYPROJECT["project"]["version"]]
    waiting = list(project_package["dependencies"])
    while waiting:
        wanted = waiting.pop()
        for version in [wanted["version"]] if "version" in wanted else versions[wanted["name"]]:
            package = locked()[wanted["name"], version]
            if (wanted["name"], version) not in found:
                found.add((wanted["name"], version))
                waiting += package.get("dependencies", [])
            for extra in wanted.get("extra", []):
                waiting += [d for d in package["optional-dependencies"][extra] if d["name"] != wanted["name"]]
    return found


def requirements() -> dict[tuple[str, str], set[str]]:
    """Hashes in requirements.lock by name and version."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    parsed: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        match = re.match(r"([a-z0-9-]+)==(\S+)", line)
        assert match, line
        parsed[match[1], match[2]] = set(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
    return parsed


def test_requirements_lock_holds_what_uv_lock_holds() -> None:
    pinned = requirements()
    assert set(pinned) == runtime_closure(), "run `make lock`, or `make -B requirements.lock`"
    for key, hashes in pinned.items():
        package = locked()[key]
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        assert hashes == {file["hash"] for file in files}, key


def test_no_torch_in_any_form() -> None:
    unwanted = re.compile(r"torch|nvidia|triton|cuda|sentence-transformers|tensorflow")
    names = {name for name, _ in locked()} | {name for name, _ in requirements()}
    assert [name for name in names if unwanted.search(name)] == []


def test_every_direct_dependency_is_locked_at_a_version_it_admits() -> None:
    pinned = dict(requirements().keys())
    for text in PYPROJECT["project"]["dependencies"]:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        assert name in pinned
        assert requirement.specifier.contains(pinned[name])


def test_the_conda_file_leads_to_the_same_packages() -> None:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    named = {re.split(r"[<>=]", entry)[0]: entry for entry in listed}
    assert set(named) == {"python", "make", "git", "pip", "uv"}
    assert not set(named) & {name for name, _ in locked()}
    admitted = SpecifierSet(named["python"].removeprefix("python"))
    required = SpecifierSet(PYPROJECT["project"]["requires-python"])
    admits = [f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in admitted]
    assert all(minor in required for minor in admits)
    classifiers = " ".join(PYPROJECT["project"]["classifiers"])
    assert admits == re.findall(r"Python :: (3\.\d+)", classifiers)


def test_the_private_uv_can_build_the_project() -> None:
    pin = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert pin
    (backend,) = PYPROJECT["build-system"]["requires"]
    assert Requirement(backend).specifier.contains(pin[1])


def test_importing_the_package_is_quick_and_loads_nothing_heavy() -> None:
    program = (
        "import sys, time; import rearena, rearena.data\n"
        "print(time.process_time(), *[m for m in ('pandas', 'numpy', 'numba', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, *heavy = done.stdout.split()
    assert float(seconds) < 0.3
    assert heavy == []


def test_bertopic_finds_topics_without_torch() -> None:
    with warnings.catch_warnings():
        # umap says so at import; it is the one warning there is.
        warnings.filterwarnings("ignore", "Tensorflow not installed", ImportWarning)
        from bertopic import BERTopic
        from sklearn.cluster import KMeans
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = {0: "python code function loop error", 1: "bread oven flour yeast recipe"}
        random = np.random.default_rng(0)
        truth = np.repeat([0, 1], 30)
        texts = [" ".join(random.choice(words[topic].split(), size=6)) for topic in truth]
        vectors = TruncatedSVD(2, random_state=0).fit_transform(TfidfVectorizer().fit_transform(texts))
        model = BERTopic(hdbscan_model=KMeans(2, random_state=0, n_init=1), umap_model=_Kept())
        topics = np.array(model.fit_transform(texts, vectors)[0])
    assert "torch" not in sys.modules
    assert len(set(zip(truth, topics, strict=True))) == 2


class _Kept:
    """In place of UMAP: two dimensions need no reduction."""

    def fit(self, X: Any, y: Any = None) -> _Kept:
        return self

    def transform(self, X: Any) -> Any:
        return X


def test_peers_are_for_tests_and_benchmarks_only() -> None:
    # They are not among the package's dependencies, so a notebook that needs one fails where only those are.
    peers = {Requirement(peer).name for peer in PYPROJECT["dependency-groups"]["peers"]}
    files = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "src").rglob("*.py")]
    wanted = re.compile(rf"(?:from|import) ({'|'.join(sorted(peers))})\b")
    assert {(file.name, *wanted.findall(file.read_text("utf-8"))) for file in files} == {
        (file.name,) for file in files
    }
    assert len(files) > 40
