"""Rankings of models from a score table: the FOCUS rule and every method of challengeR.

One file per rule. To add one: write `<rule>.py` with a function `(table, options) -> RankResult` and
name it in `RULES`. Other packages add theirs as entry points of `surgvalid.rules` that lead to a `RankRule`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.catalogue import Catalogue, with_attributes
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import as_table
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import Missing, ScoreTable
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.ranking._options import BOARDS, CONSENSUS, MERGES, RankOptions
from surgvalid.stats.ranking._ranks import kendall_tau_b, spearman_footrule
from surgvalid.stats.ranking.aggregate_then_rank import aggregate_then_rank
from surgvalid.stats.ranking.focus import focus
from surgvalid.stats.ranking.rank_then_aggregate import rank_then_aggregate
from surgvalid.stats.ranking.result import RankResult
from surgvalid.stats.ranking.test_then_rank import rank_by_wins

__all__ = [
    "BOARDS",
    "CONSENSUS",
    "MERGES",
    "RULES",
    "RankOptions",
    "RankResult",
    "RankRule",
    "aggregate_then_rank",
    "kendall_tau_b",
    "ladder",
    "rank",
    "result",
    "rule_named",
    "spearman_footrule",
]


@dataclass(frozen=True)
class RankRule:
    """A ranking rule and what it does, in one line."""

    name: str
    summary: str
    run: Callable[[ScoreTable, RankOptions], RankResult]
    unused: tuple[str, ...] = ()
    """Options of other rules that mean nothing here; giving one is warned about."""


_FOR_BOARDS = ("board", "merge", "baselines", "outside", "unpaid", "prize_pool", "bucket_weights")
_FOR_TESTS = ("test", "alpha", "correction")
_FOR_TASKS = ("task_column", "task_weights", "consensus", "challenger_compat")
_FOR_VERDICT = ("margin", "against", "prior", "why")
_UNTESTED = (*_FOR_BOARDS, "test", "correction", "aggregate")


def _aggregate(operator: str, words: str) -> RankRule:
    run = partial(aggregate_then_rank, operator=operator)
    unused = _UNTESTED if operator == "mean" else (*_UNTESTED, "alpha", *_FOR_VERDICT)
    return RankRule(f"{operator}-then-rank", f"{words} of each task, ranked", run, unused)


def _ranks_of_cases(operator: str) -> RankRule:
    run = partial(rank_then_aggregate, operator=operator)
    unused = (*_UNTESTED, *_FOR_VERDICT, *(() if operator == "mean" else ("alpha",)))
    return RankRule(f"rank-then-{operator}", f"{operator} of the ranks on each case", run, unused)


_RULES: dict[str, RankRule] = {
    rule.name: rule
    for rule in (
        RankRule(
            "focus",
            "significance in buckets, Copeland over buckets, win rates for ties at the top",
            focus,
            (*_FOR_TASKS, "aggregate", *_FOR_VERDICT),
        ),
        _aggregate("mean", "mean score"),
        _aggregate("median", "median score"),
        _aggregate("min", "lowest score"),
        _aggregate("max", "highest score"),
        _aggregate("q05", "5 % quantile of the scores (any qNN may be named)"),
        _aggregate("q95", "95 % quantile of the scores (any qNN may be named)"),
        RankRule(
            "aggregate-then-rank",
            "any function of the scores of each task, ranked (Python)",
            aggregate_then_rank,
            (*_FOR_BOARDS, *_FOR_TESTS, *_FOR_VERDICT),
        ),
        _ranks_of_cases("mean"),
        _ranks_of_cases("median"),
        RankRule(
            "test-then-rank",
            "share of the other models significantly beaten",
            rank_by_wins,
            (*_FOR_BOARDS, "aggregate", *_FOR_VERDICT),
        ),
    )
}
RULES: Catalogue[RankRule] = Catalogue(
    "ranking rule", "rules", _RULES, take=with_attributes(["name", "summary", "run", "unused"])
)
"""Every ranking rule by name."""


def rule_named(name: str) -> RankRule:
    """The rule of that name; `qNN-then-rank` exists for every whole percentage.

    Raises:
        UnknownName: No such rule; the message carries the nearest one.
        PluginBroken: An installed package offers it, and it cannot be used.

    Example:
        >>> rule_named("q10-then-rank").name
        'q10-then-rank'
    """
    quantile = re.fullmatch(r"(q\d\d)-then-rank", str(name))
    if quantile and name not in RULES.ours:
        return _aggregate(quantile[1], f"{int(quantile[1][1:])} % quantile of the scores")
    return RULES[name]


@requested("rank")
def rank(
    table: Any,
    rule: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    metric: str | None = None,
    board: str = "both",
    merge: str = "pairwise",
    test: str | None = None,
    alpha: float = 0.05,
    correction: str | None = None,
    replicates: int | None = None,
    seed: int = 42,
    baselines: Sequence[str] = (),
    outside: Sequence[str] = (),
    unpaid: Sequence[str] = (),
    prize_pool: float | None = None,
    bucket_weights: Mapping[str, float] | None = None,
    task_column: str | None = None,
    task_weights: Mapping[str, float] | None = None,
    better: Directions = None,
    missing: Missing = None,
    consensus: str = "euclidean",
    aggregate: Callable[[np.ndarray], float] | None = None,
    challenger_compat: bool = False,
    margin: float | None = None,
    against: str | None = None,
    prior: str | None = None,
    why: bool = False,
    preregistration: str | Path | None = None,  # noqa: ARG001 - held against the settings by `requested`
    deviations: Mapping[str, str] | None = None,  # noqa: ARG001
) -> RankResult:
    """The ranking of the models in a score table under a published rule.

    Args:
        table: A `ScoreTable`, anything it can be made of, or the path of a file or `score` folder.
        rule: One of `RULES`; by default the one that fits the table, which the result says: `focus` where it has
            buckets (columns `capability` or `group`, and `ood`), else `mean-then-rank`.
        columns: Our column names to theirs.
        metric: May be left out where the table has only one, or has `correct`.
        board: For `focus`: `technical`, `clinical` or `both`.
        merge: For `focus`: how significant differences reach Copeland; one of `MERGES`.
        test: A paired test; `sign-flip` for `focus` and `wilcoxon` for `test-then-rank` by default.
        alpha: The level of every test; what is left of 1 is that of intervals and sets of ranks.
        correction: `holm`, `none` or `bh`; `holm` for `focus` and `none` for `test-then-rank` by default.
        replicates: Resamples; 10,000 for `focus`, 1,000 otherwise; 0 for none.
        seed: Of all draws.
        baselines: Models outside the competition that competitors must beat.
        outside: Other models outside the competition (the organisers' own).
        unpaid: Competitors that get no prize.
        prize_pool: Money of each leaderboard.
        bucket_weights: Weights of capability groups; equal by default.
        task_column: The column that names tasks; `task` where present, `metric` to rank by metric.
        task_weights: Weights of tasks in the consensus.
        better: `larger` or `smaller`, or one of them by the name of each metric, where neither the table nor the
            name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        consensus: `euclidean` (mean rank over tasks) or `case-ranks` (mean case rank over all tasks).
        aggregate: The function of rule `aggregate-then-rank`.
        challenger_compat: Resample with challengeR's faults, to compare.
        margin: For `mean-then-rank` on one task, whose ranking has a verdict: the smallest difference that matters.
        against: A baseline, named beforehand, that the verdict compares each other model with.
        prior: As for `study`.
        why: Show the rule, the numbers and the source behind each sentence of the verdict.
        preregistration: The registration that the settings must be those of, as `preregister` writes them.
        deviations: Why settings differ from it, by the name of the option; each becomes a warning.

    Raises:
        Misuse: An option that cannot mean anything.
        DirectionUnknown: Nobody said which values are better.
        TableInvalid: A table the rule cannot use, with every problem found.
        TooFewVideos: One video only.

    Example:
        >>> scores = {"model": ["A", "A", "B", "B"], "case": ["x", "y", "x", "y"], "value": [0.9, 0.8, 0.5, 0.9]}
        >>> rank(scores, "mean-then-rank", better="larger", replicates=0).ranks["model"].to_list()
        ['A', 'B']
    """
    if rule is not None:
        rule_named(rule)
    options = RankOptions(
        metric=metric,
        board=board,
        merge=merge,
        test=test,
        alpha=alpha,
        correction=correction,
        replicates=replicates,
        seed=seed,
        baselines=tuple(dict.fromkeys(baselines)),
        outside=tuple(outside),
        unpaid=tuple(unpaid),
        prize_pool=prize_pool,
        bucket_weights=bucket_weights,
        task_column=task_column,
        task_weights=task_weights,
        better=better,
        missing=missing,
        consensus=consensus,
        aggregate=aggregate,
        challenger_compat=challenger_compat,
        margin=margin,
        against=against,
        prior=prior,
        why=why,
    )
    scores = as_table(table, columns, better=better, metric=metric)
    fitting, because = fitting_rule(scores, options) if rule is None else (rule, "")
    chosen = rule_named(fitting)
    result = chosen.run(scores, options)
    findings = (*_unused(chosen, options), *result.findings)
    if rule is not None:
        return replace(result, findings=findings)
    reason = f"No rule was named: {chosen.name!r} was taken, because {because}."
    note = remark("rule-taken", reason)
    request = VerbRequest(settled={"rule": chosen.name})
    return replace(result, findings=(note, *findings), prose=f"{result.prose} {reason}", request=request)


def fitting_rule(table: ScoreTable, options: RankOptions) -> tuple[str, str]:
    """The rule that a table and the options fit, and why in words."""
    users = {"focus": _FOR_BOARDS, "aggregate-then-rank": ("aggregate",), "mean-then-rank": _FOR_TASKS}
    for rule, names in users.items():
        if asked := [name for name in options.chosen() if name in names]:
            return rule, f"{', '.join(map(repr, asked))} was given, which it has a use for"
    groups = [name for name in ("group", "capability") if name in table.strata]
    metric = table.chosen_metric(options.metric)
    if groups and table.facts_of(metric).better == "smaller":
        return "mean-then-rank", f"smaller values of {metric!r} are better, which no leaderboard ranks"
    if groups and "ood" in table.strata:
        return "focus", f"the table has buckets (columns {groups[0]!r} and 'ood')"
    return "mean-then-rank", "the table has no buckets (columns 'capability' and 'ood')"


def _unused(rule: RankRule, options: RankOptions) -> list[Finding]:
    given = [name for name in options.chosen() if name in rule.unused]
    texts = [f"rule {rule.name!r} has no use for {name!r}; what was given for it was ignored" for name in given]
    return [remark("option-unused", text) for text in texts]
