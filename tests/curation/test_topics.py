"""Planted topics are found, a seed gives the same ones anywhere, and strange corpora do no harm."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

from rearena import project
from rearena.curation import embedders, topics
from rearena.data import grammar

RAW = grammar.prompts(800, 3)
PROMPTS = RAW[(RAW["language"] == "English") & RAW["duplicate_of"].isna()].reset_index(drop=True)
TEXTS = PROMPTS["text"].tolist()


@pytest.fixture(scope="module")
def fitted() -> topics.Topics:
    return topics.fit(TEXTS, seed=0)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(project, "root", lambda: tmp_path)
    return tmp_path / "build" / "topics"


def test_planted_topics_are_found_nearly_as_well_as_with_their_number_known(fitted: topics.Topics) -> None:
    truth = PROMPTS["topic"]
    vectors = embedders.embed(TEXTS)
    known = KMeans(truth.nunique(), n_init=3, random_state=0).fit_predict(vectors)
    ours = adjusted_mutual_info_score(truth, fitted.labels)
    assert ours >= 0.9 * adjusted_mutual_info_score(truth, known)


def test_the_same_seed_gives_the_same_topics_in_another_process(
    fitted: topics.Topics, tmp_path: Path
) -> None:
    file = tmp_path / "texts.json"
    file.write_text(json.dumps(TEXTS))
    program = (
        "import json, sys; from pathlib import Path; from rearena.curation import topics; "
        "found = topics.fit(json.loads(Path(sys.argv[1]).read_text()), seed=0); "
        "print(json.dumps([found.labels.tolist(), found.names, found.nearest.tolist()]))"
    )
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
    labels, names, nearest = json.loads(done.stdout)
    assert labels == fitted.labels.tolist()
    assert tuple(names) == fitted.names
    assert nearest == fitted.nearest.tolist()


def test_topics_are_numbered_by_size_and_described_by_their_own_prompts(fitted: topics.Topics) -> None:
    frame = fitted.to_frame()
    assert frame["size"].is_monotonic_decreasing
    assert frame["name"].is_unique
    assert frame["size"].sum() == (fitted.labels >= 0).sum()
    assert frame["size"].min() >= fitted.minimum_size == 5
    for topic, rows in enumerate(fitted.nearest):
        assert (fitted.labels[rows[rows >= 0]] == topic).all()
        assert (rows >= 0).sum() == min(10, frame["size"][topic])


def test_names_say_what_the_prompts_have_in_common() -> None:
    bread = [f"bake sourdough bread with {k} grams of flour" for k in range(40)]
    code = [f"fix the python loop in line {k} of my script" for k in range(40)]
    found = topics.fit(bread + code)
    assert len(found.names) == 2
    for rows, words in ((slice(0, 40), {"bake", "sourdough", "bread", "grams", "flour"}),
                        (slice(40, 80), {"fix", "python", "loop", "line", "script"})):  # fmt: skip
        (topic,) = set(found.labels[rows])
        assert set(found.names[topic].split(", ")) <= words


def test_similarity_is_the_cosine_of_centroids_and_the_hierarchy_is_built_on_it(
    fitted: topics.Topics,
) -> None:
    similarity = fitted.similarity(8)
    vectors = embedders.embed(TEXTS)
    means = np.array([vectors[fitted.labels == k].mean(axis=0) for k in range(8)])
    length = np.linalg.norm(means, axis=1)
    # Copies count once in the centroid and here as often as they occur: hence the tolerance.
    np.testing.assert_allclose(similarity, means @ means.T / np.outer(length, length), atol=0.02)
    joined = fitted.hierarchy(8)
    off_diagonal = similarity.to_numpy()[np.triu_indices(8, 1)]
    assert joined[0, 2] == pytest.approx(1 - off_diagonal.max())
    with pytest.raises(ValueError, match="two topics"):
        fitted.hierarchy(1)


def test_copies_count_once_and_go_where_their_original_goes(fitted: topics.Topics) -> None:
    found = topics.fit([*TEXTS, *[TEXTS[0]] * 300, " "], seed=0)
    assert len(set(found.labels[len(TEXTS) : -1])) == 1
    assert found.labels[0] == found.labels[len(TEXTS)]
    assert found.labels[-1] == -1
    assert found.minimum_size == fitted.minimum_size


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["hi"],
        [""] * 40,
        [" \n\t", ""] * 20,
        ["hello there"] * 500,
        ["😀"] * 100,
        ["hi"] * 500 + ["bye"] * 500,
        ["again " * k for k in range(1, 150)],
    ],
    ids=["none", "one", "empty", "blank", "identical", "one emoji", "two texts", "one word"],
)
def test_a_corpus_without_enough_different_prompts_has_no_topic(texts: list[str]) -> None:
    found = topics.fit(texts)
    assert found.labels.tolist() == [-1] * len(texts)
    assert found.names == ()
    assert found.to_frame().empty
    assert found.similarity().shape == (0, 0)


def test_thirty_one_prompts_can_have_topics() -> None:
    found = topics.fit([f"tell me about the {('sea', 'sky')[k % 2]}, number {k}" for k in range(31)])
    assert len(found.labels) == 31
    assert len(found.names) <= 3


@pytest.mark.parametrize(
    "strange",
    [
        ["x" * 10**6, "word " * 200_000],
        [chr(0x1F600 + k) * 3 for k in range(60)],
        [f"اكتب قصيدة عن البحر {k}" for k in range(30)] + [f"כתוב שיר על הים {k}" for k in range(30)],
        ["?" * k for k in range(1, 60)],
        ["a\x00b", "\ud800 half of a pair", "\u200b"],
    ],
    ids=["a megabyte", "emoji", "right to left", "punctuation", "control characters"],
)
def test_strange_prompts_get_topics_or_none(strange: list[str]) -> None:
    usual = [f"bake bread with {k} grams of flour" for k in range(30)]
    found = topics.fit(strange + usual)
    assert len(found.labels) == len(strange) + 30
    assert found.labels.max() < len(found.names) <= len(found.labels) // found.minimum_size
    assert all(found.names)


def test_what_is_no_text_is_refused_with_its_place() -> None:
    with pytest.raises(TypeError, match="prompt 1 is None"):
        topics.fit(["hi", None])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least 2"):
        topics.fit(["hi", "bye"], minimum_size=1)


@pytest.mark.parametrize(("count", "size"), [(0, 5), (1_200, 6), (6_399, 31), (6_400, 32), (75_000, 32)])
def test_the_papers_minimum_size_is_scaled_for_small_corpora(count: int, size: int) -> None:
    assert topics.smallest(count) == size


def test_a_collapse_is_noticed_and_the_leaves_are_used() -> None:
    # Twenty groups in one place and one far away: by mass, all that is near is one cluster.
    rng = np.random.default_rng(0)
    near = np.repeat(rng.uniform(0, 3, size=(20, 5)), 20, axis=0) + rng.normal(0, 0.3, size=(400, 5))
    far = rng.normal(60, 0.05, size=(20, 5))
    clusters = topics._Clusters(5).fit(np.vstack([near, far]))
    assert clusters.collapsed
    assert len(set(clusters.labels_) - {-1}) >= 10
    apart = topics._Clusters(5).fit(np.repeat(rng.uniform(0, 300, size=(20, 5)), 20, axis=0) + near / 30)
    assert not apart.collapsed


def test_what_was_fitted_is_read_again_and_a_damaged_file_is_made_again(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"bake bread with {k} grams of flour" for k in range(30)]
    texts += [f"fix the loop in line {k}" for k in range(30)]
    first = topics.stored(texts)
    (file,) = shelf.iterdir()
    file.write_bytes(file.read_bytes()[:200])
    again = topics.stored(texts)
    monkeypatch.setattr(topics, "fit", lambda *_, **__: pytest.fail("fitted once more"))
    read = topics.stored(texts)
    for other in (again, read):
        assert other.labels.tolist() == first.labels.tolist()
        assert other.to_frame().equals(first.to_frame())
        assert (other.minimum_size, other.seed, other.embedder) == (5, 0, "tfidf")
        np.testing.assert_array_equal(other.centroids, first.centroids)


@pytest.mark.parametrize("change", [{"seed": 1}, {"minimum_size": 3}, {"texts": ["a b", "c"]}])
def test_another_setting_or_text_is_another_fit(shelf: Path, change: dict[str, object]) -> None:
    usual = {"texts": ["a", "b c"], "seed": 0}
    topics.stored(**usual)  # type: ignore[arg-type]
    topics.stored(**usual | change)  # type: ignore[arg-type]
    assert len(list(shelf.iterdir())) == 2


def test_a_model_names_topics_from_ten_prompts_of_each(fitted: topics.Topics) -> None:
    seen: list[list[str]] = []

    def namer(samples: list[list[str]]) -> list[str]:
        seen.extend(samples)
        return ["Poetry", "Poetry", "  "] + [f"Topic {k}" for k in range(3, len(samples))]

    renamed = topics.named(fitted, TEXTS, namer, seed=1)
    assert renamed.names[:3] == ("Poetry", "Poetry (1)", fitted.names[2])
    for topic, sample in enumerate(seen):
        own = [text for text, label in zip(TEXTS, fitted.labels, strict=True) if label == topic]
        assert len(sample) == min(10, len(own))
        assert set(sample) <= set(own)


def test_stability_compares_the_seeds_with_each_other(shelf: Path) -> None:
    texts = [f"bake bread with {k} grams of flour" for k in range(30)]
    texts += [f"fix the loop in line {k}" for k in range(30)]
    table = topics.stability(texts, [0, 1])
    assert table.index.tolist() == [0, 1]
    assert table["topics"].ge(2).all()
    expected = adjusted_mutual_info_score(topics.stored(texts, 0).labels, topics.stored(texts, 1).labels)
    assert table["agreement"].tolist() == pytest.approx([expected, expected])


def test_embeddings_have_length_one_and_do_not_tell_copies_apart() -> None:
    vectors = embedders.embed(["the sea", "the sky", "the sea", "THE SEA"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert (vectors[0] == vectors[[2, 3]]).all()
    assert (vectors[0] != vectors[1]).any()


def test_only_the_beginning_of_a_long_text_is_embedded() -> None:
    beginning = "sea " * 2_000
    vectors = embedders.embed([beginning + "sky", beginning, "sky"])
    assert (vectors[0] == vectors[1]).all()


@pytest.mark.parametrize("embedder", ["word2vec", "openai:", "sentence-transformers:", ""])
def test_an_unknown_embedder_is_refused(embedder: str) -> None:
    with pytest.raises(ValueError, match="text-embedding-3-small"):
        embedders.embed(["hi"], embedder)


def test_a_missing_library_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match="pip install sentence-transformers"):
        embedders.embed(["hi"], "sentence-transformers:all-MiniLM-L6-v2")
