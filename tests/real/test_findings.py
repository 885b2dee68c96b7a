"""What the released and later data show, held to the numbers that their authors print."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rearena.data import comparison, downloads, names, published, released, wildbench
from rearena.data.released import Draws
from rearena.evaluation import metrics
from rearena.ranking import bradley_terry
from rearena.ranking.intervals import approximate_ranks, from_draws

pytestmark = pytest.mark.real

ANCHOR, ANCHOR_RATING = "mixtral-8x7b-instruct-v0.1", 1114.0
# What the notebook of Arena-Hard's authors prints: separability and agreement in per cent.
AUTHORS = {
    "Arena-Hard": {"separability": 84.21, "agreement": 90.40, "spearman": 0.932, "brier": 0.0705},
    "AlpacaEval LC": {"separability": 87.89, "agreement": 87.29, "spearman": 0.878, "brier": 0.135},
    "MT-Bench": {"separability": 36.32, "agreement": 69.49, "spearman": 0.893, "brier": 0.101},
}
DIGITS = {"separability": 2, "agreement": 2, "spearman": 3}
BRIER_DIGITS = {"Arena-Hard": 4, "AlpacaEval LC": 3, "MT-Bench": 3}


def need(*ids: str) -> None:
    if missing := downloads.missing(*ids):
        pytest.skip(f"not downloaded: {', '.join(missing)}")


@pytest.fixture(scope="module")
def votes() -> pd.DataFrame:
    need("leaderbot-counts-20240814")
    return released.counts_to_battles(released.votes_as_counts(downloads.path("leaderbot-counts-20240814")))


@pytest.fixture(scope="module")
def boards(votes: pd.DataFrame) -> pd.DataFrame:
    need("lmarena-history")
    fit = bradley_terry.fit(votes, anchor=ANCHOR, anchor_rating=ANCHOR_RATING)
    ours = fit.ratings.rename(index=names.between("leaderbot_to_board"))
    history = released.official_ratings(downloads.path("lmarena-history"))
    official = history[history["date"] == "2024-08-13"].set_index("model")["rating"]
    return pd.DataFrame({"ours": ours, "official": official})


def test_votes_as_counts_give_the_official_board_of_the_day_before(boards: pd.DataFrame) -> None:
    both = boards.dropna()
    # All models of either side but the one that entered after the board was made.
    assert set(boards.index) - set(both.index) == {"gpt-4o-2024-08-06"}
    assert len(both) == 128
    distance = (both["ours"] - both["official"]).abs()
    assert distance.mean() < 0.3
    assert distance.max() < 3
    assert both.loc[ANCHOR, "ours"] == pytest.approx(ANCHOR_RATING)


@pytest.mark.parametrize("reference", [None, ANCHOR])
def test_sandwich_and_bootstrap_give_nearly_the_same_ranks(
    votes: pd.DataFrame, reference: str | None
) -> None:
    fit = bradley_terry.fit(votes, reference=reference, anchor=reference)
    draws = bradley_terry.bootstrap(votes, 1000, 3, anchor=reference)
    assert draws.attrs["separated"] == draws.attrs["disconnected"] == 0
    sandwich, bootstrap = fit.intervals(), from_draws(draws, fit.ratings)
    apart = np.abs(
        approximate_ranks(sandwich["lower"], sandwich["upper"])
        - approximate_ranks(bootstrap["lower"], bootstrap["upper"])
    )
    assert (apart == 0).mean() >= 0.85
    assert (apart <= 1).mean() >= 0.97


@pytest.fixture(scope="module")
def benchmarks() -> dict[str, Draws]:
    need(*downloads.used_by("09-benchmark-metrics"))
    return comparison.load()


@pytest.fixture(scope="module")
def reference(benchmarks: dict[str, Draws]) -> pd.DataFrame:
    return benchmarks[comparison.REFERENCE].table


def test_every_benchmark_rates_the_same_twenty_models(benchmarks: dict[str, Draws]) -> None:
    models = list(benchmarks[comparison.REFERENCE].table.index)
    assert len(models) == 20 == len(set(models))
    assert set(benchmarks) == {comparison.REFERENCE, "Chatbot Arena (20K votes)", *comparison.BENCHMARKS}
    for read in benchmarks.values():
        assert list(read.table.columns) == ["score", "lower", "upper"]
        assert list(read.table.index) == models == list(read.draws.columns)
        bounds = read.draws.quantile([0.025, 0.975]).T
        np.testing.assert_allclose(bounds, read.table[["lower", "upper"]], atol=1e-6)


def test_names_lead_to_the_models_that_were_matched_by_hand(benchmarks: dict[str, Draws]) -> None:
    top20 = published.table("arena_hard_top20").set_index("arena_name")
    files = {"Arena-Hard": "arena-hard", "MT-Bench": "mt-bench", "AlpacaEval LC": "alpaca-lc"}
    for name, id in files.items():
        raw = released.bootstrap_draws(downloads.path(f"arena-hard-draws-{id}")).table["score"]
        theirs = top20["draws_" + id.replace("-", "_")].dropna()
        ours = benchmarks[name].table["score"]
        theirs = theirs[theirs.index.isin(ours.index)]
        assert len(theirs) >= 13
        assert ours[theirs.index].tolist() == raw[theirs].tolist(), name


def test_released_arena_hard_scores_are_those_of_table_6(benchmarks: dict[str, Draws]) -> None:
    ours = benchmarks["Arena-Hard"].table["score"]
    table6 = published.table("arena_hard_table6").set_index("model")["win_rate"]
    matched = published.table("arena_hard_top20").set_index("arena_name")["table6_name"]
    both = matched[matched.index.isin(ours.index)]
    assert len(both) >= 13
    np.testing.assert_allclose(ours[both.index], table6[both], atol=0.05 + 1e-9)


@pytest.mark.parametrize("name", AUTHORS)
def test_the_authors_numbers_come_back_to_the_printed_digit(
    benchmarks: dict[str, Draws], reference: pd.DataFrame, name: str
) -> None:
    own = benchmarks[name].table
    agreement = metrics.agreement_with_confidence(own, reference, "notebook", "positive length")
    ours = {
        "separability": 100 * metrics.separability(own, "open"),
        "agreement": 100 * agreement,
        "spearman": metrics.rank_correlations(own["score"], reference["score"])["spearman"],
        "brier": metrics.pair_rank_brier(benchmarks[name].draws, reference["score"]),
    }
    digits = DIGITS | {"brier": BRIER_DIGITS[name]}
    assert {key: round(value, digits[key]) for key, value in ours.items()} == AUTHORS[name]


def test_the_other_rule_for_overlap_gives_other_numbers(
    benchmarks: dict[str, Draws], reference: pd.DataFrame
) -> None:
    own = benchmarks["Arena-Hard"].table
    assert metrics.separability(own, "positive length") > metrics.separability(own, "open")
    for name in AUTHORS:
        opened = metrics.agreement_with_confidence(benchmarks[name].table, reference, "notebook", "open")
        assert round(100 * opened, 2) != AUTHORS[name]["agreement"], name


@pytest.mark.parametrize("name", AUTHORS)
@pytest.mark.parametrize("rule", ["open", "positive length"])
def test_the_printed_definition_stays_below_the_ceiling_and_below_the_printed_agreement(
    benchmarks: dict[str, Draws], reference: pd.DataFrame, name: str, rule: metrics.Overlap
) -> None:
    own = benchmarks[name].table
    printed = metrics.agreement_with_confidence(own, reference, "printed", rule)
    assert printed <= min(metrics.separability(own, rule), metrics.separability(reference, rule))
    assert 100 * printed < AUTHORS[name]["agreement"] - 10
    table = metrics.agreement_with_confidence(own, reference, "table", rule)
    assert printed == pytest.approx(table * metrics.separability(reference, rule))


def test_draws_that_cannot_be_paired_across_models_are_marked(benchmarks: dict[str, Draws]) -> None:
    marked = {name: read.sorted for name, read in benchmarks.items()}
    assert marked == {
        "Chatbot Arena": False,
        "Chatbot Arena (20K votes)": False,
        "MT-Bench": True,
        "AlpacaEval LC": True,
        "Arena-Hard": True,
    }


def test_sorted_draws_would_be_far_too_sure_if_they_were_paired(benchmarks: dict[str, Draws]) -> None:
    draws = benchmarks["MT-Bench"].draws
    certain = np.isin(metrics.draw_shares(draws), [0.0, 1.0]).mean()
    honest = metrics.forecast(draws)
    assert certain > 1.5 * ((honest < 0.001) | (honest > 0.999)).mean()


def test_wildbench_names_lead_to_the_same_models_rewards() -> None:
    need("wildbench-stat-knone")
    board = wildbench.leaderboard(downloads.path("wildbench-stat-knone"))
    printed = published.table("wildbench_table2").set_index("model")
    renamed = names.between("wildbench_to_leaderboard")
    assert set(renamed.values()) <= set(board.index)
    columns = ["wb_reward_gpt4t", "wb_reward_haiku", "wb_reward_llama2"]
    later = board.loc[list(renamed.values()), columns].set_axis(list(renamed)).add_suffix("_later")
    both = printed.join(later, how="inner").dropna(subset=[*columns, *later.columns])
    assert len(both) > 20
    for column in columns:
        assert np.corrcoef(both[column], both[f"{column}_later"])[0, 1] > 0.99, column
