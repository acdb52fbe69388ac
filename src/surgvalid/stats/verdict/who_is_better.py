"""The verdict: who is better by one metric, how sure that is, and what it rests on; statements as data.

Every verb that says who is better takes its words from here. A statement is a code with its numbers; `sentences` words
it. The interval of the leader minus another model, all pairs held together, decides (M is the margin that matters):

| interval | without margin | with one |
|---|---|---|
| low > M | better | better |
| 0 < low <= M | better | better_small |
| -M < low, high < M | open | equivalent |
| -M < low <= 0, high >= M | open | non_inferior |
| else | open | open |

Before it come `no_unit` (nobody said what is independent), `too_few` (so few units that the exact sign-flip test can
show nothing) and `depends`: strata contradict each other, other metrics name another model, scores that are not there
decide, or cases and units counted alike name different models. Whoever leads is then no winner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, SurgvalidError, TableInvalid, UnknownName
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.column_words import PLACES, plain_name
from surgvalid.schema.tables.missing import Missing, usual_rules
from surgvalid.schema.tables.score_matrix import ScoreMatrix
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.units import Unit
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.comparing.paired_tests import exact_p
from surgvalid.stats.intervals.pooled import verb_matrix
from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.intervals.skewed import unseen_rate
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.verdict.contradictions import Condition, conditions, predicted
from surgvalid.stats.verdict.joint_flips import joint_tests
from surgvalid.stats.verdict.reach import PRIORS, carrying, chance_wrong, failing, size_class
from surgvalid.stats.verdict.unit_differences import PairFinding, pair_findings, unit_sums

BETTER = ("better", "better_small")
KINDS = (*BETTER, "non_inferior", "equivalent", "depends", "open", "too_few", "no_unit", "refused")
FEW_MISSING = 0.02
"""Share of the shared cases up to which scores that are not there decide nothing, unless one model lacks them."""
MOST_CARRIED = 66
"""Pairs of models up to which the units that carry a verdict are looked for."""
_NO_INTERVAL = ("no_unit", "too_few")
RARE = 0.25
"""Share of units up to which failures are rare ones and named."""


class VerdictQuestion(NamedTuple):
    """What is asked of a table."""

    metric: str | None = None
    missing: Missing = None
    models: tuple[str, str] | None = None
    """A pair chosen beforehand; else all pairs are held together, since the best is found on the same data."""
    margin: float | None = None
    """The difference that matters, in the metric's own unit."""
    level: float = 0.95
    estimand: str = "rows"
    against: str | None = None
    """A baseline chosen beforehand: each other model is compared with it alone."""
    prior: str | None = None
    """One of `PRIORS`, where the chance that a claim is wrong is wanted."""


class Statement(NamedTuple):
    """Something that may be said, with the numbers behind it."""

    code: str
    numbers: Mapping[str, Any]


@dataclass(frozen=True)
class ModelVerdict:
    """Who is better, with everything that the sentences say as data."""

    kind: str
    winner: str | None
    """Better than every other model, or than the baseline; None unless the kind is `better` or `better_small`."""
    metric: MetricFacts
    unit: Unit
    n: int
    """Units of the comparison; cases where nobody said what is independent."""
    level: float
    margin: float | None = None
    pairs: tuple[PairFinding, ...] = ()
    """The leader with each other model, the next best first; each other model with the baseline, where one leads it."""
    tests: int = 1
    """Pairs whose intervals hold together."""
    baseline: str | None = None
    statements: tuple[Statement, ...] = ()
    """The finding first."""
    overturned_by: tuple[str, ...] | None = None
    """The fewest units without which it would be open; None where more than three are needed or nobody won."""
    unseen: float | None = None
    """The largest rate of outright failures that may have gone unseen."""
    strata: tuple[Condition, ...] = field(default=())

    @property
    def leader(self) -> str | None:
        """The model with the best value."""
        return self.pairs[0].model if self.pairs else None

    @property
    def leading(self) -> tuple[PairFinding, ...]:
        """The pairs of the leader, which the kind rests on."""
        return tuple(pair for pair in self.pairs if pair.model == self.leader)

    @property
    def deciding(self) -> PairFinding:
        """The pair that the kind hangs on: the best other that is not shown to be worse, else the least sure."""
        open_pairs = [pair for pair in self.leading if not pair.low > 0]
        if open_pairs and self.kind not in ("equivalent", "non_inferior"):
            return open_pairs[0]
        return min(self.leading, key=lambda pair: pair.low)

    @property
    def against(self) -> tuple[str, ...]:
        """The models that the leader is better than."""
        if self.kind in ("depends", "no_unit", "too_few", "refused"):
            return ()
        return tuple(pair.other for pair in self.leading if pair.low > 0)


def kind_of(low: float, high: float, margin: float | None) -> str:
    """What an interval of the advantage says.

    Example:
        >>> [kind_of(*ends, 0.02) for ends in ((0.03, 0.05), (0.01, 0.05), (-0.01, 0.05), (-0.01, 0.01), (-0.03, 0.05))]
        ['better', 'better_small', 'non_inferior', 'equivalent', 'open']
        >>> kind_of(0.01, 0.05, None), kind_of(-0.01, 0.01, None)
        ('better', 'open')
    """
    if low > 0:
        return "better" if margin is None or low > margin else "better_small"
    if margin is None or not low > -margin:
        return "open"
    return "equivalent" if high < margin else "non_inferior"


def verdict(
    table: ScoreTable, question: VerdictQuestion, *, pairs: Sequence[PairFinding] | None = None
) -> ModelVerdict:
    """The verdict on one metric of a table.

    Args:
        table: The scores.
        question: What is asked.
        pairs: The pairs with intervals of another statistic than the mean; its p-values belong to them.

    Raises:
        DirectionUnknown: Nobody said which values are better.
        UnknownName: A model or metric that the table does not have.
        TableInvalid: No case was scored for all models.
        Misuse: A margin that no difference can exceed.
    """
    name = table.chosen_metric(question.metric)
    _check_margin(table.facts_of(name), question.margin)
    whole, holes = _matrix(table, name, question)
    matrix = _shared(whole)
    if len(matrix.models) == 1:
        one = Statement("one_model", {"model": matrix.models[0]})
        n = len(matrix.video_names)
        return ModelVerdict("open", None, matrix.metric, matrix.unit, n, question.level, statements=(one,))
    made = _by_interval(matrix, question, pairs)
    if pairs is None and made.kind not in _NO_INTERVAL:
        made = _by_missing(made, whole, holes, question)
        made = _by_estimand(made, question)
        made = _by_strata(made, matrix)
        made = _by_metrics(made, table, name, question)
        made = _with_more(made, *_elsewhere(made))
    made = _with_more(made, *_beside_baseline(made), *_relevance(made), *_compared(whole, matrix))
    made = _with_more(made, *_asked(table, matrix, question), *_too_alike(made), *_wrong(made, question))
    return made if made.kind == "no_unit" else _reached(made, matrix, question)


def _check_margin(facts: MetricFacts, margin: float | None) -> None:
    """Within a margin as wide as the scale all models would be equal; percent points are meant then, and divided."""
    width = facts.high - facts.low
    if margin is not None and margin >= width:
        raise Misuse(
            f"a margin of {margin:g} is not below the width of {facts.name!r} ({facts.low:g} to {facts.high:g}), so no "
            f"difference could matter; percent points are hundredths there (--margin {margin / 100:g})"
        )


def _with_more(made: ModelVerdict, *more: Statement) -> ModelVerdict:
    return replace(made, statements=(*made.statements, *more))


def pairwise(table: ScoreTable, metric: str, missing: Missing) -> Missing:
    """The rule as given; else cases that a model lacks, for no reason given, leave its own pairs and no others."""
    if missing is not None:
        return missing
    usual = usual_rules(table.facts_of(metric), says_why=table.read_as.says_why)
    if usual[Status.MISSING] != "drop-case":
        return None
    return dict.fromkeys((Status.MISSING.value, Status.ANSWERED.value), "drop-score")


def _matrix(table: ScoreTable, name: str, question: VerdictQuestion) -> tuple[ScoreMatrix, np.ndarray]:
    """The scores of the models asked about, and which cells are not there for no reason given, in units that were run.

    Where a rule is given, or the table or the metric says what a missing score counts as, that holds and no cell is.
    """
    rule = pairwise(table, name, question.missing)
    decided = rule == question.missing
    matrix = verb_matrix(
        table, name, missing=rule, statistic="mean", estimand=question.estimand, models=question.models or ()
    )
    for model in (*(question.models or ()), *filter(None, [question.against])):
        if model not in matrix.models:
            raise UnknownName("model", model, matrix.models)
    if question.prior not in (None, *PRIORS):
        raise UnknownName("prior", str(question.prior), PRIORS)
    if question.models is not None:
        if question.models[0] == question.models[1]:
            raise Misuse(f"model {question.models[0]!r} cannot be compared with itself")
        matrix = matrix.columns(question.models)
    known = np.isfinite(matrix.values)
    if decided or known.all() or matrix.statistics is not None:
        return matrix, np.zeros_like(known)
    return matrix, ~known & (_scored_there(matrix, known) | _listed_empty(table, name, matrix))


def _shared(matrix: ScoreMatrix) -> ScoreMatrix:
    """The cases that every model has.

    Raises:
        TableInvalid: There are none.
    """
    known = np.isfinite(matrix.values)
    if matrix.statistics is not None or known.all():
        return matrix
    if not known.all(axis=1).any():
        counts = [f"{model}: {_units_of(matrix, known[:, place])}" for place, model in enumerate(matrix.models[:6])]
        text = (
            f"the models were scored on different {matrix.unit.word}s ({', '.join(counts)} of "
            f"{len(matrix.video_names)}), and no case was scored for all of them; leave models out"
        )
        raise TableInvalid("table", [text])
    return matrix.where(known.all(axis=1))


def _units_of(matrix: ScoreMatrix, rows: np.ndarray) -> int:
    return len(np.unique(matrix.videos[rows]))


def _compared(whole: ScoreMatrix, matrix: ScoreMatrix) -> tuple[Statement, ...]:
    """Said where units leave because a model has no score in them."""
    units, known = len(whole.video_names), np.isfinite(whole.values)
    if whole.statistics is not None or len(matrix.video_names) == units:
        return ()
    lacking = {model: units - _units_of(whole, known[:, place]) for place, model in enumerate(whole.models)}
    numbers = {"units": len(matrix.video_names), "of": units, "lacking": {m: n for m, n in lacking.items() if n}}
    return (Statement("shared", numbers),)


def _scored_there(matrix: ScoreMatrix, known: np.ndarray) -> np.ndarray:
    """Cells of units in which the model has a score: a unit without any was not run, which is no missing score."""
    counts = np.zeros((len(matrix.video_names), known.shape[1]))
    np.add.at(counts, matrix.videos, known)
    return np.asarray(counts[matrix.videos] > 0)


def _listed_empty(table: ScoreTable, name: str, matrix: ScoreMatrix) -> np.ndarray:
    """Cells that the table lists without a score."""
    rows = table.frame.filter((pl.col("metric") == name) & pl.col("value").is_null())
    empty = set(rows.select("case", "model").iter_rows())
    cases = matrix.cases["case"].to_list()
    return np.array([[(case, model) in empty for model in matrix.models] for case in cases])


def _by_interval(
    matrix: ScoreMatrix, question: VerdictQuestion, pairs: Sequence[PairFinding] | None = None
) -> ModelVerdict:
    """The verdict that the intervals alone give."""
    against = question.against
    pairs = pairs or pair_findings(matrix, level=question.level, estimand=question.estimand, against=against)
    leader, ours = _led(matrix.models, pairs, against)
    base = ModelVerdict(
        "open",
        None,
        matrix.metric,
        matrix.unit,
        ours[0].units,
        question.level,
        question.margin,
        tuple(ours),
        tests=len(pairs),
        baseline=against,
    )
    if not matrix.unit.is_known:
        return replace(base, kind="no_unit", n=ours[0].cases, statements=(Statement("no_unit", {}),))
    if not np.nan_to_num(np.concatenate([pair.gaps for pair in ours])).any():
        return replace(base, statements=(Statement("same", {}),))
    if not any(pair.bounded for pair in ours):
        needed = videos_needed(len(pairs), alpha=1 - question.level)
        least = min(1.0, len(pairs) * 2.0 ** (1 - len(matrix.video_names)))
        return replace(base, kind="too_few", statements=(_too_few(ours[0], len(pairs), needed, least),))
    kinds = {kind_of(pair.low, pair.high, question.margin) for pair in base.leading}
    kind = next((one for one in (*BETTER, "equivalent", "non_inferior") if kinds <= _AT_LEAST[one]), "open")
    winner = leader if kind in BETTER else None
    return replace(base, kind=kind, winner=winner, statements=(Statement(kind, {"tests": len(pairs)}),))


def _led(models: Sequence[str], pairs: Sequence[PairFinding], against: str | None) -> tuple[str, list[PairFinding]]:
    """Who leads, and its pairs, the next best first; beside a baseline that does not lead, those of all others."""
    totals = dict.fromkeys(models, 0.0)
    for pair in pairs:
        totals[pair.model] += pair.difference
        totals[pair.other] -= pair.difference if against is None else 0.0
    leader = max(totals, key=lambda model: totals[model])
    if against is not None and leader != against and totals[leader] > 0:
        return leader, sorted(pairs, key=lambda pair: -pair.difference)
    leader = leader if against is None else against
    ours = [pair if pair.model == leader else pair.turned for pair in pairs if leader in (pair.model, pair.other)]
    return leader, sorted(ours, key=lambda pair: -totals[pair.other])


_AT_LEAST = {
    "better": {"better"},
    "better_small": {"better", "better_small"},
    "equivalent": {"equivalent"},
    "non_inferior": {"better", "better_small", "equivalent", "non_inferior"},
}
"""The kinds that all pairs must have for the whole to have one."""


def _too_few(pair: PairFinding, tests: int, needed: int, least: float) -> Statement:
    gaps = pair.gaps[np.isfinite(pair.gaps)]
    return Statement(
        "too_few",
        {
            "ahead": pair.ahead,
            "least": float(gaps.min()),
            "most": float(gaps.max()),
            "smallest_p": least,
            "tests": tests,
            "needed": needed,
            "range_level": 1 - 2.0 ** (1 - len(gaps)) if tests == 1 and len(gaps) > 2 else None,
        },
    )


def _by_missing(made: ModelVerdict, matrix: ScoreMatrix, holes: np.ndarray, question: VerdictQuestion) -> ModelVerdict:
    """The verdict under both readings of scores that are not there: left out, and counted as the worst value."""
    if not holes.any() or not _matters(holes, matrix):
        return made
    facts, known = matrix.metric, matrix.values[np.isfinite(matrix.values)]
    worst = facts.worst if math.isfinite(facts.worst) else float(facts.sign * (facts.sign * known).min())
    other = _by_interval(_shared(replace(matrix, values=np.where(holes, worst, matrix.values))), question)
    counts = {model: int(count) for model, count in zip(matrix.models, holes.sum(axis=0), strict=True) if count}
    numbers = {"counts": counts, "worst": worst, "dropped": made.leader, "as_worst": other.leader}
    numbers |= {"won": bool(made.winner), "won_worst": bool(other.winner)}
    numbers |= {"difference": made.deciding.difference, "difference_worst": other.deciding.difference}
    if made.winner == other.winner and made.kind == other.kind:
        same = (Statement("also_if_worst", numbers),) if made.winner else (Statement("missing_left_out", numbers),)
        return _with_more(made, *same)
    return _depends(made, "depends_on_missing", numbers)


def _depends(made: ModelVerdict, code: str, numbers: Mapping[str, Any]) -> ModelVerdict:
    return replace(made, kind="depends", winner=None, statements=(Statement(code, numbers),))


def _matters(holes: np.ndarray, matrix: ScoreMatrix) -> bool:
    """Whether one model lacks more than 2 % of its scores, or two lack them in different units (exact McNemar)."""
    if holes.mean(axis=0).max() > FEW_MISSING:
        return True
    lacking = np.zeros((len(matrix.video_names), holes.shape[1]))
    np.add.at(lacking, matrix.videos, holes)
    apart = (lacking[:, :1] > 0).astype(np.float64) - (lacking[:, 1:] > 0)
    return bool((exact_p(apart) <= 0.05).any())


def _by_estimand(made: ModelVerdict, question: VerdictQuestion) -> ModelVerdict:
    """Nobody wins where all cases together and the mean over units name different models."""
    for pair in made.pairs:
        over = float(np.nanmean(pair.gaps))
        if question.estimand == "rows" and made.winner and pair.difference * over < 0 and abs(over) > 1e-12:
            numbers = {"other": pair.other, "cases": pair.difference, "units": over}
            return _depends(made, "depends_on_counting", numbers)
    return made


def _by_strata(made: ModelVerdict, matrix: ScoreMatrix) -> ModelVerdict:
    """Whether who is better, or by how much, depends on a condition; of the leader and the next best."""
    if matrix.statistics is not None or made.kind == "depends":
        return made
    pair, sign = made.deciding, matrix.metric.sign
    first, second = (matrix.values[:, matrix.models.index(name)] for name in (pair.model, pair.other))
    named = [name for name in matrix.cases.columns if name not in ("case", "video", "task")]
    columns = {name: matrix.cases[name] for name in named if not _is_quantity(matrix.cases[name])}
    tested = conditions(sign * (first - second), matrix.videos, columns, number=len(matrix.video_names))
    made = replace(made, strata=tested)
    alpha = 1 - made.level
    for one in tested:
        if (both := one.contradicting(alpha)) is not None:
            numbers = {"column": one.column, "p": one.p_adjusted, "strata": both, "within": one.within}
            return _depends(made, "depends_on_stratum", numbers)
    by_how_much = [
        Statement("amount_depends", {"column": one.column, "p": one.p_adjusted})
        for one in tested
        if one.p_adjusted <= alpha
    ]
    return _with_more(made, *by_how_much)


def _elsewhere(made: ModelVerdict) -> list[Statement]:
    """What another centre may show, of the leader and the next best."""
    places = [one for one in made.strata if plain_name(one.column) in PLACES and not one.within]
    return [
        Statement(
            "elsewhere",
            {"column": one.column, "strata": len(one.strata), "ends": predicted(one, level=made.level)},
        )
        for one in places
    ]


def _is_quantity(column: pl.Series) -> bool:
    """Whether numbers stand there that name no levels."""
    return column.dtype.is_float() or (column.dtype.is_numeric() and column.n_unique() > 6)


def _by_metrics(made: ModelVerdict, table: ScoreTable, name: str, question: VerdictQuestion) -> ModelVerdict:
    """What the other metrics say; where one names another model, it depends on the metric."""
    others = [other for other in table.metrics if other != name and table.facts_of(other).better is not None]
    beside: list[tuple[MetricFacts, PairFinding]] = []
    for other in others:
        try:
            matrix = _shared(_matrix(table, other, question)[0])
            pairs = pair_findings(matrix, level=question.level, estimand=question.estimand, against=question.against)
        except SurgvalidError:
            continue  # what one metric lacks is said where that metric is asked about
        ours = [
            pair if pair.model == made.leader else pair.turned
            for pair in pairs
            if made.leader in (pair.model, pair.other) and pair.cases
        ]
        if ours:  # a model that is surely ahead of the leader by this metric goes before all it is ahead of
            beside.append((matrix.metric, min(ours, key=lambda pair: (not pair.high < 0, pair.p_adjusted))))
    if not beside:
        return made
    corrected = adjusted(np.array([pair.p_adjusted for _, pair in beside]), "holm")
    sure = [one for one, p in zip(beside, corrected.tolist(), strict=True) if p <= 1 - made.level and one[1].bounded]
    contrary = [one for one in sure if one[1].difference < 0]
    if made.winner and contrary:
        numbers = {"metric": contrary[0][0], "pair": contrary[0][1].turned}
        numbers["more"] = [(facts, pair.turned) for facts, pair in contrary[1:]]
        return _depends(made, "depends_on_metric", numbers)
    if made.winner or made.kind == "depends":
        return made
    spoken = [
        Statement("other_metric", {"metric": facts, "pair": pair if pair.difference > 0 else pair.turned})
        for facts, pair in sure[:2]
    ]
    return _with_more(made, *spoken)


def _asked(table: ScoreTable, matrix: ScoreMatrix, question: VerdictQuestion) -> list[Statement]:
    """What was asked for that changes what is compared: a pair of several, a rule for missing scores."""
    alone = question.models is not None and len(table.models) > 2
    spoken = [Statement("asked_alone", {"models": len(table.models)})] if alone else []
    if question.missing is None or not matrix.absent.counts:
        return spoken
    counts = {model: sum(some.values()) for model, some in matrix.absent.counts.items()}
    rules = sorted({str(rule) for rule in matrix.absent.rules.values()})
    return [*spoken, Statement("missing_as_asked", {"counts": counts, "rule": ", ".join(rules)})]


def _beside_baseline(made: ModelVerdict) -> tuple[Statement, ...]:
    """Said of the other models beside the baseline, where one of them leads."""
    rest = made.pairs[len(made.leading) :]
    return (Statement("beside_baseline", {"pairs": rest}),) if rest and made.kind not in _NO_INTERVAL else ()


def _wrong(made: ModelVerdict, question: VerdictQuestion) -> tuple[Statement, ...]:
    """The chance that a claim is wrong, where a prior was named for it."""
    if question.prior is None or made.winner is None:
        return ()
    pair = made.deciding
    gaps = pair.gaps[np.isfinite(pair.gaps)]
    return (Statement("chance_wrong", {"chance": chance_wrong(gaps), "prior": question.prior, "units": len(gaps)}),)


def _relevance(made: ModelVerdict) -> tuple[Statement, ...]:
    return (Statement("relevance", {}),) if made.winner and made.margin is None else ()


def _too_alike(made: ModelVerdict) -> tuple[Statement, ...]:
    """Said where so few units show any difference to the next best that nothing could be shown."""
    pair, alpha = made.deciding, 1 - made.level
    differing = pair.ahead + pair.behind
    if made.kind not in ("open", "equivalent", "non_inferior") or not differing or 2.0 ** (1 - differing) <= alpha:
        return ()
    return (Statement("few_differ", {"differing": differing, "smallest_p": 2.0 ** (1 - differing)}),)


def _reached(made: ModelVerdict, matrix: ScoreMatrix, question: VerdictQuestion) -> ModelVerdict:
    """The verdict with what would overturn it, failures seen and perhaps unseen, and how many units it takes."""
    more: list[Statement] = []
    if made.winner and len(matrix.models) * (len(matrix.models) - 1) <= 2 * MOST_CARRIED and matrix.statistics is None:
        units = _carrying(made, matrix, question)
        made = replace(made, overturned_by=units)
        more.append(Statement("overturned" if units else "carried", {"units": units}))
    whom, rival = made.deciding.model, made.deciding.other
    seen = {name: _failing(matrix, name) for name in (whom, rival)}
    for name, units in seen.items():
        if 0 < len(units) <= RARE * made.n:
            more.append(Statement("fails", {"model": name, "units": units}))
    if made.winner or made.kind in ("non_inferior", "equivalent"):
        made = replace(made, unseen=unseen_rate(made.n, len(seen[whom])))
        more.append(Statement("unseen", {"model": whom, "failures": len(seen[whom]), "rate": made.unseen}))
    if made.margin is not None and made.kind in ("open", "non_inferior") and made.n > 2:
        wanted = size_class(made.margin, made.deciding.gaps, alpha=1 - made.level)
        more.append(Statement("size", {"effect": made.margin, "units": wanted}))
    return _with_more(made, *more)


def _carrying(made: ModelVerdict, matrix: ScoreMatrix, question: VerdictQuestion) -> tuple[str, ...] | None:
    sums = unit_sums(matrix, estimand=question.estimand, against=question.against)
    leader = matrix.models.index(made.leader or "")
    ours = np.array([leader in pair for pair in sums.pairs])

    def holds(kept: np.ndarray) -> bool:
        adjusted_p = joint_tests(sums.totals[kept], sums.sizes[kept], alpha=1 - made.level).p_adjusted[ours]
        return bool((adjusted_p <= (1 - made.level) * (1 + 1e-12)).all())

    shares = made.deciding.gaps * (1 if question.estimand == "videos" else np.bincount(matrix.videos))
    units = carrying(shares, holds)
    return None if units is None else tuple(matrix.video_names[unit] for unit in units)


def _failing(matrix: ScoreMatrix, model: str) -> tuple[str, ...]:
    """The units in which a model fails outright."""
    values = matrix.values[:, matrix.models.index(model)]
    known, units = np.isfinite(values), len(matrix.video_names)
    sums = np.bincount(matrix.videos[known], weights=values[known], minlength=units)
    means = divided(sums, np.bincount(matrix.videos[known], minlength=units))
    facts = matrix.metric
    fails = failing(means, facts, right_or_wrong=bool(np.isin(values[known], (facts.low, facts.high)).all()))
    return tuple(matrix.video_names[unit] for unit in np.flatnonzero(fails).tolist())
