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
show nothing), `no_interval` (of the statistic that was asked for) and `depends`: strata contradict each other, other
metrics name another model, scores that are not there decide, or cases and units counted alike name different models.
Whoever leads is then no winner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, SurgvalidError, TableInvalid, UnknownName
from surgvalid.schema.metric_facts import CORRECT, MetricFacts
from surgvalid.schema.outcomes import Status
from surgvalid.schema.tables.column_words import PLACES, plain_name
from surgvalid.schema.tables.missing import Missing, usual_rules
from surgvalid.schema.tables.read_rows import UNREAD, is_quantity
from surgvalid.schema.tables.score_matrix import ScoreMatrix
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.units import Unit, says_when
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.comparing.paired_tests import exact_p
from surgvalid.stats.intervals.pooled import verb_matrix
from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.intervals.skewed import LARGEST_SHARE, unseen_rate
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.verdict.contradictions import Condition, conditions, predicted
from surgvalid.stats.verdict.joint_flips import joint_tests
from surgvalid.stats.verdict.reach import PRIORS, carrying, chance_wrong, failing, size_class
from surgvalid.stats.verdict.unit_differences import PairFinding, pair_findings, unit_sums

BETTER = ("better", "better_small")
KINDS = (*BETTER, "non_inferior", "equivalent", "depends", "open", "too_few", "no_interval", "no_unit")
FEW_MISSING = 0.02
"""Share of the shared cases up to which scores that are not there decide nothing, unless one model lacks them."""
MOST_CARRIED = 66
"""Pairs of models up to which the units that carry a verdict are looked for."""
NO_INTERVAL = ("no_unit", "too_few", "no_interval")
RARE = 0.25
"""Share of units up to which failures are rare ones and named."""


class VerdictQuestion(NamedTuple):
    """What is asked of a table."""

    metric: str | None = None
    missing: Missing = None
    models: tuple[str, str] | None = None
    """A pair chosen beforehand; else all pairs are held together, since the best is found on the same data."""
    margin: float | None = None
    """The difference that matters, written as the scores are."""
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
    written_margin: float | None = None
    """The margin as it was written: in percent points where the scores are percentages, which are divided by 100."""

    @property
    def leader(self) -> str | None:
        """The model with the best value."""
        return self.pairs[0].model if self.pairs else None

    @property
    def margin_said(self) -> str:
        """The margin in words, with the percent points that it was written in."""
        if self.metric.is_share:
            return f"{100 * (self.margin or 0):g} points"
        points = "" if self.written_margin == self.margin else f" ({self.written_margin:g} percent points, as written)"
        return f"{self.margin or 0:g}{points}"

    @property
    def is_trifling(self) -> bool:
        """Whether the leader is better by less than the margin: equal for practice, so that nobody is favoured."""
        return self.margin is not None and all(pair.high <= self.margin for pair in self.leading)

    @property
    def favours(self) -> str | None:
        """The winner, unless it is equal to the others for practice."""
        return None if self.is_trifling else self.winner

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
        if self.kind in ("depends", *NO_INTERVAL):
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
    written, question = question.margin, question._replace(margin=table.as_share(name, question.margin))
    _check_margin(table.facts_of(name), question.margin, written)
    whole, holes = _matrix(table, name, question)
    matrix = _shared(whole)
    if len(matrix.models) == 1:
        one = Statement("one_model", {"model": matrix.models[0]})
        n = len(matrix.video_names)
        return ModelVerdict("open", None, matrix.metric, matrix.unit, n, question.level, statements=(one,))
    made = replace(_by_interval(matrix, question, pairs), written_margin=written)
    if pairs is None and made.kind not in NO_INTERVAL:
        made = _by_missing(made, whole, holes, question)
        made = _by_estimand(made, question)
        made = _by_strata(made, matrix)
        made = _by_metrics(made, table, name, question)
        made = _with_more(made, *_elsewhere(made))
    two_points = 0.02 if table.as_share(name, 1.0) == 1.0 else 2.0
    made = _with_more(
        made, *_beside_baseline(made), *_relevance(made, two_points), *_unapplied(made), *_compared(whole, matrix)
    )
    made = _with_more(made, *_unread(table, name))
    made = _with_more(made, *_asked(table, matrix, question), *_too_alike(made), *_wrong(made, question))
    if made.kind == "no_unit":
        return made
    return _reached(made, matrix, replace(whole, values=np.where(holes, whole.metric.worst, whole.values)), question)


def _check_margin(facts: MetricFacts, margin: float | None, written: float | None) -> None:
    """Within a margin as wide as the scale all models would be equal; percent points of a share are meant then."""
    if margin is None or written is None or margin < facts.high - facts.low:
        return
    if margin == written:
        scale, rest = (
            f"{facts.low:g} to {facts.high:g}",
            f"; percent points are hundredths there (--margin {margin / 100:g})",
        )
    else:
        scale, rest = "0 to 100, as written", ""
    width = f"the width of {facts.name!r} ({scale})"
    raise Misuse(f"a margin of {written:g} is not below {width}, so no difference could matter{rest}")


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
    """The scores of the models asked about, and which cells are not there for no reason given, where models were run.

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
    if matrix.metric.name == CORRECT.name or np.isin(matrix.values[known], (0.0, 1.0)).all():
        matrix = replace(matrix, metric=matrix.metric.as_share())
    if decided or known.all() or matrix.statistics is not None:
        return matrix, np.zeros_like(known)
    return matrix, ~known & ~_not_run(matrix, known)


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


def _not_run(matrix: ScoreMatrix, known: np.ndarray) -> np.ndarray:
    """Cells of units that a model was not run on: all units of one level of a condition, and no others.

    Any other score that is not there is a missing one, whether its row is empty or absent.
    """
    counts = np.zeros((len(matrix.video_names), known.shape[1]))
    np.add.at(counts, matrix.videos, known)
    conditions = [name for name in matrix.cases.columns if name not in ("case", "video", "task")]
    of_unit = matrix.cases.with_columns(unit=pl.Series(matrix.videos))
    levels = [set(map(frozenset, of_unit.group_by(name).agg("unit")["unit"].to_list())) for name in conditions]
    lacking = [frozenset(np.flatnonzero(column == 0).tolist()) for column in counts.T]
    by_design = [len(units) > 1 and any(units in held for held in levels) for units in lacking]
    return np.asarray((counts == 0)[matrix.videos] & np.array(by_design))


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
        if np.isnan(ours[0].p_value):
            return replace(base, kind="no_interval", statements=(Statement("no_interval", {}),))
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
    worst = _worst(matrix)
    other = _by_interval(_shared(replace(matrix, values=np.where(holes, worst, matrix.values))), question)
    counts = {model: int(count) for model, count in zip(matrix.models, holes.sum(axis=0), strict=True) if count}
    numbers = {"counts": counts, "worst": worst, "dropped": made.leader, "as_worst": other.leader}
    numbers |= {"won": bool(made.winner), "won_worst": bool(other.winner)}
    numbers |= {"difference": made.deciding.difference, "difference_worst": other.deciding.difference}
    # No number stands for an endless distance: who fails and who does not are never equal for practice.
    alike = made.kind in ("equivalent", "non_inferior") or made.is_trifling
    endless = alike and not math.isfinite(matrix.metric.worst)
    if made.winner == other.winner and made.kind == other.kind and not endless:
        return _with_more(made, Statement("also_if_worst" if made.winner else "missing_left_out", numbers))
    return _depends(made, "depends_on_missing", numbers)


def _worst(matrix: ScoreMatrix) -> float:
    """The bad end of the metric's range; the worst value seen where it has none."""
    facts, known = matrix.metric, matrix.values[np.isfinite(matrix.values)]
    return facts.worst if math.isfinite(facts.worst) else float(facts.sign * (facts.sign * known).min())


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
    """Nobody wins, or leads, where the mean over units names another model: any, or surely, beside a mere lead."""
    for pair in made.pairs if question.estimand == "rows" else ():
        gaps = pair.gaps[np.isfinite(pair.gaps)][:, None]
        over = float(gaps.mean())
        if not pair.difference * over < 0 or abs(over) <= 1e-12:
            continue
        alpha = 1 - question.level
        if made.winner or joint_tests(gaps, np.ones_like(gaps), alpha=alpha).p_adjusted[0] <= alpha:
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
    given = {name: matrix.cases[name] for name in named}
    columns = {name: column for name, column in given.items() if not (is_quantity(column) or says_when(column))}
    tested = conditions(sign * (first - second), matrix.videos, columns, number=len(matrix.video_names))
    made = replace(made, strata=tested)
    alpha = 1 - made.level
    for one in tested:
        if (both := one.contradicting(alpha)) is not None:
            numbers = {"column": one.column, "p": one.p_adjusted, "strata": both, "within": one.within}
            return _depends(made, "depends_on_stratum", numbers)
    sure = [{"column": one.column, "p": one.p_adjusted} for one in tested if one.p_adjusted <= alpha]
    return _with_more(made, *(Statement("amount_depends", numbers) for numbers in sure))


def _elsewhere(made: ModelVerdict) -> list[Statement]:
    """What another centre may show, of the leader and the next best."""
    return [
        Statement(
            "elsewhere",
            {"column": one.column, "strata": len(one.strata), "ends": predicted(one, level=made.level)},
        )
        for one in made.strata
        if plain_name(one.column) in PLACES and not one.within
    ]


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
    shown = [(facts, pair if pair.difference > 0 else pair.turned) for facts, pair in sure[:2]]
    return _with_more(made, *(Statement("other_metric", {"metric": facts, "pair": pair}) for facts, pair in shown))


def _asked(table: ScoreTable, matrix: ScoreMatrix, question: VerdictQuestion) -> list[Statement]:
    """What was asked for that changes what is compared: a pair of several, a rule for missing scores."""
    alone = question.models is not None and len(table.models) > 2
    spoken = [Statement("asked_alone", {"models": len(table.models)})] if alone else []
    if question.missing is None or not matrix.absent.counts:
        return spoken
    counts = {model: sum(some.values()) for model, some in matrix.absent.counts.items()}
    rules = sorted({str(rule) for rule in matrix.absent.rules.values()})
    return [*spoken, Statement("missing_as_asked", {"counts": counts, "rule": ", ".join(rules)})]


def _unread(table: ScoreTable, name: str) -> tuple[Statement, ...]:
    """Said of other metrics that are not looked at, because nobody says which of their values are better."""
    others = [one for one in table.metrics if one != name and table.facts_of(one).better is None]
    others += [line.column for line in table.read_as.interpreted if line.code == UNREAD]
    return (Statement("unread", {"columns": others}),) if others else ()


def _beside_baseline(made: ModelVerdict) -> tuple[Statement, ...]:
    """Said of the other models beside the baseline, where one of them leads."""
    rest = made.pairs[len(made.leading) :]
    return (Statement("beside_baseline", {"pairs": rest}),) if rest and made.kind not in NO_INTERVAL else ()


def _wrong(made: ModelVerdict, question: VerdictQuestion) -> tuple[Statement, ...]:
    """The chance that a claim is wrong, where a prior was named for it."""
    if question.prior is None or made.winner is None:
        return ()
    pair = made.deciding
    gaps = pair.gaps[np.isfinite(pair.gaps)]
    return (Statement("chance_wrong", {"chance": chance_wrong(gaps), "prior": question.prior, "units": len(gaps)}),)


def _relevance(made: ModelVerdict, two_points: float) -> tuple[Statement, ...]:
    return (Statement("relevance", {"two_points": two_points}),) if made.winner and made.margin is None else ()


def _unapplied(made: ModelVerdict) -> tuple[Statement, ...]:
    """Said where a margin was given and the finding is not held against it."""
    unapplied = made.margin is not None and made.kind in ("depends", *NO_INTERVAL)
    return (Statement("margin_unapplied", {"margin": made.margin}),) if unapplied else ()


def _too_alike(made: ModelVerdict) -> tuple[Statement, ...]:
    """Said where so few units show any difference to the next best that nothing could be shown."""
    pair, alpha = made.deciding, 1 - made.level
    differing = pair.ahead + pair.behind
    if made.kind not in ("open", "equivalent", "non_inferior") or not differing or 2.0 ** (1 - differing) <= alpha:
        return ()
    return (Statement("few_differ", {"differing": differing, "smallest_p": 2.0 ** (1 - differing)}),)


def _reached(made: ModelVerdict, matrix: ScoreMatrix, filled: ScoreMatrix, question: VerdictQuestion) -> ModelVerdict:
    """The verdict with what would overturn it, failures seen and perhaps unseen, and how many units it takes.

    Args:
        made: Who is better.
        matrix: What is compared.
        filled: Every case, where scores that are not there are the bad end of the range, endless where it has none.
        question: What is asked.
    """
    more: list[Statement] = []
    if matrix.statistics is None and made.kind not in NO_INTERVAL:
        more += _one_unit(made, _sizes(matrix, question), matrix.video_names)
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
        run = filled.where(~np.isnan(filled.values[:, filled.models.index(whom)]))
        count, failures = len(run.video_names), {*_failing(run, whom)}
        made = replace(made, unseen=unseen_rate(count, len(failures)))
        numbers = {"model": whom, "units": count, "failures": len(failures), "rate": made.unseen}
        more.append(Statement("unseen", {**numbers, "missing": len(failures - {*seen[whom]})}))
    if made.margin is not None and made.kind in ("open", "non_inferior") and made.n > 2:
        wanted = size_class(made.margin, made.deciding.gaps, alpha=1 - made.level)
        more.append(Statement("size", {"effect": made.margin, "units": wanted}))
    return _with_more(made, *more)


def _one_unit(made: ModelVerdict, sizes: np.ndarray, names: Sequence[str]) -> Iterator[Statement]:
    """Said where one unit is most of a difference that no range bounds, as where 999 stands for no distance."""
    parts = made.deciding.gaps * sizes
    first, whole = int(np.argmax(parts)), float(parts.sum())
    if np.isfinite(made.metric.worst) or not (whole > 0 and parts[first] > LARGEST_SHARE * np.abs(parts).sum()):
        return
    rest = (whole - float(parts[first])) / float(sizes.sum() - sizes[first])
    yield Statement("one_unit", {"unit": names[first], "share": parts[first] / whole, "rest": rest})


def _carrying(made: ModelVerdict, matrix: ScoreMatrix, question: VerdictQuestion) -> tuple[str, ...] | None:
    sums = unit_sums(matrix, estimand=question.estimand, against=question.against)
    leader = matrix.models.index(made.leader or "")
    ours = np.array([leader in pair for pair in sums.pairs])

    def holds(kept: np.ndarray) -> bool:
        adjusted_p = joint_tests(sums.totals[kept], sums.sizes[kept], alpha=1 - made.level).p_adjusted[ours]
        return bool((adjusted_p <= (1 - made.level) * (1 + 1e-12)).all())

    units = carrying(made.deciding.gaps * _sizes(matrix, question), holds)
    return None if units is None else tuple(matrix.video_names[unit] for unit in units)


def _sizes(matrix: ScoreMatrix, question: VerdictQuestion) -> np.ndarray:
    """How much each unit counts: alike, or by its cases."""
    count = np.bincount(matrix.videos)
    return np.ones_like(count) if question.estimand == "videos" else count


def _failing(matrix: ScoreMatrix, model: str) -> tuple[str, ...]:
    """The units in which a model fails outright."""
    values = matrix.values[:, matrix.models.index(model)]
    known, units = ~np.isnan(values), len(matrix.video_names)
    sums = np.bincount(matrix.videos[known], weights=values[known], minlength=units)
    means = divided(sums, np.bincount(matrix.videos[known], minlength=units))
    facts = matrix.metric
    fails = failing(means, facts, right_or_wrong=bool(np.isin(values[known], (facts.low, facts.high)).all()))
    return tuple(matrix.video_names[unit] for unit in np.flatnonzero(fails).tolist())
