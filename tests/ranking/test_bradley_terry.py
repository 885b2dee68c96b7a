"""Bradley-Terry: a textbook, closed forms, other solvers, and simulation."""

from __future__ import annotations

import choix
import evalica
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from rearena.ranking import bradley_terry, counts
from rearena.ranking.kernels import newton

ELO = 400 / np.log(10)


def simulated(xi: np.ndarray, n: int, seed: int, ties: float = 0.0) -> pd.DataFrame:
    """Battles between random pairs, decided by Bradley-Terry; a share of them is then called a tie."""
    rng = np.random.default_rng(seed)
    first = rng.integers(len(xi), size=n)
    second = (first + rng.integers(1, len(xi), size=n)) % len(xi)
    outcome = (rng.random(n) < expit(xi[first] - xi[second])).astype(float)
    outcome[rng.random(n) < ties] = 0.5
    models = np.array([f"m{k:02d}" for k in range(len(xi))], dtype=object)
    return pd.DataFrame({"model_a": models[first], "model_b": models[second], "outcome": outcome})


@pytest.fixture(scope="module")
def seven() -> pd.DataFrame:
    return simulated(np.linspace(-1.5, 1.5, 7), 2500, seed=1, ties=0.2)


# Agresti, Categorical Data Analysis, 2nd edition, Table 10.10: American League baseball, Eastern Division,
# 1987. Row won against column so many times; section 10.6.1 prints the fitted coefficients.
TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
WINS = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]
PRINTED = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]


def test_baseball_of_the_textbook() -> None:
    rows = [(a, b, 1.0, w) for a, r in zip(TEAMS, WINS, strict=True) for b, w in zip(TEAMS, r, strict=True)]
    frame = pd.DataFrame([r for r in rows if r[3]], columns=["model_a", "model_b", "outcome", "weight"])
    fit = bradley_terry.fit(frame, reference="Baltimore")
    found = pd.Series(fit.coefficients, index=fit.models)
    np.testing.assert_allclose(found[TEAMS], PRINTED, atol=0.005)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**6))
def test_two_models_have_a_closed_form(won: int, lost: int, tied: int) -> None:
    rows = [("a", "b", 1.0, won), ("a", "b", 0.0, lost), ("a", "b", 0.5, tied)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    fit = bradley_terry.fit(frame, reference="b")
    n = won + lost + tied
    p = (won + tied / 2) / n
    assert fit.coefficients[0] == pytest.approx(np.log(p / (1 - p)), abs=1e-9)
    # The delta method on the mean of the outcomes: their variance over (n p (1 - p))^2.
    meat = won * (1 - p) ** 2 + tied * (0.5 - p) ** 2 + lost * p**2
    assert fit.covariance[0, 0] == pytest.approx(meat / (n * p * (1 - p)) ** 2, rel=1e-6)


def test_sandwich_equals_a_generalised_linear_model_with_robust_errors(seven: pd.DataFrame) -> None:
    fit = bradley_terry.fit(seven, reference="m00")
    design = np.zeros((len(seven), 7))
    rows = np.arange(len(seven))
    design[rows, [int(m[1:]) for m in seven["model_a"]]] = 1
    design[rows, [int(m[1:]) for m in seven["model_b"]]] = -1
    peer = sm.GLM(seven["outcome"].to_numpy(), design[:, 1:], family=sm.families.Binomial()).fit(
        cov_type="HC0", tol=1e-14, maxiter=100
    )
    np.testing.assert_allclose(fit.coefficients[1:], peer.params, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance))[1:], peer.bse, rtol=1e-6)
    np.testing.assert_allclose(fit.covariance[1:, 1:], peer.cov_params(), rtol=1e-6, atol=1e-12)


def test_ratings_equal_those_of_two_peers(seven: pd.DataFrame) -> None:
    fit = bradley_terry.fit(seven)
    decided = seven[seven["outcome"] != 0.5]
    winners = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    theirs = evalica.bradley_terry(
        seven["model_a"],
        seven["model_b"],
        [winners[o] for o in seven["outcome"]],
        tolerance=1e-12,
        limit=10_000,
    )
    log = np.log(theirs.scores)
    np.testing.assert_allclose(fit.ratings - 1000, ELO * (log - log.mean())[fit.ratings.index], atol=1e-3)

    pairs = [
        tuple(int(m[1:]) for m in ((a, b) if o else (b, a)))
        for a, b, o in decided[["model_a", "model_b", "outcome"]].itertuples(index=False)
    ]
    choix_xi = choix.opt_pairwise(7, pairs, tol=1e-12)
    ours = bradley_terry.fit(decided)
    np.testing.assert_allclose(ours.ratings - 1000, ELO * (choix_xi - choix_xi.mean()), atol=1e-3)


def log_likelihood(added: counts.Counts, xi: np.ndarray, ridge: float) -> float:
    """Written from equation (3), battle by battle of a pair, for the derivatives to be checked against."""
    won, tied, lost = added.outcomes.T
    p = expit(xi[added.first] - xi[added.second])
    return float((won + tied / 2) @ np.log(p) + (lost + tied / 2) @ np.log(1 - p) - ridge / 2 * xi @ xi)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_newtons_step_is_that_of_numerical_derivatives(seven: pd.DataFrame, ridge: float) -> None:
    added = counts.from_battles(seven)
    won, tied, lost = added.outcomes.T
    at = np.random.default_rng(0).normal(size=7) / 2
    at -= at.mean()
    stepped = at.copy()
    exactly_one = {"last_step": np.inf, "safe_step": np.inf, "farthest": np.inf}
    settings_ = [*exactly_one.values(), 1e-12, 1]
    n = won + tied + lost
    assert newton(stepped, added.first, added.second, n, won + tied / 2, ridge, *settings_) == 1

    def gradient(xi: np.ndarray) -> np.ndarray:
        return approx_fprime(xi, lambda x: log_likelihood(added, x, ridge), 1e-5)

    hessian = np.array([(gradient(at + 1e-3 * e) - gradient(at - 1e-3 * e)) / 2e-3 for e in np.eye(7)])
    step = -np.linalg.pinv(hessian, rcond=1e-4) @ gradient(at)
    np.testing.assert_allclose(stepped - at, step - step.mean(), atol=2e-3)
    assert np.abs(step).max() > 0.1


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([None, "m00", "m03"]))
def test_identification_moves_intervals_and_not_ratings(seed: int, reference: str | None) -> None:
    battles = simulated(np.zeros(5), 400, seed)
    centred = bradley_terry.fit(battles)
    moved = bradley_terry.fit(battles, reference=reference)
    np.testing.assert_allclose(moved.ratings, centred.ratings, atol=1e-9)
    difference = np.eye(5)[1] - np.eye(5)[2]
    assert difference @ moved.covariance @ difference == pytest.approx(
        difference @ centred.covariance @ difference
    )
    if reference is None:
        assert moved.coefficients.sum() == pytest.approx(0, abs=1e-9)
    else:
        assert moved.standard_errors[reference] == 0
        assert moved.relative_to(None).standard_errors.tolist() == pytest.approx(
            centred.standard_errors.tolist()
        )


def test_order_of_rows_and_sides_does_not_matter(seven: pd.DataFrame) -> None:
    shuffled = seven.sample(frac=1, random_state=1)
    turned = shuffled.assign(
        model_a=shuffled["model_b"], model_b=shuffled["model_a"], outcome=1 - shuffled["outcome"]
    )
    pd.testing.assert_series_equal(bradley_terry.fit(seven).ratings, bradley_terry.fit(turned).ratings)


def test_anchor_and_scale(seven: pd.DataFrame) -> None:
    fit = bradley_terry.fit(seven, anchor="m02", anchor_rating=1114)
    assert fit.ratings["m02"] == 1114
    doubled = bradley_terry.fit(seven, anchor="m02", anchor_rating=1114, scale=800)
    np.testing.assert_allclose(doubled.ratings - 1114, 2 * (fit.ratings - 1114))
    # 400 points are odds of ten to one.
    odds = 10 ** ((fit.ratings["m06"] - fit.ratings["m00"]) / 400)
    assert odds == pytest.approx(np.exp(fit.coefficients[6] - fit.coefficients[0]))


def test_frame_is_sorted_and_carries_its_settings(seven: pd.DataFrame) -> None:
    frame = bradley_terry.fit(seven).to_frame(level=0.9)
    assert frame["rating"].is_monotonic_decreasing
    assert frame.attrs["level"] == 0.9
    assert (frame["lower"] < frame["rating"]).all()
    assert frame["battles"].sum() == 2 * len(seven)


def test_intervals_cover_the_truth_at_their_level() -> None:
    xi = np.linspace(-0.8, 0.8, 6)
    trials, hits = 300, 0
    for seed in range(trials):
        ends = bradley_terry.fit(simulated(xi, 1500, seed), anchor_rating=0).intervals(0.9)
        truth = ELO * (xi - xi.mean())
        hits += int(((ends["lower"] <= truth) & (truth <= ends["upper"])).sum())
    # Intervals of one trial are dependent; taking them as one observation each trial bounds the error.
    assert hits / (6 * trials) == pytest.approx(0.9, abs=4 * np.sqrt(0.9 * 0.1 / trials))


def test_bootstrap_spread_is_the_sandwich(seven: pd.DataFrame) -> None:
    rounds = 2000
    draws = bradley_terry.bootstrap(seven, rounds, seed=3)
    fit = bradley_terry.fit(seven)
    ratio = draws.std() / fit.standard_errors
    # A standard deviation from n draws has relative error 1 / sqrt(2 n); the sandwich is its limit in the
    # number of battles too, of which 2,500 leave about one per cent.
    np.testing.assert_allclose(ratio, 1, atol=4 / np.sqrt(2 * rounds) + 0.02)
    assert draws.attrs["separated"] == 0


def test_bootstrap_on_counts_is_the_bootstrap_of_rows(seven: pd.DataFrame) -> None:
    rounds, rng = 400, np.random.default_rng(5)
    by_rows = pd.DataFrame(
        [
            bradley_terry.fit(seven.iloc[rng.integers(len(seven), size=len(seven))]).ratings
            for _ in range(rounds)
        ]
    )
    by_counts = bradley_terry.bootstrap(seven, rounds, seed=6)
    error = by_rows.std() / np.sqrt(rounds)
    assert ((by_rows.mean() - by_counts.mean()).abs() < 4 * np.sqrt(2) * error).all()
    np.testing.assert_allclose(by_rows.std() / by_counts.std(), 1, atol=4 / np.sqrt(rounds))


def test_bootstrap_follows_its_seed(seven: pd.DataFrame) -> None:
    first, again, other = (bradley_terry.bootstrap(seven, 5, seed=s, anchor="m01") for s in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)
    assert (first["m01"] == 1000).all()


def test_resample_that_separates_is_counted_and_stays_in_the_tail() -> None:
    rows = [("a", "b", 1.0, 30), ("a", "b", 0.0, 1), ("b", "c", 1.0, 20), ("b", "c", 0.0, 20)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    draws = bradley_terry.bootstrap(frame, 300, seed=0)
    # The one loss of a is left out of a resample with probability (1 - 1/71)^71, about 0.365.
    assert draws.attrs["separated"] / 300 == pytest.approx(0.365, abs=4 * np.sqrt(0.365 * 0.635 / 300))
    assert np.isfinite(draws.to_numpy()).all()
    assert draws.attrs["disconnected"] == 0
    lead = (draws["a"] - draws["b"]).sort_values()
    assert lead.iloc[-draws.attrs["separated"]] > lead.iloc[-draws.attrs["separated"] - 1]


def test_a_runaway_model_does_not_move_the_others() -> None:
    rows = [("a", "b", 1.0, 500), ("a", "b", 0.0, 500), ("a", "c", 1.0, 30), ("a", "c", 0.0, 1)]
    rows += [("b", "c", 1.0, 30), ("b", "c", 0.5, 1)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    draws = bradley_terry.bootstrap(frame, 1000, seed=0)
    assert 50 < draws.attrs["separated"] < 400
    # a and b met a thousand times: their difference has a standard error of 11 points, whatever c does, and
    # in the rounds without a finite rating for c they keep the mean that they have in the whole data.
    whole = bradley_terry.fit(frame).ratings
    runaway = draws["c"] < draws["c"].quantile(0.05)
    middle = draws.loc[runaway, ["a", "b"]].mean(axis=1)
    np.testing.assert_allclose(middle, whole[["a", "b"]].mean(), atol=1e-6)
    assert (draws["a"] - draws["b"]).std() == pytest.approx(ELO * 2 / np.sqrt(1000), rel=0.15)


def test_a_model_that_a_resample_leaves_out_is_counted() -> None:
    rows = [("a", "b", 1.0, 970), ("a", "b", 0.0, 30), ("a", "c", 1.0, 1), ("a", "c", 0.0, 1)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    draws = bradley_terry.bootstrap(frame, 500, seed=1)
    # Both battles of c are left out with probability (1 - 2/1002)^1002, about exp(-2).
    expected = np.exp(-2)
    error = np.sqrt(expected * (1 - expected) / 500)
    assert draws.attrs["disconnected"] / 500 == pytest.approx(expected, abs=4 * error)


def test_very_uneven_numbers_of_battles_are_no_obstacle() -> None:
    rows = [("a", "b", 1.0, 3e12), ("a", "b", 0.0, 1e12), ("b", "c", 0.5, 1.0)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    fit = bradley_terry.fit(frame, reference="b")
    assert fit.coefficients == pytest.approx([np.log(3), 0, 0], abs=1e-9)


def test_a_long_first_step_is_shortened() -> None:
    # Found by search: full Newton steps overshoot on this graph and run away.
    wins = {"ac": 8186, "ad": 1768, "ae": 273, "ba": 5, "bc": 24, "ca": 2, "de": 7633, "eb": 2731}
    rows = [(winner, loser, 1.0, float(n)) for (winner, loser), n in wins.items()]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "outcome", "weight"])
    fit = bradley_terry.fit(frame)
    added = counts.from_battles(frame)
    p = expit(fit.coefficients[added.first] - fit.coefficients[added.second])
    won, tied, lost = added.outcomes.T
    residual = won + tied / 2 - (won + tied + lost) * p
    gradient = np.bincount(added.first, residual, 5) - np.bincount(added.second, residual, 5)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_ranks_of_the_frame_are_those_of_its_intervals(seven: pd.DataFrame) -> None:
    frame = bradley_terry.fit(seven).to_frame()
    expected = [1 + int((frame["lower"] > high).sum()) for high in frame["upper"]]
    assert frame["rank"].tolist() == expected
    assert max(expected) > 1


def test_bootstrap_refuses_fractional_weights_and_no_rounds(seven: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="fractions"):
        bradley_terry.bootstrap(seven.assign(weight=0.3), 2, seed=0)
    with pytest.raises(ValueError, match="rounds"):
        bradley_terry.bootstrap(seven, 0, seed=0)


def test_ridge_answers_where_the_likelihood_has_no_maximum() -> None:
    frame = pd.DataFrame({"model_a": ["a", "a", "x"], "model_b": ["b", "b", "y"], "outcome": [1.0, 1.0, 0.5]})
    with pytest.raises(counts.GraphError):
        bradley_terry.fit(frame)
    fit = bradley_terry.fit(frame, ridge=1.0)
    assert np.isfinite(fit.covariance).all()
    assert fit.coefficients[2:] == pytest.approx([0, 0], abs=1e-9)
    # The one-dimensional condition for a: 2 (1 - p) = xi_a, with xi_b = -xi_a.
    lead = fit.coefficients[0]
    assert 2 * (1 - expit(2 * lead)) == pytest.approx(lead)


def test_models_with_two_ties_only_are_equal() -> None:
    frame = pd.DataFrame({"model_a": ["a", "b"], "model_b": ["b", "a"], "outcome": [0.5, 0.5]})
    fit = bradley_terry.fit(frame)
    assert fit.ratings.tolist() == [1000, 1000]
    # Every outcome is what the model expects, so the scores do not vary and neither does the sandwich.
    assert fit.standard_errors.tolist() == [0, 0]


def test_bad_settings_are_refused(seven: pd.DataFrame) -> None:
    with pytest.raises(KeyError, match="zzz"):
        bradley_terry.fit(seven, anchor="zzz")
    with pytest.raises(KeyError, match="zzz"):
        bradley_terry.fit(seven, reference="zzz")
    with pytest.raises(ValueError, match="ridge"):
        bradley_terry.fit(seven, ridge=-1)
    for bad in ({"scale": 0}, {"scale": np.inf}, {"base": 1}, {"anchor_rating": np.nan}):
        with pytest.raises(ValueError, match="scale"):
            bradley_terry.fit(seven, **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level"):
        bradley_terry.fit(seven).intervals(1.0)


def unbalanced(seed: int) -> pd.DataFrame:
    """Battles of a non-transitive world, its pairs shown unequally often; each row with its probability."""
    rng = np.random.default_rng(seed)
    names = np.array(list("abcd"), dtype=object)
    first, second = np.triu_indices(4, 1)
    shown = np.array([0.4, 0.05, 0.25, 0.1, 0.15, 0.05])
    wins = np.array([0.8, 0.3, 0.6, 0.7, 0.55, 0.4])
    pair = rng.choice(6, size=40_000, p=shown)
    outcome = (rng.random(len(pair)) < wins[pair]).astype(float)
    return pd.DataFrame(
        {
            "model_a": names[first[pair]],
            "model_b": names[second[pair]],
            "outcome": outcome,
            "probability": shown[pair],
        }
    )


def target(pairs: np.ndarray) -> np.ndarray:
    """Coefficients that minimise the expected cross-entropy when pair k is shown with pairs[k]."""
    first, second = np.triu_indices(4, 1)
    wins = np.array([0.8, 0.3, 0.6, 0.7, 0.55, 0.4])

    def loss(xi: np.ndarray) -> float:
        p = expit(xi[first] - xi[second])
        return -float(pairs @ (wins * np.log(p) + (1 - wins) * np.log(1 - p)))

    found = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    return found - found.mean()


@pytest.mark.parametrize("weighting", ["given", "share", None])
def test_inverse_probability_targets_uniform_pairs(weighting: str | None) -> None:
    # Equation (7): where the model does not hold, the weights decide what is estimated.
    shown = np.array([0.4, 0.05, 0.25, 0.1, 0.15, 0.05])
    uniform, biased = target(np.full(6, 1 / 6)), target(shown)
    assert np.abs(uniform - biased).max() > 0.15
    fit = bradley_terry.fit(unbalanced(0), inverse_probability=weighting)
    expected = biased if weighting is None else uniform
    assert (np.abs(fit.coefficients - expected) < 4 * np.sqrt(np.diag(fit.covariance))).all()
    assert np.sqrt(np.diag(fit.covariance)).max() < 0.04
    assert fit.battles.sum() == 80_000


@pytest.mark.parametrize("weighting", ["given", "share"])
def test_reweighted_bootstrap_spreads_as_its_sandwich(weighting: str) -> None:
    frame = unbalanced(1)
    fit = bradley_terry.fit(frame, inverse_probability=weighting)
    draws = bradley_terry.bootstrap(frame, 600, 2, inverse_probability=weighting)
    ratio = draws.std().to_numpy() / fit.standard_errors.to_numpy()
    if weighting == "given":
        np.testing.assert_allclose(ratio, 1, atol=0.1)
    else:  # shares that follow the draw remove the part of the variance that lies between pairs
        assert (ratio < 1.05).all()


def test_given_weights_are_those_of_a_weighted_generalised_linear_model(seven: pd.DataFrame) -> None:
    rng = np.random.default_rng(5)
    frame = seven.assign(probability=rng.choice([0.02, 0.1, 0.5], size=len(seven)))
    fit = bradley_terry.fit(frame, reference="m00", inverse_probability="given")
    design = np.zeros((len(seven), 7))
    rows = np.arange(len(seven))
    design[rows, [int(m[1:]) for m in seven["model_a"]]] = 1
    design[rows, [int(m[1:]) for m in seven["model_b"]]] = -1
    weights = 1 / frame["probability"].to_numpy()
    p = expit(design @ fit.coefficients)
    residual = weights * (frame["outcome"].to_numpy() - p)
    np.testing.assert_allclose(design.T @ residual / weights.sum(), 0, atol=1e-10)
    bread = np.linalg.inv((design[:, 1:].T * weights * p * (1 - p)) @ design[:, 1:])
    scores = design[:, 1:] * residual[:, None]
    np.testing.assert_allclose(fit.covariance[1:, 1:], bread @ scores.T @ scores @ bread, rtol=1e-6)


def test_clustered_sandwich_equals_that_of_a_peer(seven: pd.DataFrame) -> None:
    frame = seven.assign(voter=np.random.default_rng(4).integers(150, size=len(seven)))
    fit = bradley_terry.fit(frame, reference="m00", cluster="voter")
    design = np.zeros((len(seven), 7))
    rows = np.arange(len(seven))
    design[rows, [int(m[1:]) for m in seven["model_a"]]] = 1
    design[rows, [int(m[1:]) for m in seven["model_b"]]] = -1
    peer = sm.GLM(seven["outcome"].to_numpy(), design[:, 1:], family=sm.families.Binomial()).fit(
        cov_type="cluster",
        cov_kwds={"groups": frame["voter"].to_numpy(), "use_correction": False, "df_correction": False},
        tol=1e-14,
        maxiter=100,
    )
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)[1:]), peer.bse, rtol=1e-6)


def test_three_copies_of_every_vote_are_no_more_information(seven: pd.DataFrame) -> None:
    # The known mistake: resampling rows that are copies of one verdict narrows intervals by sqrt(3).
    once = bradley_terry.fit(seven)
    copied = pd.concat([seven.assign(prompt_id=range(len(seven)))] * 3, ignore_index=True)
    naive, honest = bradley_terry.fit(copied), bradley_terry.fit(copied, cluster="prompt_id")
    np.testing.assert_allclose(naive.standard_errors * np.sqrt(3), once.standard_errors, rtol=1e-9)
    np.testing.assert_allclose(honest.standard_errors, once.standard_errors, rtol=1e-9)
    draws = bradley_terry.bootstrap(copied, 400, 0, cluster="prompt_id")
    np.testing.assert_allclose(draws.std() / once.standard_errors, 1, atol=0.15)


def test_bad_probabilities_and_units_are_refused(seven: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="column probability"):
        bradley_terry.fit(seven, inverse_probability="given")
    for bad in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="probability outside"):
            bradley_terry.fit(seven.assign(probability=bad), inverse_probability="given")
    with pytest.raises(ValueError, match="'given', 'share' or None"):
        bradley_terry.fit(seven, inverse_probability="empirical")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="column voter"):
        bradley_terry.fit(seven, cluster="voter")
    with pytest.raises(ValueError, match="names no voter"):
        bradley_terry.fit(seven.assign(voter=[None, *["x"] * (len(seven) - 1)]), cluster="voter")
    with pytest.raises(ValueError, match="of their own"):
        bradley_terry.fit(counts.from_battles(seven), cluster="voter")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"model_a": [], "model_b": [], "outcome": []}, dtype=object), "no battles"),
        (pd.DataFrame({"model_a": ["a"], "model_b": ["a"], "outcome": [1.0]}), "against itself"),
        (pd.DataFrame({"model_a": ["a"], "model_b": ["b"], "outcome": [1.0], "weight": [0.0]}), "no battles"),
        (pd.DataFrame({"model_a": ["a"], "model_b": ["b"], "outcome": [1.0], "weight": [np.nan]}), "weight"),
        (pd.DataFrame({"model_a": ["a", "a"], "model_b": ["b", "b"], "outcome": [1.0, 1.0]}), "never beaten"),
        (pd.DataFrame({"model_a": ["a", "c"], "model_b": ["b", "d"], "outcome": [0.5, 0.5]}), "2 parts"),
    ],
)
def test_battles_that_rate_nobody_are_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bradley_terry.fit(frame)
