"""Topics of prompts: BERTopic with UMAP and HDBSCAN, seeded, fitted once and kept.

Source: Chatbot Arena, section 6.1 (text embedding, UMAP to 5 dimensions, HDBSCAN with minimum cluster size
32, names by a model from ten sampled prompts); Arena-Hard, section 4.1 (the same pipeline, no sizes given).

The minimum cluster size is the papers' 32 from 6,400 prompts on and one in 200 below, but at least 5. Copies
count once: a topic is so many *different* prompts. UMAP starts at the first five coordinates of the embedding
and not at the spectral layout, which warns and gives up where the graph of neighbours is in pieces.

HDBSCAN chooses clusters by excess of mass. At times a few prompts lie so far off that all the others persist
as one cluster longer than the topics in it: an unlucky seed gives two topics where the next gives fifteen.
This is a *collapse*: the largest topic holds more than half of the prompts, although the same tree has three
or more leaves in it. Then the leaves are the topics, and the result says so. Of 20 simulated corpora of 80
prompts each 5 collapsed, 4 of those of 140, 1 of 220, and none of 440 or of 2,700.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from threadpoolctl import threadpool_limits

from rearena import project
from rearena.atomic import write_bytes
from rearena.curation.embedders import CHARACTERS, embed

DIMENSIONS, NEIGHBOURS, MINIMUM_SIZE = 5, 15, 32
_SHARE, _FLOOR = 200, 5  # smaller corpora: one in so many prompts, and at least so many
_SAMPLED = 10  # prompts from which a model names a topic
_WORDS, _LONG = 3, 20  # in a name, and characters of a word there
_ARRAYS = ("labels", "centroids", "nearest")
_LIBRARIES = ("bertopic", "hdbscan", "numpy", "pynndescent", "scikit-learn", "umap-learn")


@dataclass(frozen=True)
class Topics:
    """Topics of N prompts, numbered from the largest, 0; -1 is no topic.

    Attributes
    ----------
    labels : ndarray of int, shape (N,)
        Topic of each prompt.
    names : tuple of str, length K
        The words of largest c-TF-IDF, until :func:`named` gives others. All different.
    centroids : ndarray of float, shape (K, D)
        Mean embedding of each topic, of length one.
    nearest : ndarray of int, shape (K, 10)
        Positions of the prompts nearest to the centroid, nearest first; -1 where a topic has fewer.
    collapsed : bool
        Whether the leaves were used in place of a collapse; see the module.
    embedder, seed, minimum_size
        The settings that made them.
    """

    labels: NDArray[np.int64]
    names: tuple[str, ...]
    centroids: NDArray[np.float64]
    nearest: NDArray[np.int64]
    collapsed: bool
    embedder: str
    seed: int
    minimum_size: int

    def to_frame(self) -> pd.DataFrame:
        """Index ``topic``; columns ``name``, ``size`` (prompts) and ``share`` of all prompts, in [0, 1]."""
        size = np.bincount(self.labels[self.labels >= 0], minlength=len(self.names))
        share = size / max(len(self.labels), 1)
        index = pd.RangeIndex(len(self.names), name="topic")
        return pd.DataFrame({"name": list(self.names), "size": size, "share": share}, index=index)

    def similarity(self, largest: int | None = None) -> pd.DataFrame:
        """Cosine of the centroids of the largest topics, in [-1, 1] (Chatbot Arena, Figures 3 and 11)."""
        names, centroids = list(self.names[:largest]), self.centroids[:largest]
        return pd.DataFrame(centroids @ centroids.T, index=names, columns=names)

    def hierarchy(self, largest: int | None = None) -> NDArray[np.float64]:
        """Linkage by scipy of the largest topics: average cosine distance (Chatbot Arena, Figure 12).

        Raises
        ------
        ValueError
            If there are fewer than two topics.
        """
        centroids = self.centroids[:largest]
        if len(centroids) < 2:
            raise ValueError(f"a hierarchy needs two topics, there are {len(centroids)}")
        return np.asarray(linkage(centroids, method="average", metric="cosine"))


def fit(
    texts: Sequence[str],
    seed: int = 0,
    *,
    embedder: str = "tfidf",
    minimum_size: int | None = None,
    progress: bool = False,
) -> Topics:
    """Topics of texts.

    Parameters
    ----------
    texts : sequence of str, length N
        Blank ones get no topic.
    seed : int
        Of the embedding and of UMAP; HDBSCAN draws nothing.
    embedder : str
        See :func:`rearena.curation.embedders.embed`.
    minimum_size : int, optional
        Different prompts that make a topic, at least 2. Default: by the size of the corpus; see the module.
    progress : bool
        Say what is being done, and how far UMAP has come.

    Returns
    -------
    Topics
        None where there are fewer than twice ``minimum_size`` different prompts to tell apart.

    Raises
    ------
    TypeError
        If a text is none.
    ValueError
        If ``minimum_size`` is below 2; see also ``embed``.
    """
    filled = np.array([k for k, text in enumerate(_checked(texts)) if text.strip()], dtype=np.int64)
    vectors = embed([texts[k] for k in filled], embedder, seed)
    distinct, first, copy_of = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    size = minimum_size if minimum_size is not None else smallest(len(distinct))
    if size < 2:
        raise ValueError(f"minimum_size must be at least 2, got {size}")
    names: tuple[str, ...] = ()
    if len(distinct) < 2 * size:
        found, collapsed = np.full(len(distinct), -1), False
    else:
        found, names, collapsed = _bertopic([texts[k] for k in filled[first]], distinct, seed, size, progress)
    labels = np.full(len(texts), -1)
    labels[filled] = found[copy_of.reshape(-1)]
    centroids = _centroids(distinct, found)
    nearest = _nearest(vectors, labels[filled], centroids)
    nearest = np.where(nearest >= 0, filled[nearest], -1) if len(nearest) else nearest
    return Topics(labels, names, centroids, nearest, collapsed, embedder, seed, size)


def smallest(count: int) -> int:
    """Minimum cluster size for so many different prompts: 32, scaled down for small corpora."""
    return min(max(count // _SHARE, _FLOOR), MINIMUM_SIZE)


def stored(
    texts: Sequence[str],
    seed: int = 0,
    *,
    embedder: str = "tfidf",
    minimum_size: int | None = None,
    progress: bool = False,
) -> Topics:
    """:func:`fit`, or what it gave before for the same texts, settings, code and libraries.

    Kept under ``build/topics`` as plain arrays and JSON; a file that cannot be read is made again.
    """
    settings = {"seed": seed, "embedder": embedder, "minimum_size": minimum_size}
    made_by = {name: version(name) for name in _LIBRARIES}
    content = json.dumps([list(_checked(texts)), settings, made_by]).encode()
    code = b"".join((Path(__file__).parent / name).read_bytes() for name in ("embedders.py", "topics.py"))
    key = hashlib.sha256(content + code).hexdigest()
    file = project.root() / "build" / "topics" / f"{key}.npz"
    try:
        return _read(file)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        topics = fit(texts, seed, embedder=embedder, minimum_size=minimum_size, progress=progress)
        _write(topics, file)
        return topics


def named(
    topics: Topics, texts: Sequence[str], namer: Callable[[list[list[str]]], Sequence[str]], seed: int = 0
) -> Topics:
    """The same topics, named by a model from ten sampled prompts each (Chatbot Arena, section 6.1).

    Parameters
    ----------
    topics : Topics
    texts : sequence of str, length N
        Those that the topics were fitted to.
    namer : callable
        From the sampled prompts of each topic to a name for each, for example one that asks through
        ``rearena.llm``. A topic whose name is blank keeps its words.
    seed : int
        Of the sample.
    """
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(topics.labels == k) for k in range(len(topics.names))]
    sampled = [rng.choice(rows, min(_SAMPLED, len(rows)), replace=False) for rows in members]
    names = namer([[texts[k] for k in rows] for rows in sampled])
    chosen = [name.strip() or words for name, words in zip(names, topics.names, strict=True)]
    return replace(topics, names=_different(chosen))


def stability(
    texts: Sequence[str], seeds: Sequence[int], *, embedder: str = "tfidf", minimum_size: int | None = None
) -> pd.DataFrame:
    """What another seed changes: one fit each, compared with all others.

    Returns
    -------
    DataFrame
        Index ``seed``; ``topics``, ``outliers`` and ``largest`` (shares of the prompts, in [0, 1]),
        ``collapsed``, and ``agreement``: mean adjusted mutual information with the other seeds' topics,
        outliers as one of them; at most 1, and 0 for unrelated topics.
    """
    from sklearn.metrics import adjusted_mutual_info_score

    fits = {seed: stored(texts, seed, embedder=embedder, minimum_size=minimum_size) for seed in seeds}
    alike = pd.DataFrame(np.nan, index=list(fits), columns=list(fits))
    for one, other in combinations(fits, 2):
        found = adjusted_mutual_info_score(fits[one].labels, fits[other].labels)
        alike.loc[one, other] = alike.loc[other, one] = found
    rows = {
        seed: {
            "topics": len(topics.names),
            "outliers": float((topics.labels < 0).mean()),
            "largest": float(topics.to_frame()["share"].max()) if topics.names else 0.0,
            "collapsed": topics.collapsed,
            "agreement": alike[seed].mean(),
        }
        for seed, topics in fits.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("seed")


def _checked(texts: Sequence[str]) -> Sequence[str]:
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"prompt {place} is {text!r}, not text")
    return texts


def _bertopic(
    texts: list[str], vectors: NDArray[np.float32], seed: int, size: int, progress: bool
) -> tuple[NDArray[np.int64], tuple[str, ...], bool]:
    """Topic of each text, by size, their names, and whether the leaves stand in for a collapse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, at import and on pandas
        from bertopic import BERTopic
        from sklearn.feature_extraction.text import CountVectorizer
        from umap import UMAP  # type: ignore[import-untyped]

        start = np.zeros((len(vectors), DIMENSIONS), dtype=np.float32)
        start[:, : vectors.shape[1]] = vectors[:, :DIMENSIONS]
        clusters = _Clusters(size)
        model = BERTopic(
            language="multilingual",  # "english" would drop every letter beyond a to z
            umap_model=UMAP(
                n_neighbors=min(NEIGHBOURS, len(vectors) - 1),
                n_components=DIMENSIONS,
                min_dist=0.0,
                metric="euclidean",
                init=start,
                random_state=seed,
                n_jobs=1,
                verbose=progress,
            ),
            hdbscan_model=clusters,
            vectorizer_model=CountVectorizer(analyzer=_terms),
            verbose=progress,
        )
        with threadpool_limits(1):
            # pandas keeps UTF-8, in which half of a surrogate pair has no place
            cut = [text[:CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
            labels, _ = model.fit_transform(cut, vectors)
    found = np.array(labels, dtype=np.int64)
    words = (model.get_topic(k)[:_WORDS] for k in range(found.max() + 1))
    names = _different([", ".join(word[:_LONG] for word, _ in row if word) for row in words])
    return found, names, clusters.collapsed


class _Clusters:
    """HDBSCAN in the form that BERTopic asks for, with the remedy for a collapse."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.collapsed = False
        self.labels_ = np.empty(0, dtype=np.int64)

    def fit(self, points: NDArray[np.float32], y: object = None) -> _Clusters:
        from hdbscan import HDBSCAN  # type: ignore[import-untyped]

        by_mass, by_leaf = (
            np.asarray(
                HDBSCAN(self.size, cluster_selection_method=method).fit_predict(points), dtype=np.int64
            )
            for method in ("eom", "leaf")
        )
        sizes = np.bincount(by_mass + 1, minlength=2)[1:]
        within = set(by_leaf[by_mass == np.argmax(sizes)]) - {-1}
        self.collapsed = bool(2 * sizes.max() > len(points) and len(within) >= 3)
        self.labels_ = by_leaf if self.collapsed else by_mass
        return self


def _terms(text: str) -> list[str]:
    """Words of two letters or more that are not stop words; where there are none, what stands between spaces.

    And an empty word, since BERTopic fails where there is only one.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = [word for word in re.findall(r"[^\W\d_]{2,}", text.lower()) if word not in ENGLISH_STOP_WORDS]
    return [*(words or text.split()), ""]


def _centroids(vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    means = [vectors[labels == k].mean(axis=0, dtype=float) for k in range(labels.max(initial=-1) + 1)]
    stacked = np.array(means).reshape(len(means), vectors.shape[1])
    unit: NDArray[np.float64] = stacked / np.linalg.norm(stacked, axis=1, keepdims=True)
    return unit


def _nearest(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], centroids: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Rows of the vectors nearest to each centroid; the first of equals first."""
    nearest = np.full((len(centroids), _SAMPLED), -1)
    for topic, centroid in enumerate(centroids):
        rows = np.flatnonzero(labels == topic)
        order = np.argsort(-np.round(vectors[rows] @ centroid, 6), kind="stable")[:_SAMPLED]
        nearest[topic, : len(order)] = rows[order]
    return nearest


def _different(names: Sequence[str]) -> tuple[str, ...]:
    """Names of which no two are equal: a later one gets the number of its topic."""
    return tuple(f"{name} ({k})" if name in names[:k] else name for k, name in enumerate(names))


def _write(topics: Topics, file: Path) -> None:
    parts = asdict(topics)
    arrays = {name: parts.pop(name) for name in _ARRAYS}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, settings=np.array(json.dumps(parts)), **arrays)
    write_bytes(file, buffer.getvalue())


def _read(file: Path) -> Topics:
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
        settings = json.loads(str(kept["settings"]))
        arrays = {name: kept[name] for name in _ARRAYS}
    return Topics(**arrays, **settings | {"names": tuple(settings["names"])})
