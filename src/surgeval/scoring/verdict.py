"""Sentences on who is better, each made by a rule from the table of pairs; nothing is said that it does not carry.

The pairs are those of the model with the best value with every other one. Which model that is was found on the same
data, so p-values are corrected over all pairs of models, not over these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from surgeval.schema.metric_facts import MetricFacts
from surgeval.schema.shown_tables import p_text
from surgeval.stats.planning.closed_forms import videos_like_these

ALPHA = 0.05
MOST_FILLED = 2
"""Models named whose place rests on scores that are not there."""
MOST_TIMES = 100
"""As many units, in multiples of those there are, beyond which no number of them is named."""


def verdict(values: pl.DataFrame, pairs: pl.DataFrame, facts: MetricFacts, *, unit: str = "video") -> list[str]:
    """Who is better and how sure, by how much, and what more data would show; one sentence each.

    Args:
        values: The table of `interval`, the best model first.
        pairs: The rows of `compare` of the best model (`model_a`) with each other one, the next best first, with
            `p_corrected`, the number of `tests` it was corrected for, and `difference_videos`, the mean over units.
        facts: Of the metric.
        unit: What is independent, such as `patient`.
    """
    if values.height == 1:
        return [_value(values.row(0, named=True), facts, unit)]
    rows = pairs.to_dicts()
    return [
        _lead(values, rows, facts), *_split(rows, facts, unit), *_filled(rows, facts), _margin(rows, facts, unit),
        *_power(rows, unit),
    ]  # fmt: skip


def _value(row: Mapping[str, Any], facts: MetricFacts, unit: str) -> str:
    value = f"{row['model']} reaches {facts.name} {amount(row['value'], facts)}"
    if row["low"] is None and row["videos"] > 2:
        return f"{value}, the same in each of {_units(row, unit)}, so nothing can be said about other {unit}s."
    if row["low"] is None:
        return f"{value}; {_units(row, unit)} do not carry an interval, so nothing can be said about other {unit}s."
    ends = f"{amount(row['low'], facts)} to {amount(row['high'], facts)}"
    return (
        f"{value} ({row['level']:.0%} interval {ends}, {_units(row, unit)}); there is no other model to compare with."
    )


def _lead(values: pl.DataFrame, rows: Sequence[Mapping[str, Any]], facts: MetricFacts) -> str:
    best, others = values["model"][0], [row["model_b"] for row in rows]
    beaten = [row["model_b"] for row in rows if _is_beaten(row, facts)]
    open_ = [name for name in others if name not in beaten]
    best_value = f"the {'highest' if facts.sign > 0 else 'lowest'} {facts.name}"
    if values["value"].n_unique() == 1:
        return f"All models have the same {facts.name}; nothing can be concluded about who is better."
    sharing = values.filter(pl.col("value") == values["value"][0])["model"].to_list()
    if len(sharing) > 1:
        more = f" Of the others, {best} is better than {listed(beaten)}." if beaten else ""
        return f"{listed(sharing)} share {best_value}: nothing can be concluded about who of them is better.{more}"
    if not open_:
        return f"{best} is better than {listed(beaten) if len(beaten) < 4 else 'every other model'}."
    if not beaten:
        return (
            f"{best} has {best_value}, but cannot be told apart from {listed(open_)}: "
            "nothing can be concluded about who is better."
        )
    return (
        f"{best} has {best_value} and is better than {listed(beaten)}, but cannot be told apart from {listed(open_)}."
    )


def _is_beaten(row: Mapping[str, Any], facts: MetricFacts) -> bool:
    """Whether the best model is shown to be better than the other one, whatever is counted."""
    shown = row["p_corrected"] is not None and row["p_corrected"] < ALPHA
    return bool(shown and facts.sign * row["difference"] > 0 and not _is_split(row) and not _is_filled(row))


def _is_filled(row: Mapping[str, Any]) -> bool:
    """Whether the difference rests on scores that are not there and whose rule nobody stated."""
    if row["difference_scored"] is None or row["p_corrected"] is None or row["p_corrected"] >= ALPHA:
        return False
    shown = row["p_scored"] is not None and row["p_scored"] < ALPHA
    return not (shown and row["difference"] * row["difference_scored"] > 0)


def _filled(rows: Sequence[Mapping[str, Any]], facts: MetricFacts) -> list[str]:
    """Where only scores that are not there tell two models apart: nobody is named the winner."""
    sentences = []
    for row in (row for row in rows if _is_filled(row)):
        gap = row["difference_scored"]
        other = f"{row['model_b']} is {amount(abs(gap), facts)} {'lower' if gap > 0 else 'higher'}"
        sentences.append(
            f"{row['model_a']} is ahead of {row['model_b']} only as long as scores that are not there count as the "
            f"worst value; where both have one, {other if gap else 'they are equal'}: no winner is named between them; "
            "say with --missing what such a score counts as."
        )
    more = len(sentences) - MOST_FILLED
    return sentences if more <= 0 else [*sentences[:MOST_FILLED], f"The same holds of {more:,} other models."]


def _is_split(row: Mapping[str, Any]) -> bool:
    """Whether all cases together and the mean over units name different models."""
    over = row["difference_videos"]
    return over is not None and abs(over) > 1e-12 and row["difference"] * over < 0


def _split(rows: Sequence[Mapping[str, Any]], facts: MetricFacts, unit: str) -> list[str]:
    """Where it depends on what is counted who is better: said of every such model, and nobody is named the winner."""
    split = [row for row in rows if _is_split(row)]
    if not split:
        return []
    row, which = split[0], listed([one["model_b"] for one in split])
    ahead, behind = (amount(abs(row[name]), facts) for name in ("difference", "difference_videos"))
    return [
        f"Over all cases together {row['model_a']} is ahead of {which}, but in the mean over {unit}s it is behind "
        f"({row['model_b']}: by {ahead} and {behind}), "
        f"because {unit}s with many cases count more in the first: who is better depends on whether cases or {unit}s "
        "count, so no winner is named between them."
    ]


def _margin(rows: Sequence[Mapping[str, Any]], facts: MetricFacts, unit: str) -> str:
    """The difference to the next model, which is the first of the rows."""
    row = rows[0]
    if not _differing(row):
        return f"{row['model_a']} and {row['model_b']} are equal in every {unit}."
    size = abs(row["difference"])
    apart = f"{amount(size, facts)} {'lower' if row['difference'] > 0 else 'higher'}"
    is_tie = amount(size, facts) == amount(0.0, facts, like=size)
    head = f"The next is {row['model_b']}, {'as high to the digits shown' if is_tie else apart}"
    if row["low"] is None:
        return f"{head}; so few data carry no interval of the difference."
    ends = sorted(float(facts.sign) * row[end] for end in ("low", "high"))
    interval = " to ".join(amount(end, facts, like=size) for end in ends)
    alone = ", for this pair alone" if row["tests"] > 1 else ""
    return f"{head} ({row['level']:.0%} interval of the advantage {interval}{alone})."


def _power(rows: Sequence[Mapping[str, Any]], unit: str) -> list[str]:
    """What so many units could show at most, and roughly how many would be needed."""
    row, tests = rows[0], rows[0]["tests"]
    smallest = None if row["smallest_p"] is None else min(row["smallest_p"] * tests, 1.0)
    corrected = f" after correction over {tests} pairs of models" if tests > 1 else ""
    if (at_most := 2.0 ** (1 - row["videos"]) * tests) >= ALPHA and smallest is not None:
        return [
            f"With {_units(row, unit)} no difference could reach significance, however large: "
            f"the smallest p-value possible is {p_text(min(at_most, 1.0))}{corrected}."
        ]
    if _differing(row) and smallest is not None and smallest >= ALPHA:
        return [
            f"{row['model_a']} and {row['model_b']} differ in {_differing(row)} of {_units(row, unit)} only, too few "
            f"to show anything: the smallest p-value possible is {p_text(smallest)}{corrected}."
        ]
    is_open = row["p_corrected"] is not None and row["p_corrected"] >= ALPHA and not _is_split(row)
    if not is_open or not row["min_detectable"] or not row["difference"]:
        return []
    wanted = videos_like_these(abs(row["difference"]), row["sd"], row["df"], row["videos"], most=MOST_TIMES)
    if wanted is None:
        return [
            f"The difference to {row['model_b']} is so small that a hundred times as many {unit}s might not show it."
        ]
    wanted = max(wanted, row["videos"] + 1)
    return [
        f"If the true difference to {row['model_b']} is what was seen, a study of these two that shows it four times "
        f"in five needs roughly {wanted:,} {unit}s like these {row['videos']:,}."
    ]


def _differing(row: Mapping[str, Any]) -> int:
    """In how many units the two models differ."""
    return int(row["videos_won"] + row["videos_lost"])


def _units(row: Mapping[str, Any], unit: str) -> str:
    return f"{row['videos']:,} {unit}{'' if row['videos'] == 1 else 's'}"


def amount(value: float, facts: MetricFacts, *, like: float | None = None) -> str:
    """A number with the digits that its metric's range asks for, and its unit.

    Args:
        value: The number.
        facts: Of the metric.
        like: The number whose digits it shares, where it is an end of that one's interval.

    Example:
        >>> amount(0.81234, MetricFacts("dsc")), amount(6.5, MetricFacts("hd95", 0, float("inf"), "smaller", unit="px"))
        ('0.812', '6.5 px')
    """
    bounded = max(abs(facts.low), abs(facts.high)) <= 1
    digits = 3 if bounded or abs(value if like is None else like) < 1 else 1
    return f"{value:.{digits}f}{' ' + facts.unit if facts.unit else ''}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(list("abcdef"))
        ('a, b and c', 'a, b, c and 3 others')
    """
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
