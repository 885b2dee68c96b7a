"""Texts to vectors, by the name of an embedder: the step on which topics depend most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

CHARACTERS = 8_000
"""Longer texts are embedded by their beginning: as much as the servers' models take."""

_NGRAMS, _FEATURES, _COMPONENTS = (3, 5), 50_000, 200
_DIGITS = 4


def embed(texts: Sequence[str], embedder: str = "tfidf", seed: int = 0) -> NDArray[np.float32]:
    """Vectors of texts, of length one, so that Euclidean distance orders them as cosine does.

    They are rounded to four decimals: another processor's last bit must not decide on a topic.

    Parameters
    ----------
    texts : sequence of str, length N
        None of them blank.
    embedder : str
        ``"tfidf"``: TF-IDF of character 3- to 5-grams within words (the 50,000 most frequent), reduced to
        200 dimensions by a truncated SVD. ``"openai:NAME"``: the embedding model ``NAME`` of OpenAI, for
        example ``text-embedding-3-small`` as in Chatbot Arena, section 6.1; needs a key and costs money.
        ``"sentence-transformers:NAME"``: a model by its name or folder.
    seed : int
        Of the SVD.

    Returns
    -------
    ndarray of float32, shape (N, D)

    Raises
    ------
    ValueError
        If the embedder is none of these.
    ImportError
        If sentence-transformers is asked for and not installed.
    """
    kind, _, model = embedder.partition(":")
    cut = [text[:CHARACTERS] for text in texts]
    if embedder == "tfidf":
        vectors = _tfidf(cut, seed)
    elif kind == "openai" and model:
        from rearena.llm.embeddings import embed_all

        vectors = embed_all(cut, model).astype(float)
    elif kind == "sentence-transformers" and model:
        vectors = _sentence_transformers(cut, model)
    else:
        raise ValueError(
            f"no embedder {embedder!r}: use 'tfidf', 'openai:text-embedding-3-small' or "
            "'sentence-transformers:<name or folder>'"
        )
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.round(vectors / np.where(length > 0, length, 1), _DIGITS).astype(
        np.float32
    )
    return unit + np.float32(0)  # no -0.0, which counts as another number where rows are compared by bytes


def _tfidf(texts: list[str], seed: int) -> NDArray[np.float64]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.utils.extmath import randomized_svd

    if len(texts) == 0:
        return np.zeros((0, 1))
    counts = TfidfVectorizer(
        analyzer="char_wb", ngram_range=_NGRAMS, sublinear_tf=True, max_features=_FEATURES
    ).fit_transform(texts)
    with threadpool_limits(1):  # sums in one order, however many cores there are
        left, values, _ = randomized_svd(counts, min(_COMPONENTS, *counts.shape), random_state=seed)
    vectors: NDArray[np.float64] = left * values
    return vectors


def _sentence_transformers(texts: list[str], model: str) -> NDArray[np.float64]:
    try:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError(
            "the embedder sentence-transformers is not part of the environment, since it brings torch (5 GB "
            "with CUDA); install it with `uv pip install sentence-transformers`, or use 'tfidf'"
        ) from None
    vectors: NDArray[np.float64] = np.asarray(SentenceTransformer(model).encode(texts), dtype=float)
    return vectors
