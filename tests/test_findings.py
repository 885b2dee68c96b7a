"""What the papers' own printed numbers show, without any download."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from rearena import project
from rearena.data import published, simulated
from rearena.evaluation import metrics
from rearena.ranking import elo
from rearena.reporting import claims

# Rows of WildBench Table 3 and the columns of Table 2 that determine them.
DETERMINED = {
    "Arena-Hard": "arena_hard",
    "AlpacaEval2-LC": "ae2_lc",
    "AlpacaEval2": "ae2_wr",
    "WB-Score": "wb_score",
    "WB-Reward_inf mix": "wb_reward_mix",
    "WB-Reward_inf llama": "wb_reward_llama2",
    "WB-Reward_inf gpt4t": "wb_reward_gpt4t",
    "WB-Reward_inf haiku": "wb_reward_haiku",
}
COLUMNS = {"pcor_all14": "pearson", "scor_all14": "spearman", "kcor_all14": "kendall"}
K, PER_PAIR, ORDERS = 4.0, 200, 100  # RWQ-Elo, section 4


@pytest.fixture(scope="module")
def fourteen() -> pd.DataFrame:
    table = published.table("wildbench_table2").set_index("model")
    return table.dropna(subset=["arena_elo", "arena_hard", "ae2_lc", "ae2_wr"])


@pytest.fixture(scope="module")
def table3() -> pd.DataFrame:
    return published.table("wildbench_table3").set_index("metric")


def recomputed(fourteen: pd.DataFrame, metric: str, models: pd.Index) -> dict[str, float]:
    rows = fourteen.loc[models]
    return metrics.rank_correlations(rows[DETERMINED[metric]], rows["arena_elo"])


def test_the_models_with_every_score_are_fourteen(fourteen: pd.DataFrame) -> None:
    assert len(fourteen) == 14


@pytest.mark.parametrize("metric", DETERMINED)
def test_every_determined_cell_of_wildbench_table_3_follows_from_table_2(
    fourteen: pd.DataFrame, table3: pd.DataFrame, metric: str
) -> None:
    ours = recomputed(fourteen, metric, fourteen.index)
    cells = table3.loc[metric, list(COLUMNS)].dropna()
    assert len(cells) >= 2
    for column, printed in cells.items():
        assert ours[COLUMNS[str(column)]] == pytest.approx(printed, abs=0.001), column


def top_cells_explained(fourteen: pd.DataFrame, table3: pd.DataFrame, models: pd.Index) -> int:
    return sum(
        abs(recomputed(fourteen, metric, models)["pearson"] - table3.loc[metric, "pcor_top6"]) <= 0.001
        for metric in DETERMINED
    )


def test_top_means_the_six_models_of_highest_elo(fourteen: pd.DataFrame, table3: pd.DataFrame) -> None:
    by = {column: fourteen[column].nlargest(6).index for column in ("arena_elo", *DETERMINED.values())}
    assert top_cells_explained(fourteen, table3, by["arena_elo"]) == len(DETERMINED)
    same = set(by["arena_elo"])
    others = [models for models in by.values() if set(models) != same]
    assert others
    assert max(top_cells_explained(fourteen, table3, models) for models in others) < len(DETERMINED)


@pytest.mark.parametrize("size", [5, 7, 8])
def test_another_number_of_top_models_explains_less(
    fourteen: pd.DataFrame, table3: pd.DataFrame, size: int
) -> None:
    models = fourteen["arena_elo"].nlargest(size).index
    assert top_cells_explained(fourteen, table3, models) < len(DETERMINED)


@pytest.fixture(scope="module")
def ratings() -> pd.Series:
    return published.table("rwq_elo_ratings").set_index("model")["rating_fig2a"].astype(float)


def test_figure_8_is_the_map_that_the_ratings_imply_and_figure_7_is_not(ratings: pd.Series) -> None:
    # The formula of the paper once more, in plain Python and apart from the package.
    def expected(a: str, b: str) -> float:
        return 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))

    models = list(ratings.index)
    pairs = [(a, b) for k, a in enumerate(models) for b in models[k + 1 :]]
    assert len(pairs) == 276
    distance = {
        n: [abs(published.matrix(f"rwq_elo_fig{n}").loc[a, b] - expected(a, b)) for a, b in pairs]
        for n in (7, 8)
    }
    # Half a unit of the last printed digit holds every cell of one map and hardly any of the other.
    assert max(distance[8]) <= 0.005
    assert np.mean(np.array(distance[7]) <= 0.005) < 0.1
    assert max(distance[7]) > 0.3


def replayed(win_map: pd.DataFrame, ratings: pd.Series, seeds: int) -> pd.DataFrame:
    rows = []
    for seed in range(seeds):
        stream = np.random.default_rng([20, seed])
        contests = simulated.round_robin(win_map, PER_PAIR, stream)
        found = elo.replay(contests, K, ORDERS, stream).median()[ratings.index]
        rmse = np.sqrt(((found - ratings) ** 2).mean())
        rows.append(
            {"rmse": rmse, "tau": kendalltau(found, ratings).statistic, "range": found.max() - found.min()}
        )
    return pd.DataFrame(rows)


def test_contests_from_the_implied_map_give_the_printed_ratings_back(ratings: pd.Series) -> None:
    runs = replayed(elo.expected_scores(ratings), ratings, seeds=10).mean()
    assert runs["rmse"] < 10
    assert runs["tau"] > 0.97
    assert runs["range"] == pytest.approx(ratings.max() - ratings.min(), rel=0.05)


def test_contests_from_the_empirical_map_keep_the_order_and_not_the_scale(ratings: pd.Series) -> None:
    runs = replayed(published.matrix("rwq_elo_fig7"), ratings, seeds=3).mean()
    assert runs["tau"] > 0.97
    assert runs["range"] > 1.5 * (ratings.max() - ratings.min())
    assert runs["rmse"] > 50


def test_every_claim_of_a_built_notebook_has_a_verdict():
    built = {path.stem for path in (project.root() / "notebooks").glob("*.ipynb")}
    claimed = claims.table().index[claims.table()["notebook"].isin(built)]
    results = pd.read_csv(project.root() / "figures" / "results.csv")
    assert sorted(set(claimed) - set(results["claim"])) == []
