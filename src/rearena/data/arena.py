r"""The simulated arena: models, answers, votes, judges and annotators of known truth, from one seed.

Prompts come from :func:`rearena.data.grammar.prompts`; this is what happens to them. One seed makes a world
(:func:`build`); votes, verdicts and annotations are drawn from it, each with a seed of its own.

**Models.** Model :math:`m` has the ability :math:`\theta_m`, its printed rating in units of
:math:`400 / \ln 10 = 173.7` Elo, so that :math:`\theta_a - \theta_b` is the log-odds of the expected score
(win 1, tie 1/2) that a Bradley-Terry fit with half-wins estimates, as the printed ratings do. On topic
:math:`t` its strength is :math:`\theta_m + \tau_{mt}`, with :math:`\tau \sim N(0, 0.1^2)` made to sum to 0
over the topics of each model.

**Prompts.** A prompt of quality score :math:`q`, from 0 to 7, has the discrimination
:math:`c(q) = e^{\beta q} / \sum_k P_k e^{\beta k}`. The shares :math:`P_k` of the scores are those of
Arena-Hard, Table 1, so that its mean over prompts is 1 and abilities keep their scale. Chatbot Arena, Table 2
(section 6.2: 30 prompts from each of eight clusters, GPT-4-0613 against Llama-2-70b, a GPT-4 judge) bounds
:math:`\beta` from below only: its clusters differ more than scores alone explain, and its deviance falls on
and on as :math:`\beta` grows. We take 0.45, a mild slope that Table 2 does not reject at the sharpness of our
GPT-4 judge (deviance 14 on 8 cells; 5 % lie above 15.5). The win rate of a stronger model then rises with
the score, as in Arena-Hard, Fig 4, but the clusters differ by 61 to 77 %, not by the printed 53 to 97 %.
What else tells them apart is not modelled.

**Answers.** Each model answers each prompt once, with luck :math:`g_{pm} \sim N(0, 1)` and :math:`L_{pm}`
tokens: :math:`\ln L_{pm} = \ln \ell_m + 0.12 (q_p - 6) + N(0, 0.35^2)`. The verbosity :math:`\ell_m` is the
printed mean over the prompts of Arena-Hard, which score 6 and more. Length and luck are independent.

**Judges** (people, too) see the pair :math:`(a, b)`, ``a`` first, at the log-odds

.. math::
    \eta = k\, c_p (\theta_a + \tau_{at} - \theta_b - \tau_{bt})
    + \beta_1 + \beta_2 \frac{L_a - L_b}{L_a + L_b} + \beta_3 (f_a - f_b)

with sharpness :math:`k`, position bias :math:`\beta_1` (for the first), length bias :math:`\beta_2` and
family bias :math:`\beta_3`; :math:`f_m = 1` for models of the judge's own maker, else 0. The expected score
is :math:`\sigma(\eta)`, exactly, and ties are Davidson's (1970):
:math:`P(\text{tie}) = \nu \sqrt{P(a)\, P(b)}`. So a fit with half-wins finds biases in their own unit,
whatever :math:`\nu` is (with :math:`\eta` the log-odds of decided battles, it would find less). It does not
know that discriminations and topics differ: at :math:`k = 1.5` it finds 5 % less than the bias. With the true
edge (:meth:`Arena.log_odds` of a judge without biases) as a covariate it is exact.

*Luck is shared, chances are not changed by it.* Outcomes lie in the order a wins, tie, b wins on the unit
interval, and the one that holds
:math:`v = \Phi(-\rho (g_a - g_b) / \sqrt 2 - \sqrt{1 - \rho^2}\, \varepsilon)` happens, with
fresh :math:`\varepsilon \sim N(0, 1)`. Over answers, :math:`v` is uniform for each judge, but judges who see
the same answers agree the more, the larger their :math:`\rho`; so do the two games of one judge. An interval
must therefore take the pair of answers, not the game, as its unit: game by game, it is too narrow for what
turns with the order, as length does, and too wide for the position.

*Verdicts.* A win of probability :math:`P` is a strong one with probability :math:`0.6 P`, and it is the
luckier part of the wins. A judge fails to say a verdict with a fixed probability; all that it says is text.

**Votes.** The crowd is such a judge with :math:`k = 1`, times a log-normal factor for each voter
(standard deviation 0.3 of the logarithm) whose mean over the votes is 1. A voter is the prompt's user, and
votes a minute after it on average. A tie is "both bad" with probability
:math:`\sigma(\bar\theta - (s_a + s_b) / 2)`, :math:`s` being strengths. Some voters may follow a named
behaviour of :data:`rearena.data.voters.BEHAVIOURS` instead.

**Annotators** say of each quality the opposite of the truth with a fixed probability.

**Inputs.** What is printed and went into this world is listed in :data:`INPUTS`; no result of a simulation
is judged against these numbers. All other numbers are choices of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr

from rearena.data import published
from rearena.data.released import CRITERIA
from rearena.data.voters import BEHAVIOURS

INPUTS = {
    "abilities": "wildbench_table2, arena_elo; GPT-3.5-turbo-0613 as 0125, Llama-2-13B midway of 7B and 70B",
    "ability of GPT-4-0613": "arena_hard_table6, win_rate, by a line of arena_elo on arena_hard",
    "verbosity": "arena_hard_table6, avg_tokens; for a model not in it, the mean of its maker or the median",
    "shares of the quality scores": "arena_hard_table1, the seven rows score>=",
    "discrimination": "chatbot_arena_table2, win_rate",
    "sharpness, sharing, ties and length of PARTIES": "chatbot_arena_table3, agreement",
    "accuracy of annotators": "Arena-Hard, section 4.2: 85.6 % against the majority of three",
}
"""Printed numbers that this world is calibrated to, and that it is never judged against."""

SCALE = 400 / np.log(10)  # Elo in one unit of log-odds
SLOPE = 0.45  # beta, of the logarithm of discrimination by quality score
_TOPICS_APART, _VOTERS_APART = 0.1, 0.3  # standard deviations, see above
_LENGTH_BY_SCORE, _LENGTH_SPREAD = 0.12, 0.35
_PER_TOKENS = {"headers": 250.0, "bold": 80.0, "lists": 60.0}  # tokens to one of these, on average
_CHARACTERS = 4.4  # of a token
_STRONG = 0.6
_MAKERS = {
    "GPT": "OpenAI",
    "Claude": "Anthropic",
    "Llama": "Meta",
    "Gem": "Google",
    "Mi": "Mistral AI",
    "Qwen": "Alibaba",
    "Command": "Cohere",
    "Starling": "Berkeley",
    "DBRX": "Databricks",
    "Tulu": "Ai2",
}
_VERDICTS = (
    "Assistant A is significantly better: [[A>>B]]",
    "Assistant A is slightly better: [[A>B]]",
    "Tie, relatively the same: [[A=B]]",
    "Assistant B is slightly better: [[B>A]]",
    "Assistant B is significantly better: [[B>>A]]",
)
_OPENING = "A simulated judge, which has read neither answer."
_UNPARSABLE = (
    f"{_OPENING} Both have their merits, and which one is better is for the user to say.",
    f"{_OPENING} My final verdict is: Assistant",
)


@dataclass(frozen=True, kw_only=True)
class Judge:
    r"""A simulated judge, person or crowd.

    Attributes
    ----------
    name : str
    sharpness : float
        :math:`k > 0`: how much of a difference in strength it sees; 1 for the crowd.
    sharing : float
        :math:`\rho` in [0, 1]: how far its verdict depends on the answers at hand, as other judges see them.
    ties : float
        :math:`\nu \geq 0`; equals tie with probability :math:`\nu / (2 + \nu)`.
    position, length, favour : float
        Biases :math:`\beta_1, \beta_2, \beta_3` in log-odds: for the first answer, per unit of the relative
        difference in tokens, and for models of its own maker.
    maker : str, optional
        Who made it, as in the column ``maker`` of :attr:`Arena.models`.
    unparsable : float
        Share in [0, 1] of answers without a verdict.
    """

    name: str
    sharpness: float = 1.0
    sharing: float = 0.7
    ties: float = 0.5
    position: float = 0.0
    length: float = 0.0
    favour: float = 0.0
    maker: str | None = None
    unparsable: float = 0.0

    def __post_init__(self) -> None:
        biases = (self.position, self.length, self.favour)
        if not (0 < self.sharpness < np.inf and 0 <= self.ties < np.inf and np.isfinite(biases).all()):
            raise ValueError(f"judge {self.name!r}: sharpness > 0, ties >= 0 and biases must be finite")
        if not (0 <= self.sharing <= 1 and 0 <= self.unparsable <= 1):
            raise ValueError(f"judge {self.name!r}: sharing and unparsable must lie in [0, 1]")


CROWD = Judge(name="Crowd", sharpness=1.0, sharing=0.999, ties=0.4)
EXPERT_1 = Judge(name="Expert 1", sharpness=2.8, sharing=0.99, ties=0.38, length=1.2)
EXPERT_2 = Judge(name="Expert 2", sharpness=2.0, sharing=0.996, ties=0.84, length=-0.1)
GPT_4 = Judge(name="GPT-4", sharpness=1.5, sharing=0.85, ties=0.48, length=0.4, maker="OpenAI")
PARTIES = (CROWD, EXPERT_1, EXPERT_2, GPT_4)
"""Those who judge in Chatbot Arena, Table 3, fitted to it; ``dataclasses.replace`` sets other biases."""

ANNOTATOR_ACCURACY = 0.885
"""Accuracy of an annotator that agrees with the majority of three equal ones in 85.6 % of cases."""


@dataclass(frozen=True, eq=False)
class Arena:
    """A world: what is true of models, prompts and answers.

    Attributes
    ----------
    models : DataFrame, index ``model``
        ``ability`` (log-odds, mean 0), ``maker``, ``tokens`` (of an answer to a prompt of score 6),
        ``markdown`` (how much of it, 1 on average).
    strengths : DataFrame, shape (models, topics)
        Ability plus strength on the topic, in log-odds.
    prompts : DataFrame, index ``prompt_id``
        The prompts, with ``quality`` (0 to 7) and ``discrimination``.
    luck : ndarray, shape (prompts, models)
        Luck of each answer, standard normal.
    style : dict of ndarray, each of shape (prompts, models)
        ``tokens, headers, bold, lists`` of each answer.
    """

    models: pd.DataFrame
    strengths: pd.DataFrame
    prompts: pd.DataFrame
    luck: NDArray[np.float64]
    style: Mapping[str, NDArray[np.int64]]

    def answers(
        self, models: Sequence[str] | None = None, prompts: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """Answers of models to prompts, by default of all to all.

        Parameters
        ----------
        models, prompts : sequence of str, optional
            Names, and ``prompt_id``.

        Returns
        -------
        DataFrame
            ``prompt_id, model, text, chars, tokens, headers, bold, lists``, prompt by prompt. The text says
            that it is simulated; the others are the sizes that the simulated answer would have.

        Raises
        ------
        KeyError
            If a model or a prompt is not in the arena.
        """
        row = np.arange(len(self.prompts)) if prompts is None else _places(self.prompts.index, prompts)
        column = np.arange(len(self.models)) if models is None else _places(self.models.index, models)
        i, m = np.repeat(row, len(column)), np.tile(column, len(row))
        frame = pd.DataFrame({"prompt_id": self.prompts.index[i], "model": self.models.index[m]})
        frame["text"] = "[Simulated answer of " + frame["model"] + " to prompt " + frame["prompt_id"] + ".]"
        frame["chars"] = np.rint(_CHARACTERS * self.style["tokens"][i, m]).astype(np.int64)
        return frame.assign(**{name: amounts[i, m] for name, amounts in self.style.items()})

    def pairs(
        self,
        count: int,
        seed: int | np.random.Generator,
        *,
        models: Sequence[str] | None = None,
        prompts: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """Pairs of answers to show: on each prompt two models drawn uniformly, in either order.

        Parameters
        ----------
        count : int
            Number of pairs. No prompt comes twice before all have come.
        seed : int or Generator
        models, prompts : sequence of str, optional
            Names (two or more, each once) and ``prompt_id`` to draw from; by default all.

        Returns
        -------
        DataFrame
            ``prompt_id, model_a, model_b``, with ``model_a`` shown first.

        Raises
        ------
        ValueError
            If there are fewer than two models, no prompt, or a negative number of pairs.
        KeyError
            If a model or a prompt is not in the arena.
        """
        names = self.models.index if models is None else self.models.index[_places(self.models.index, models)]
        rows = (
            self.prompts.index
            if prompts is None
            else self.prompts.index[_places(self.prompts.index, prompts)]
        )
        if len(names) < 2 or names.has_duplicates or not len(rows) or count < 0:
            raise ValueError(
                "pairs need two or more models, each once, a prompt and count >= 0; "
                f"got {len(names)} models, {len(rows)} prompts, count {count}"
            )
        rng = np.random.default_rng(seed)
        rounds = [rng.permutation(len(rows)) for _ in range(-(-count // len(rows)))]
        row = np.concatenate([np.arange(0), *rounds])[:count]
        first = rng.integers(len(names), size=count)
        second = (first + rng.integers(1, len(names), size=count)) % len(names)
        return pd.DataFrame({"prompt_id": rows[row], "model_a": names[first], "model_b": names[second]})

    def log_odds(self, pairs: pd.DataFrame, judge: Judge) -> NDArray[np.float64]:
        r"""True log-odds :math:`\eta` of the judge's expected score for the first of each pair.

        Parameters
        ----------
        pairs : DataFrame
            ``prompt_id, model_a, model_b``.
        judge : Judge

        Returns
        -------
        ndarray, shape (N,)

        Raises
        ------
        KeyError
            If a model or a prompt is not in the arena.
        """
        return self._see(pairs, judge).log_odds

    def judgments(
        self,
        pairs: pd.DataFrame,
        judge: Judge,
        seed: int | np.random.Generator,
        *,
        games: Sequence[int] = (1, 2),
    ) -> pd.DataFrame:
        """What a judge says about pairs of answers, in its own words.

        Parameters
        ----------
        pairs : DataFrame
            ``prompt_id, model_a, model_b``.
        judge : Judge
        seed : int or Generator
        games : sequence of int
            1 shows ``model_a`` of the pair first, 2 the other. The games of a pair are one unit of sampling
            (``cluster`` of a fit); one game, (1,), needs none: :meth:`pairs` puts either model first.

        Returns
        -------
        DataFrame
            Judgments as they come, pair by pair: ``prompt_id, judge, model_a, model_b, order, raw`` (for
            :func:`rearena.llm.parse_verdict`), and ``length``, the relative difference in tokens, first minus
            second. ``model_a`` is always the one shown first, Assistant A of the verdict: game 2 (``order``)
            names the models of its pair the other way round.

        Raises
        ------
        KeyError
            If a model or a prompt is not in the arena.
        ValueError
            If a game is neither 1 nor 2.
        """
        if not set(games) <= {1, 2}:
            raise ValueError(f"games are 1 and 2, got {list(games)}")
        order = np.tile(np.asarray(games, dtype=np.int64), len(pairs))
        shown = _turned(pairs.loc[np.repeat(pairs.index, len(games))], order == 2)
        rng = np.random.default_rng(seed)
        seen = self._see(shown, judge)
        said = np.array([f"{_OPENING} My final verdict is: {verdict}" for verdict in _VERDICTS], dtype=object)
        raw = said[_category(seen, judge, rng)]
        dumb = rng.random(len(shown)) < judge.unparsable
        raw[dumb] = np.array(_UNPARSABLE, dtype=object)[rng.integers(len(_UNPARSABLE), size=dumb.sum())]
        columns = ["prompt_id", "judge", "model_a", "model_b", "order", "raw", "length"]
        return shown.assign(judge=judge.name, order=order, raw=raw, length=seen.length)[columns]

    def votes(
        self,
        pairs: pd.DataFrame,
        seed: int | np.random.Generator,
        *,
        crowd: Judge = CROWD,
        behaviours: Mapping[str, float] | None = None,
        target: str | None = None,
    ) -> pd.DataFrame:
        """Votes of the users who wrote the prompts.

        Parameters
        ----------
        pairs : DataFrame
            ``prompt_id, model_a, model_b``, one row a vote; ``model_a`` is shown first.
        seed : int or Generator
        crowd : Judge
            How an honest voter votes, up to the voter's own sharpness.
        behaviours : mapping from str to float, optional
            Share of the voters who follow a behaviour of :data:`rearena.data.voters.BEHAVIOURS`; by default
            all are honest.
        target : str, optional
            The model that those who ``push`` are for: where it is not shown, it takes the first place.

        Returns
        -------
        DataFrame
            Battles by time: ``model_a, model_b, outcome, both_bad, prompt_id, voter, time, behaviour``.

        Raises
        ------
        KeyError
            If a model or a prompt is not in the arena.
        ValueError
            If prompts have no user or time, a behaviour is unknown, its shares are no shares, or some push
            and the target is not in the arena.
        """
        shares = dict(behaviours or {})
        if not {"user", "time"} <= set(self.prompts):
            raise ValueError(
                "votes are cast by the prompts' users: the prompts need the columns user and time"
            )
        if (
            not set(shares) <= set(BEHAVIOURS)
            or min(shares.values(), default=0) < 0
            or sum(shares.values()) > 1
        ):
            raise ValueError(
                f"behaviours are shares, 1 in all at most, of {', '.join(BEHAVIOURS)}; got {shares}"
            )
        if "pushes" in shares and target not in self.models.index:
            raise ValueError(f"target must be a model of the arena, got {target!r}")
        rng = np.random.default_rng(seed)
        prompts = self.prompts.iloc[_places(self.prompts.index, pairs["prompt_id"])]
        moment = prompts["time"].array + pd.to_timedelta(rng.exponential(60, len(pairs)).round(), unit="s")
        votes = pairs[["model_a", "model_b", "prompt_id"]].assign(
            voter=prompts["user"].to_numpy(), time=moment
        )
        votes = votes.sort_values("time", kind="stable", ignore_index=True)
        voter, users = pd.factorize(votes["voter"])
        kinds = np.array([*shares, "honest"], dtype=object)
        chance = np.array([*shares.values(), max(0.0, 1 - sum(shares.values()))])
        votes["behaviour"] = kinds[rng.choice(len(kinds), len(users), p=chance / chance.sum())][voter]
        elsewhere = (votes["behaviour"] == "pushes") & (votes[["model_a", "model_b"]] != target).all(axis=1)
        votes.loc[elsewhere, "model_a"] = target
        own = np.exp(_VOTERS_APART * rng.normal(size=len(users)))[voter]
        seen = self._see(votes, crowd, own / own.mean())
        votes["outcome"] = np.array([1.0, 1.0, 0.5, 0.0, 0.0])[_category(seen, crowd, rng)]
        votes["outcome"] = _misbehaved(votes, target, rng)
        bad = rng.random(len(votes)) < expit(self.models["ability"].mean() - seen.level)
        votes["both_bad"] = bad & (votes["outcome"] == 0.5)
        columns = ["model_a", "model_b", "outcome", "both_bad", "prompt_id", "voter", "time", "behaviour"]
        return votes[columns]

    def annotations(
        self,
        name: str,
        seed: int | np.random.Generator,
        *,
        accuracy: float = ANNOTATOR_ACCURACY,
        unparsable: float = 0.0,
        prompts: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """What an annotator says of the seven qualities of prompts, in its own words.

        Parameters
        ----------
        name : str
            The annotator's name.
        seed : int or Generator
        accuracy : float in [0, 1]
            Probability to be right about one quality of one prompt.
        unparsable : float in [0, 1]
            Share of answers without a list.
        prompts : sequence of str, optional
            ``prompt_id`` of those to annotate; by default all.

        Returns
        -------
        DataFrame
            Annotations as they come: ``prompt_id, judge, kind`` ("quality") and ``raw``, such as
            ``Criteria Satisfied: [1, 2, 4]``, which counts the qualities as
            :data:`rearena.data.released.CRITERIA` does, from 1. Parse with
            :func:`rearena.llm.parsers.parse_criteria`.

        Raises
        ------
        KeyError
            If a prompt is not in the arena.
        ValueError
            If a probability is outside [0, 1].
        """
        if not (0 <= accuracy <= 1 and 0 <= unparsable <= 1):
            raise ValueError(f"accuracy and unparsable lie in [0, 1], got {accuracy} and {unparsable}")
        rng = np.random.default_rng(seed)
        rows = slice(None) if prompts is None else _places(self.prompts.index, prompts)
        truth = self.prompts.iloc[rows][list(CRITERIA)].to_numpy(dtype=bool)
        seen = truth ^ (rng.random(truth.shape) >= accuracy)
        subsets = [
            [k + 1 for k in range(len(CRITERIA)) if code >> k & 1] for code in range(2 ** len(CRITERIA))
        ]
        lists = np.array([f"Criteria Satisfied: {subset}" for subset in subsets], dtype=object)
        said = lists[seen @ (1 << np.arange(len(CRITERIA)))]
        dumb = rng.random(len(truth)) < unparsable
        raw = np.where(dumb, "A simulated annotator, which cannot say what this prompt asks for.", said)
        frame = pd.DataFrame({"prompt_id": self.prompts.index[rows], "judge": name, "kind": "quality"})
        return frame.assign(raw=raw)

    def _see(self, pairs: pd.DataFrame, judge: Judge, factor: ArrayLike = 1.0) -> _Seen:
        """Look pairs up; ``factor`` multiplies the judge's sharpness, row by row."""
        row = _places(self.prompts.index, pairs["prompt_id"])
        topic = self.strengths.columns.get_indexer(self.prompts["topic"].iloc[row].array)
        a, b = (_places(self.models.index, pairs[side]) for side in ("model_a", "model_b"))
        strengths, tokens = self.strengths.to_numpy(), self.style["tokens"]
        first, second = strengths[a, topic], strengths[b, topic]
        edge = self.prompts["discrimination"].to_numpy()[row] * (first - second)
        length = (tokens[row, a] - tokens[row, b]) / (tokens[row, a] + tokens[row, b])
        own = (self.models["maker"] == judge.maker).to_numpy(dtype=float)
        bias = judge.position + judge.length * length + judge.favour * (own[a] - own[b])
        return _Seen(
            log_odds=judge.sharpness * np.asarray(factor) * edge + bias,
            luck=(self.luck[row, a] - self.luck[row, b]) / np.sqrt(2),
            length=length,
            level=(first + second) / 2,
        )


class _Seen(NamedTuple):
    """Pairs of answers as a judge sees them: log-odds of the first, and differences in luck and length."""

    log_odds: NDArray[np.float64]
    luck: NDArray[np.float64]
    length: NDArray[np.float64]
    level: NDArray[np.float64]  # mean strength of the two


def _category(seen: _Seen, judge: Judge, rng: np.random.Generator) -> NDArray[np.int64]:
    """Verdicts, from 0 for A>>B to 4 for B>>A."""
    first, second = _davidson(expit(seen.log_odds), judge.ties)
    noise = np.sqrt(1 - judge.sharing**2) * rng.normal(size=len(first))
    v = ndtr(-judge.sharing * seen.luck - noise)
    ends = (_STRONG * first**2, first, 1 - second, 1 - _STRONG * second**2)
    category: NDArray[np.int64] = np.sum([v >= end for end in ends], axis=0, dtype=np.int64)
    return category


def build(prompts: pd.DataFrame, seed: int | np.random.Generator) -> Arena:
    """Make the world around prompts: models, discriminations and every model's answer to every prompt.

    Parameters
    ----------
    prompts : DataFrame
        ``prompt_id`` (each once), ``topic`` and the seven qualities (bool) as
        :data:`rearena.data.released.CRITERIA` names them; for votes, ``user`` and ``time`` too. Other columns
        are kept.
    seed : int or Generator
        Source of randomness.

    Returns
    -------
    Arena

    Raises
    ------
    ValueError
        If a column is missing, or a prompt comes twice.
    """
    if missing := {"prompt_id", "topic", *CRITERIA} - set(prompts):
        raise ValueError(f"prompts lack the columns {', '.join(sorted(missing))}")
    if prompts["prompt_id"].duplicated().any():
        raise ValueError(
            f"prompt {prompts['prompt_id'][prompts['prompt_id'].duplicated()].iloc[0]!r} comes twice"
        )
    rng = np.random.default_rng(seed)
    models = _models()
    models["markdown"] = rng.lognormal(-0.125, 0.5, size=len(models))
    quality = prompts[list(CRITERIA)].sum(axis=1).astype(np.int64)
    known = prompts.assign(quality=quality, discrimination=discrimination()[quality]).set_index("prompt_id")
    topics = pd.Index(sorted(known["topic"].unique()), name="topic")
    apart = _TOPICS_APART * rng.normal(size=(len(models), len(topics)))
    if len(topics):
        apart -= apart.mean(axis=1, keepdims=True)
    strengths = pd.DataFrame(apart, models.index, topics).add(models["ability"], axis=0)
    size = (len(known), len(models))
    usual = models["tokens"].to_numpy() * np.exp(
        _LENGTH_BY_SCORE * (known["quality"].to_numpy()[:, None] - 6)
    )
    tokens = np.maximum(1, np.rint(usual * rng.lognormal(0, _LENGTH_SPREAD, size))).astype(np.int64)
    style = {"tokens": tokens}
    for name, per in _PER_TOKENS.items():
        style[name] = rng.poisson(tokens * models["markdown"].to_numpy() / per)
    return Arena(models=models, strengths=strengths, prompts=known, luck=rng.normal(size=size), style=style)


def discrimination() -> NDArray[np.float64]:
    """Discrimination c(q) of prompts of quality score 0 to 7, of mean 1 over the scores of Table 1."""
    table = published.table("arena_hard_table1").set_index("row")["percent"]
    at_least = np.concatenate([[100.0], table.loc["score>="].to_numpy(), [0.0]]) / 100
    weight = np.exp(SLOPE * np.arange(len(at_least) - 1))
    found: NDArray[np.float64] = weight / (-np.diff(at_least) @ weight)
    return found


def _models() -> pd.DataFrame:
    """Models with a printed rating, and three whose ratings are inferred; see :data:`INPUTS`."""
    table = published.table("wildbench_table2").set_index("model")[["arena_elo", "arena_hard"]]
    table = table.dropna(subset=["arena_elo"])
    both = table.dropna()
    line = np.polyfit(logit(both["arena_hard"] / 100), both["arena_elo"], 1)
    hard = published.table("arena_hard_table6").set_index("model")
    elo, rate = table["arena_elo"], hard["win_rate"]
    inferred = {
        "GPT-4-0613": (np.polyval(line, logit(rate["gpt-4-0613"] / 100)), rate["gpt-4-0613"]),
        "GPT-3.5-turbo-0613": (elo["GPT-3.5-turbo-0125"], rate["gpt-3.5-turbo-0613"]),
        "Llama-2-13B-chat": (elo[["Llama-2-7B-chat", "Llama-2-70B-chat"]].mean(), np.nan),
    }
    table = pd.concat([table, pd.DataFrame.from_dict(inferred, "index", columns=table.columns)])
    table.index.name = "model"
    # WildBench prints the win rates of Arena-Hard, and no two models share one: that is the key.
    tokens = table["arena_hard"].map(hard.set_index("win_rate")["avg_tokens"])
    makers = [made for name in table.index for start, made in _MAKERS.items() if name.startswith(start)]
    tokens = tokens.fillna(tokens.groupby(makers).transform("mean")).fillna(tokens.median())
    ability = (table["arena_elo"] - table["arena_elo"].mean()) / SCALE
    return pd.DataFrame({"ability": ability, "maker": makers, "tokens": tokens})


def _davidson(score: NDArray[np.float64], ties: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of a win and of a loss, of this expected score and P(tie) = ties sqrt(P(win) P(loss))."""
    # Win : tie : loss = x^2 : ties x : 1, and the score gives a quadratic in x. It is solved for the less
    # likely of the two sides, so that nothing divides by zero.
    low = np.maximum(np.minimum(score, 1 - score), np.finfo(float).tiny)
    half = ties * (0.5 - low)
    x = 2 * low / (half + np.sqrt(half**2 + 4 * low * (1 - low)))
    total = x**2 + ties * x + 1
    worse, better = x**2 / total, 1 / total
    return np.where(score < 0.5, worse, better), np.where(score < 0.5, better, worse)


def _misbehaved(votes: pd.DataFrame, target: str | None, rng: np.random.Generator) -> NDArray[np.float64]:
    """Outcomes, those of misbehaving voters changed; votes are in the order of casting."""
    does = votes["behaviour"]
    return np.select(
        [
            does == "always first",
            does == "always second",
            does == "coin",
            does == "repeats",
            does == "pushes",
        ],
        [
            1.0,
            0.0,
            rng.integers(2, size=len(votes)),
            votes.groupby("voter")["outcome"].transform("first"),
            votes["model_a"] == target,
        ],
        votes["outcome"],
    )


def _turned(pairs: pd.DataFrame, turn: NDArray[np.bool_]) -> pd.DataFrame:
    """The pairs, with the models exchanged where told."""
    a, b = pairs["model_a"], pairs["model_b"]
    return pairs.assign(model_a=a.where(~turn, b), model_b=b.where(~turn, a)).reset_index(drop=True)


def _places(index: pd.Index, names: Sequence[str] | pd.Series) -> NDArray[np.intp]:
    place = index.get_indexer(pd.Index(names))
    if (place < 0).any():
        raise KeyError(f"no {index.name} {list(names)[int(place.argmin())]!r} in the arena")
    return np.asarray(place)
