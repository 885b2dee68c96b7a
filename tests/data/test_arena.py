"""The simulated arena: what is planted comes out again, and parties agree as the printed ones do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chi2

from rearena.data import arena, grammar, published
from rearena.data.arena import Arena, Judge
from rearena.data.released import CRITERIA
from rearena.data.votes import validate_battles
from rearena.llm.parsers import parse_criteria, parse_verdict
from rearena.ranking import contextual

OUTCOMES = {"A>>B": 1.0, "A>B": 1.0, "A=B": 0.5, "B>A": 0.0, "B>>A": 0.0}
TABLE3 = {"Llama-2-13b": "Llama-2-13B-chat", "GPT-3.5-Turbo": "GPT-3.5-turbo-0613"}


@pytest.fixture(scope="module")
def prompts() -> pd.DataFrame:
    return grammar.prompts(10_000, seed=1)


@pytest.fixture(scope="module")
def world(prompts: pd.DataFrame) -> Arena:
    return arena.build(prompts, seed=1)


def outcomes(judgments: pd.DataFrame) -> pd.Series:
    """Score of the first answer, by the verdict that the judge's words say; missing where they say none."""
    verdicts = {raw: parse_verdict(raw).value for raw in judgments["raw"].unique()}
    return judgments["raw"].map(verdicts).map(OUTCOMES)


def test_abilities_are_the_printed_ratings(world: Arena) -> None:
    printed = published.table("wildbench_table2").dropna(subset=["arena_elo"]).set_index("model")["arena_elo"]
    elo = world.models["ability"][printed.index] * arena.SCALE
    np.testing.assert_allclose(elo - elo.mean(), printed - printed.mean(), atol=1e-9)
    assert len(world.models) == len(printed) + 3
    assert world.models["ability"].mean() == pytest.approx(0, abs=1e-12)
    # The key that joins two printed tables is a win rate: it must find the model of that name.
    tokens = published.table("arena_hard_table6").set_index("model")["avg_tokens"]
    known = {"Claude 3 Opus": "claude-3-opus-20240229", "Llama-2-70B-chat": "Llama-2-70b-chat-hf"}
    known |= {"Mixtral-8x7B-Inst": "Mixtral-8x7B-Instruct-v0.1", "GPT-4-0613": "gpt-4-0613"}
    assert world.models["tokens"][list(known)].tolist() == tokens[list(known.values())].tolist()
    rates = published.table("arena_hard_table6")["win_rate"]
    assert rates.is_unique


def test_strengths_by_topic_add_up_to_the_ability(world: Arena) -> None:
    np.testing.assert_allclose(world.strengths.mean(axis=1), world.models["ability"], atol=1e-12)
    apart = world.strengths.sub(world.models["ability"], axis=0).to_numpy()
    assert apart.std() == pytest.approx(0.1, rel=4 / np.sqrt(2 * apart.size))


def test_discrimination_has_mean_one_and_grows_with_quality(world: Arena) -> None:
    c = arena.discrimination()
    assert len(c) == 8
    assert np.diff(np.log(c)) == pytest.approx(arena.SLOPE)
    # The simulated scores match Table 1 within half a point each, so their mean is near that of Table 1.
    assert world.prompts["discrimination"].mean() == pytest.approx(1, abs=0.03)


def test_table_2_does_not_reject_the_discrimination(world: Arena) -> None:
    printed = published.table("chatbot_arena_table2")
    models = ("GPT-4-0613", "Llama-2-70B-chat")
    strong, weak = world.models["ability"][list(models)]
    edge = arena.GPT_4.sharpness * world.prompts["discrimination"] * (strong - weak)
    expected = expit(edge).groupby(world.prompts["topic"]).mean()[printed["cluster"]].to_numpy()
    rate = printed["win_rate"].to_numpy() / 100
    deviance = 60 * (rate * np.log(rate / expected) + (1 - rate) * np.log((1 - rate) / (1 - expected))).sum()
    assert deviance < chi2.ppf(0.95, len(printed))


def test_the_stronger_model_wins_more_often_on_prompts_of_higher_quality(world: Arena) -> None:
    for models in (["GPT-4-0613", "Llama-2-70B-chat"], ["Claude 3 Sonnet", "Claude 3 Haiku"]):
        pairs = world.pairs(40_000, 0, models=models)
        judged = world.judgments(pairs, arena.GPT_4, 1, games=(1,))
        strong = outcomes(judged).where(judged["model_a"] == models[0], 1 - outcomes(judged))
        rate = strong.groupby(world.prompts["quality"][judged["prompt_id"]].to_numpy()).mean()
        assert 0.5 < rate.loc[:3].mean() < rate.loc[4:5].mean() < rate[6]


@given(score=st.floats(0.0, 1.0), ties=st.floats(0.0, 10.0))
def test_ties_are_davidsons_and_leave_the_expected_score(score: float, ties: float) -> None:
    win, loss = (float(p[0]) for p in arena._davidson(np.array([score]), ties))
    tie = 1 - win - loss
    assert win + tie / 2 == pytest.approx(score, abs=1e-12)
    assert tie == pytest.approx(ties * np.sqrt(win * loss), abs=1e-12)


def test_verdicts_have_the_planted_chances(world: Arena) -> None:
    judge = Judge(name="j", sharpness=1.5, sharing=0.9, ties=0.5, position=0.4, length=1.0, unparsable=0.1)
    pairs = world.pairs(60_000, 2)
    judged = world.judgments(pairs, judge, 3, games=(1,))
    score, expected = outcomes(judged), expit(world.log_odds(pairs, judge))
    assert score.isna().mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 60_000))
    said = score.notna().to_numpy()
    for low in np.arange(0, 1, 0.2):
        part = said & (expected >= low) & (expected < low + 0.2)
        assert score[part].mean() == pytest.approx(expected[part].mean(), abs=4 * 0.5 / np.sqrt(part.sum()))
    # A win of probability P is strong with probability 0.6 P.
    strong = judged["raw"].str.contains("A>>B", regex=False)
    win = arena._davidson(expected, judge.ties)[0]
    assert strong[said].mean() == pytest.approx((0.6 * win[said] ** 2).mean(), abs=4 * 0.4 / np.sqrt(60_000))


def test_the_second_game_shows_the_same_answers_the_other_way_round(world: Arena) -> None:
    pairs = world.pairs(5000, 4)
    judged = world.judgments(pairs, arena.GPT_4, 5)
    first, second = (judged[judged["order"] == game].reset_index(drop=True) for game in (1, 2))
    pd.testing.assert_frame_equal(first[["prompt_id", "model_a", "model_b"]], pairs)
    assert (first["model_a"] == second["model_b"]).all()
    assert (first["model_b"] == second["model_a"]).all()
    np.testing.assert_allclose(first["length"], -second["length"], atol=1e-15)
    # A judge without noise of its own, ties and biases says the same of both games.
    steady = world.judgments(pairs, Judge(name="j", sharing=1.0, ties=0.0), 6)
    score = outcomes(steady).to_numpy().reshape(-1, 2)
    assert (score.sum(axis=1) == 1).all()
    # Half of the luck in common, or none: of the games of equals, fewer agree.
    alone = outcomes(world.judgments(pairs, Judge(name="j", sharing=0.0, ties=0.0), 6)).to_numpy()
    assert (alone.reshape(-1, 2).sum(axis=1) == 1).mean() < 0.7


def test_parties_agree_as_in_table_3(world: Arena) -> None:
    printed = published.table("chatbot_arena_table3")
    for opponent, model in TABLE3.items():
        pairs = world.pairs(30_000, 7, models=["GPT-4-Turbo-0409", model])
        crowd = world.votes(pairs, 8)  # by time: the others judge the same rows
        said = {"Crowd": crowd["outcome"].to_numpy()}
        for judge in arena.PARTIES[1:]:
            said[judge.name] = outcomes(world.judgments(crowd, judge, 9 + len(said), games=(1,))).to_numpy()
        for row in printed[printed["pair"] == opponent].itertuples():
            agreement = 100 * (said[str(row.a)] == said[str(row.b)]).mean()
            assert agreement == pytest.approx(row.agreement, abs=4), (opponent, row.a, row.b)


@pytest.mark.parametrize(("games", "count"), [((1,), 2000), ((1, 2), 1000)])
def test_position_and_length_bias_are_recovered(
    prompts: pd.DataFrame, games: tuple[int, ...], count: int
) -> None:
    position, length, rounds, hits = 0.4, 1.0, 30, np.zeros(2)
    judge = Judge(name="j", sharpness=1.5, position=position, length=length, unparsable=0.05)
    for seed in range(rounds):
        world = arena.build(prompts, seed)
        judged = world.judgments(world.pairs(count, seed), judge, seed, games=games)
        # Two games on one pair of answers share their luck: they are one unit.
        sides = judged[["model_a", "model_b"]]
        unit = judged["prompt_id"] + " " + sides.min(axis=1) + " " + sides.max(axis=1)
        battles = judged.assign(outcome=outcomes(judged), position=1.0, unit=unit)
        fit = contextual.fit(battles.dropna(subset=["outcome"]), ["position", "length"], cluster="unit")
        hits += np.abs(fit.effects - [position, length]) < 1.96 * fit.effect_errors
    assert (hits >= 24).all()  # of 30 at 95 %: P(fewer than 24) < 0.1 %


def test_with_the_true_edge_given_the_biases_are_exact(world: Arena) -> None:
    judge = Judge(name="j", sharpness=1.5, position=0.4, length=1.0, favour=0.3, maker="OpenAI")
    pairs = world.pairs(100_000, 0)
    judged = world.judgments(pairs, judge, 1, games=(1,))
    own = world.models["maker"] == "OpenAI"
    battles = judged.assign(
        outcome=outcomes(judged),
        position=1.0,
        edge=world.log_odds(pairs, Judge(name="edge")),
    )
    fit = contextual.fit(battles, ["edge", "position", "length"])
    z = (fit.effects - [judge.sharpness, judge.position, judge.length]) / fit.effect_errors
    assert (np.abs(z) < 4).all()
    # Edges are given, so that what is left to a model's coefficient is its maker's favour.
    favour = fit.coefficients - fit.coefficients.mean()
    expected = 0.3 * (own[fit.ratings.index].to_numpy() - own.mean())
    np.testing.assert_allclose(favour, expected, atol=0.15)


def test_votes_are_battles_of_users_in_time(world: Arena) -> None:
    pairs = world.pairs(8000, 0)
    votes = world.votes(pairs, 1)
    validate_battles(votes)
    assert votes["time"].is_monotonic_increasing
    assert (votes["behaviour"] == "honest").all()
    written = world.prompts.loc[votes["prompt_id"]]
    assert (votes["voter"].to_numpy() == written["user"].to_numpy()).all()
    assert (votes["time"].array >= written["time"].array).all()
    assert votes.loc[votes["both_bad"], "outcome"].eq(0.5).all()
    ties = votes[votes["outcome"] == 0.5]
    level = (
        world.models["ability"][ties["model_a"]].array + world.models["ability"][ties["model_b"]].array
    ) / 2
    bad = ties.groupby(np.asarray(level > np.median(level)))["both_bad"].mean()
    assert 0.2 < bad[True] < bad[False] < 0.8  # of bad models, ties are bad more often


def test_voters_misbehave_as_named(world: Arena) -> None:
    shares = {"always first": 0.1, "always second": 0.1, "coin": 0.1, "repeats": 0.1, "pushes": 0.1}
    votes = world.votes(world.pairs(10_000, 0), 1, behaviours=shares, target="Gemma-2B-it")
    assert (votes.groupby("voter")["behaviour"].nunique() == 1).all()
    of_voters = votes.groupby("voter")["behaviour"].first().value_counts(normalize=True)
    for name, share in shares.items():
        assert of_voters[name] == pytest.approx(share, abs=4 * np.sqrt(share / votes["voter"].nunique()))
    by = dict(iter(votes.groupby("behaviour")))
    assert (by["always first"]["outcome"] == 1).all()
    assert (by["always second"]["outcome"] == 0).all()
    assert set(by["coin"]["outcome"]) == {0.0, 1.0}
    assert (by["repeats"].groupby("voter")["outcome"].nunique() == 1).all()
    pushed = by["pushes"]
    assert (np.where(pushed["outcome"] == 1, pushed["model_a"], pushed["model_b"]) == "Gemma-2B-it").all()
    validate_battles(votes)


def test_annotators_err_as_often_as_told(world: Arena) -> None:
    def seen(accuracy: float, seed: int) -> np.ndarray:
        said = world.annotations("a", seed, accuracy=accuracy)
        lists = {raw: parse_criteria(raw).value or () for raw in said["raw"].unique()}
        return np.array([[k in lists[raw] for k in range(1, 8)] for raw in said["raw"]])

    truth = world.prompts[list(CRITERIA)].to_numpy()
    assert (seen(1.0, 0) == truth).all()
    four = [seen(arena.ANNOTATOR_ACCURACY, seed) for seed in range(4)]
    assert (four[0] == truth).mean() == pytest.approx(0.885, abs=4 * np.sqrt(0.1 / truth.size))
    majority = np.sum(four[1:], axis=0) >= 2
    # Arena-Hard, section 4.2: 85.6 %, to the three digits of the accuracy.
    assert (four[0] == majority).mean() == pytest.approx(0.856, abs=0.001 + 4 * np.sqrt(0.125 / truth.size))
    silent = world.annotations("a", 0, unparsable=1.0)["raw"]
    assert parse_criteria(silent[0]).status == "missing"


def test_answers_are_as_long_as_their_models_are_verbose(world: Arena) -> None:
    answers = world.answers(models=["GPT-4-0613", "Llama-2-70B-chat"])
    log = np.log(answers.set_index("model")["tokens"]).groupby("model").mean()
    error = 0.35 * np.sqrt(2 / len(world.prompts))
    assert log["Llama-2-70B-chat"] - log["GPT-4-0613"] == pytest.approx(np.log(595 / 354), abs=4 * error)
    hard = world.prompts.index[world.prompts["quality"] == 6]
    six = world.answers(models=["GPT-4-0613"], prompts=list(hard))["tokens"]
    assert np.log(six).mean() == pytest.approx(np.log(354), abs=4 * 0.35 / np.sqrt(len(six)))
    some = world.answers(prompts=["p000007"], models=["Claude 3 Opus"])
    assert len(some) == 1
    assert "Claude 3 Opus" in some["text"][0]
    assert some[["tokens", "chars"]].gt(0).all(axis=None)


def test_same_seed_same_world_and_another_seed_another(prompts: pd.DataFrame, world: Arena) -> None:
    again, other = arena.build(prompts, 1), arena.build(prompts, 2)
    pairs = world.pairs(500, 0)
    pd.testing.assert_frame_equal(again.pairs(500, 0), pairs)
    for draw in ("votes", "judgments"):
        args = (pairs, 1) if draw == "votes" else (pairs, arena.GPT_4, 1)
        first, second, third = (getattr(one, draw)(*args) for one in (world, again, other))
        pd.testing.assert_frame_equal(first, second)
        assert not first.equals(third)


def test_no_prompt_comes_twice_before_all_have_come(world: Arena) -> None:
    few = list(world.prompts.index[:50])
    pairs = world.pairs(120, 0, prompts=few)
    assert set(pairs["prompt_id"][:50]) == set(pairs["prompt_id"][50:100]) == set(few)
    assert (pairs["model_a"] != pairs["model_b"]).all()


def test_a_world_without_prompts(prompts: pd.DataFrame) -> None:
    empty = arena.build(prompts.iloc[:0], 0)
    assert empty.answers().empty
    assert empty.annotations("a", 0).empty
    with pytest.raises(ValueError, match="0 prompts"):
        empty.pairs(1, 0)


def test_what_cannot_be_is_refused(prompts: pd.DataFrame, world: Arena) -> None:
    with pytest.raises(ValueError, match="topic"):
        arena.build(prompts.drop(columns="topic"), 0)
    with pytest.raises(ValueError, match="'p000000' comes twice"):
        arena.build(pd.concat([prompts[:1], prompts[:1]]), 0)
    with pytest.raises(KeyError, match="no model 'GPT-9'"):
        world.pairs(5, 0, models=["GPT-9", "GPT-4-0613"])
    with pytest.raises(ValueError, match="1 models"):
        world.pairs(5, 0, models=["GPT-4-0613"])
    pairs = world.pairs(5, 0)
    with pytest.raises(KeyError, match="no prompt_id 'x'"):
        world.votes(pairs.assign(prompt_id="x"), 0)
    with pytest.raises(ValueError, match="games"):
        world.judgments(pairs, arena.GPT_4, 0, games=(0,))
    with pytest.raises(ValueError, match="target"):
        world.votes(pairs, 0, behaviours={"pushes": 0.1})
    for shares in ({"sleeps": 0.1}, {"coin": -0.1}, {"coin": 0.6, "repeats": 0.6}):
        with pytest.raises(ValueError, match="behaviours"):
            world.votes(pairs, 0, behaviours=shares)
    with pytest.raises(ValueError, match="user and time"):
        arena.build(prompts.drop(columns="user"), 0).votes(pairs, 0)
    with pytest.raises(ValueError, match="accuracy"):
        world.annotations("a", 0, accuracy=1.1)
    for field, value in {
        "sharpness": 0.0,
        "ties": -1.0,
        "sharing": 1.1,
        "unparsable": -0.1,
        "length": np.nan,
    }.items():
        with pytest.raises(ValueError, match="judge 'GPT-4'"):
            Judge(**{**vars(arena.GPT_4), field: value})
