"""The words of a verdict: one sentence for each statement, a title, and the line for statisticians.

No other module words who is better. "Is better" is said of a winner only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.column_words import PLACES, plain_name
from surgvalid.schema.tables.shown_tables import p_phrase, spelled
from surgvalid.stats.comparing.rank_sets import RankSets
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED
from surgvalid.stats.verdict.joint_flips import LISTED_UNITS
from surgvalid.stats.verdict.unit_differences import PairFinding
from surgvalid.stats.verdict.who_is_better import BETTER, ModelVerdict

ALPHA = 0.05
MOST_DIGITS = 6
_NOTHING = 1e-9
"""Of the largest number beside it, what rounding of the computer leaves of 0."""
_ORDINALS = {3: "third", 4: "fourth", 5: "fifth"}


def title_of(verdict: ModelVerdict) -> str:
    """The finding in a few words."""
    code, first = verdict.statements[0].code, verdict.statements[0].numbers
    if code == "reaches" and first["value"] is not None:
        return f"{first['model']} reaches {verdict.metric.name} {amount(first['value'], verdict.metric)}"
    if code in ("one_model", "reaches"):
        return f"{first['model']}: no other model to compare with"
    pair, rivals = verdict.deciding, len(verdict.leading)
    several = rivals > 1
    whom = ("both others" if rivals == 2 else f"all {rivals} others") if several else pair.other
    wins = f"{pair.model} is better than {whom}"
    if code in BETTER:
        if verdict.margin is None:
            return wins if several else f"{wins}, by {_measured(_size(pair, verdict.metric), verdict.metric)}"
        rest = ", but by too little to matter" if verdict.is_trifling else "; whether by enough is open"
        return wins if code == "better" else wins + rest
    if code == "open":
        return "Which model does better is open" if not verdict.against else f"{pair.model} leads; who is first is open"
    return {
        "equivalent": f"{pair.model} and {whom} are equal for practice",
        "non_inferior": f"{pair.model} is not worse than {whom} by more than {verdict.margin_said}",
        "same": f"{pair.model} and {whom} gave the same scores",
        "too_few": f"{spelled(verdict.n).capitalize()} {_plural(verdict.unit.word, verdict.n)} "
        f"{'is' if verdict.n == 1 else 'are'} too few to say whether {pair.model} does better",
        "no_interval": f"{pair.model} leads; the statistic has no test",
        "no_unit": f"{pair.model} scores higher in {_count(verdict)}; how many patients are they?",
        "depends_on_stratum": f"It depends on {first.get('column')}",
        "depends_on_metric": "It depends on the metric",
        "depends_on_missing": "It depends on what missing scores mean",
        "depends_on_counting": f"It depends on whether cases or {verdict.unit.word}s count alike",
    }[code]


def sentences_of(verdict: ModelVerdict) -> tuple[str, ...]:
    """Every statement in words, the finding first, with metric, unit, n and number."""
    return tuple(_WORDS[one.code](verdict, one.numbers) for one in verdict.statements)


def evidence_of(verdict: ModelVerdict) -> str:
    """The line for statisticians: how much was compared, the metric with its range, the test with its p-value."""
    facts = verdict.metric
    span = f"{facts.low:g} to {facts.high:g}, " if math.isfinite(facts.low) and math.isfinite(facts.high) else ""
    span = "0 to 100 %, " if facts.is_share else span
    parts = [f"{facts.name} ({span}{facts.better} is better)"]
    if verdict.pairs:
        pair = verdict.deciding
        if verdict.kind == "no_unit":
            return f"{_count(verdict)} · {parts[0]}"
        parts = [f"{pair.units:,} {_plural(verdict.unit.word, pair.units)}", f"{pair.cases:,} scores per model", *parts]
        drawn = verdict.tests > 1 and pair.units > LISTED_UNITS  # patterns are drawn then, not listed
        over = f" over {verdict.tests} pairs of models" if verdict.tests > 1 else ""
        parts.append(f"{'' if drawn else 'exact '}sign-flip test{over}, {p_phrase(pair.p_adjusted)}")
    return " · ".join(parts)


def _wins(verdict: ModelVerdict, _: Mapping[str, Any]) -> str:
    pair, margin = verdict.deciding, verdict.margin
    name = verdict.metric.name
    if len(verdict.leading) > 1:
        head = (
            f"{pair.model} is better than every other model in {name}; the least sure lead is that over {pair.other},"
        )
    else:
        head = f"{pair.model} is better than {pair.other} in {name}"
    tail = ""
    if margin is not None and verdict.kind == "better":
        tail = f": more than the margin {verdict.margin_said}"
    elif margin is not None:
        less = f", but by less than the margin {verdict.margin_said}: equal for practice"
        tail = less if verdict.is_trifling else f"; whether by more than {verdict.margin_said} is open"
    return f"{head} by {_size(pair, verdict.metric)} ({_ends(verdict, pair)}){tail}."


def _open(verdict: ModelVerdict, _: Mapping[str, Any]) -> str:
    pair = verdict.deciding
    rest = "open, also whether the difference exceeds" if verdict.margin is not None else "open which model does better"
    rest += f" {verdict.margin_said}" if verdict.margin is not None else ""
    beaten = f"; {pair.model} is better than {listed(verdict.against)}" if verdict.against else ""
    return f"{_leads(verdict)} ({_ends(verdict, pair)}): {rest}{beaten}."


def _leads(verdict: ModelVerdict) -> str:
    pair, facts = verdict.deciding, verdict.metric
    up = facts.sign > 0
    if not pair.difference:
        return f"{pair.model} and {pair.other} share the {'highest' if up else 'lowest'} {facts.name}, 0 apart"
    apart = f"{_size(pair, facts)} {'above' if up else 'below'} {pair.other}"
    return f"{pair.model} has the {'highest' if up else 'lowest'} {facts.name}, {apart}"


def _alike(verdict: ModelVerdict, _: Mapping[str, Any]) -> str:
    pair, name = verdict.deciding, verdict.metric.name
    whom = listed([one.other for one in verdict.leading])
    apart = f"{_size(pair, verdict.metric)} apart ({_ends(verdict, pair)})"
    if verdict.kind == "equivalent":
        return f"{pair.model} and {whom} are equivalent in {name} to within {verdict.margin_said}: {apart}."
    beaten = f"; {pair.model} is better than {listed(verdict.against)}" if verdict.against else ""
    return f"{pair.model} is not worse than {whom} in {name} by more than {verdict.margin_said}: {apart}{beaten}."


def _same(verdict: ModelVerdict, _: Mapping[str, Any]) -> str:
    whom = listed([one.other for one in verdict.leading])
    return (
        f"{verdict.deciding.model} and {whom} gave the same scores: {verdict.metric.name} 0 apart in {_count(verdict)}."
    )


def _too_few(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    pair, facts = verdict.deciding, verdict.metric
    least, most = numbers["least"], numbers["most"]
    between = _between(least, most, facts)
    each = f"by {between} each" if verdict.n > 1 else f"by {gap_amount(most, facts)}"
    if least < 0:
        each = f"with differences of {between}"
    many = numbers["tests"] > 1
    over, whom = (f" over {numbers['tests']} pairs of models", f" of {pair.other}") if many else ("", "")
    return (
        f"{pair.model} is ahead{whom} in {numbers['ahead']} of {_count(verdict)}, {each} in {facts.name}: "
        f"{spelled(verdict.n)} {_plural(verdict.unit.word, verdict.n)} cannot show more than "
        f"{p_phrase(numbers['smallest_p'])}{over}, so no winner is named."
    )


def _no_interval(verdict: ModelVerdict, _: Mapping[str, Any]) -> str:
    return (
        f"{_leads(verdict)}, and ahead in {verdict.deciding.ahead} of {_count(verdict)}: this statistic has no test "
        "here, so no winner is named; the mean has one."
    )


def _no_unit(verdict: ModelVerdict, _: Mapping[str, Any]) -> str:
    pair = verdict.deciding
    return (
        f"{pair.model} leads in {_count(verdict)} by {_measured(_size(pair, verdict.metric), verdict.metric)}; how "
        "many patients are they from? (--unit) Nobody said: no interval, no p-value, no winner."
    )


def _depends_on_stratum(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    pair, facts, (ours, theirs) = verdict.deciding, verdict.metric, numbers["strata"]
    return (
        f"It depends on {numbers['column']}: in {facts.name} {pair.model} does better where it is {ours.name} "
        f"(by {gap_amount(ours.difference, facts)}; {ours.units} {_plural(verdict.unit.word, ours.units)}), "
        f"{pair.other} where it is {theirs.name} (by {gap_amount(-theirs.difference, facts)}; {theirs.units})."
    )


def _depends_on_metric(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    pair, others = verdict.deciding, [(numbers["metric"], numbers["pair"]), *numbers["more"]]
    by_others = [f"by {facts.name} {other.model} (by {_size(other, facts)})" for facts, other in others]
    return (
        f"It depends on the metric: by {verdict.metric.name} {pair.model} does better "
        f"(by {_size(pair, verdict.metric)}; {_ends(verdict, pair)}), {listed(by_others)}."
    )


def _depends_on_missing(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    gaps = [gap_amount(abs(numbers[name]), verdict.metric) for name in ("difference", "difference_worst")]
    rule = "worst" if math.isfinite(verdict.metric.worst) else f"{numbers['worst']:.6g}"
    dropped, worst = ("does better" if numbers[name] else "only leads" for name in ("won", "won_worst"))
    same = dropped == worst and numbers["dropped"] == numbers["as_worst"]
    head = "Whether they are equal for practice depends" if same else "It depends"
    return (
        f"{head} on what {_missing(numbers)} mean: left out, {numbers['dropped']} {dropped} in "
        f"{verdict.metric.name} (by {gaps[0]}; {_count(verdict)}); counted as the worst value, {numbers['as_worst']} "
        f"{worst} (by {gaps[1]}); say it with --missing {rule} or --missing drop-score."
    )


def _depends_on_counting(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    facts, word, pair = verdict.metric, verdict.unit.word, verdict.deciding
    return (
        f"It depends on what counts alike: over all cases {pair.model} leads in {facts.name} "
        f"(by {gap_amount(abs(numbers['cases']), facts)}), in the mean over {_count(verdict)} {numbers['other']} "
        f"(by {gap_amount(abs(numbers['units']), facts)}), because {word}s with many cases count more in the first."
    )


def _missing(numbers: Mapping[str, Any]) -> str:
    counts = numbers["counts"].items()
    return listed([f"{count:,} missing {_plural('score', count)} of {model}" for model, count in counts])


def _counts(numbers: Mapping[str, Any]) -> str:
    return "counts" if sum(numbers["counts"].values()) == 1 else "count"


def _left_out(_: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    is_or_are = "is" if sum(numbers["counts"].values()) == 1 else "are"
    return f"{_missing(numbers)} {is_or_are} left out; counted as worst, it is no clearer."


def _beside_baseline(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    shown, still_open = [], []
    for pair in numbers["pairs"]:
        if pair.low <= 0 <= pair.high:
            still_open.append(pair.model)
            continue
        sure = pair if pair.low > 0 else pair.turned
        ends = _between(sure.low, sure.high, verdict.metric, sure.difference)
        word = "better" if sure is pair else "worse"
        shown.append(f"{pair.model} does {word} than {pair.other} by {_size(pair, verdict.metric)} ({ends})")
    if still_open:
        shown.append(f"open beside {verdict.baseline}: {listed(still_open)}")
    return f"Of the other models, {'; '.join(shown)}."


def _chance_wrong(_: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    chance = f"{numbers['chance']:.2g}" if numbers["chance"] >= 0.001 else "below 0.001"
    return (
        f"If half of all pairs of models were equal beforehand, and the others apart by Cauchy(0, 0.7) in SD of the "
        f"differences (the prior {numbers['prior']}), the chance that this is wrong is {chance}."
    )


def _shared(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    lacking = listed([f"{model} has no scores in {count}" for model, count in numbers["lacking"].items()])
    rest = f"; {lacking}" if lacking else ""
    return f"Compared on {numbers['units']} of {numbers['of']} {verdict.unit.word}s{rest}."


def _elsewhere(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    count, column, ends = numbers["strata"], PLACES[plain_name(numbers["column"])], numbers["ends"]
    if ends is None:
        return f"{spelled(count).capitalize()} {column}s say nothing about a {_ORDINALS[count + 1]}."
    pair, between = verdict.deciding, _measured(_between(ends[0], ends[1], verdict.metric), verdict.metric)
    return (
        f"With another {column} like these {count}, {pair.model} may lie {between} from {pair.other}, positive where "
        f"it does better ({verdict.level:.0%} prediction interval)."
    )


def _overturned(_: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    return f"Without {listed(numbers['units'])} it would be open."


def _fails(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    return f"{numbers['model']} fails in {len(numbers['units'])} of {_count(verdict)} ({listed(numbers['units'])})."


def _unseen(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    share, word = f"{100 * numbers['rate']:.2g} %", verdict.unit.word
    if numbers["failures"]:
        missing = f" ({numbers['missing']} by missing scores, counted as failures)" if numbers["missing"] else ""
        count = f"{numbers['failures']} of {numbers['units']:,} {_plural(word, numbers['units'])}"
        return f"With {count} failing{missing}, up to {share} of {word}s may fail."
    where = "" if numbers["units"] == verdict.n else f", all that {numbers['model']} was run on"
    return f"A failure in up to {share} of {word}s could have gone unseen in {numbers['units']}{where}."


def _size_needed(verdict: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    rest = ": not worth it" if numbers["units"].startswith("more") else ""
    return (
        f"To show a difference of {verdict.margin_said} four times in five, {numbers['units']} {verdict.unit.word}s "
        f"like these are needed{rest}."
    )


def _other_metric(_: ModelVerdict, numbers: Mapping[str, Any]) -> str:
    pair, facts = numbers["pair"], numbers["metric"]
    ends = _between(pair.low, pair.high, facts, pair.difference)
    return f"By {facts.name} {pair.model} does better than {pair.other}, by {_size(pair, facts)} ({ends})."


def reaches(row: Mapping[str, Any], facts: MetricFacts, unit: str) -> str:
    """What a model that stands alone reaches, from its row of `interval`."""
    value, count = f"{row['model']} reaches {facts.name} {amount(row['value'], facts)}", row["videos"]
    count = row["cases"] if count is None else count
    units = f"{count:,} {_plural(unit, count)}"
    if row["low"] is None:
        return f"{value} in {units}, without an interval; there is no other model to compare with."
    ends = f"{amount(row['low'], facts, unit='')} to {amount(row['high'], facts)}"
    return f"{value} ({row['level']:.0%} interval {ends}; {units}); there is no other model to compare with."


_WORDS: dict[str, Callable[[ModelVerdict, Mapping[str, Any]], str]] = {
    "better": _wins,
    "better_small": _wins,
    "open": _open,
    "equivalent": _alike,
    "non_inferior": _alike,
    "same": _same,
    "too_few": _too_few,
    "no_interval": _no_interval,
    "no_unit": _no_unit,
    "one_model": lambda v, n: f"{n['model']} is the only model with {v.metric.name}: there is none to compare with.",
    "depends_on_stratum": _depends_on_stratum,
    "depends_on_metric": _depends_on_metric,
    "depends_on_missing": _depends_on_missing,
    "depends_on_counting": _depends_on_counting,
    "also_if_worst": lambda _, n: f"The same if {_missing(n)} {_counts(n)} as the worst value, {n['worst']:g}.",
    "missing_left_out": _left_out,
    "beside_baseline": _beside_baseline,
    "chance_wrong": _chance_wrong,
    "reaches": lambda v, n: reaches(n, v.metric, v.unit.word),
    "shared": _shared,
    "missing_as_asked": lambda _, n: f"{_missing(n)} {_counts(n)} as was asked: {n['rule']}.",
    "relevance": lambda v, n: (
        f"Whether {_size(v.deciding, v.metric)} {'matter' if v.metric.is_share else 'matters'} is not a question of "
        "statistics: --margin" + f" {n['two_points']:g} stands for 2 points" * v.metric.is_share + "."
    ),
    "margin_unapplied": lambda v, _: f"While that is open, nothing is said about the margin {v.margin_said}.",
    "asked_alone": lambda _, n: f"Asked about this pair alone, of {n['models']} models in the table.",
    "few_differ": lambda v, n: (
        f"They differ in {n['differing']} of {_count(v)} only, which cannot show more than {p_phrase(n['smallest_p'])}."
    ),
    "amount_depends": lambda _, n: f"By how much depends on {n['column']} ({p_phrase(n['p'])}).",
    "elsewhere": _elsewhere,
    "overturned": _overturned,
    "carried": lambda v, _: f"No three {v.unit.word}s carry it.",
    "one_unit": lambda v, n: (
        f"{n['unit']} alone makes up {100 * n['share']:.0f} % of the difference; without it "
        f"{gap_amount(n['rest'], v.metric)}."
    ),
    "fails": _fails,
    "unseen": _unseen,
    "size": _size_needed,
    "other_metric": _other_metric,
    "unread": lambda _, n: (
        f"Not looked at: {', '.join(n['columns'])}, of unknown direction (--better NAME=larger or NAME=smaller)."
    ),
}


def _count(verdict: ModelVerdict) -> str:
    return f"{verdict.n:,} {_plural(verdict.unit.word, verdict.n)}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _ends(verdict: ModelVerdict, pair: PairFinding) -> str:
    """The interval with n, and on what the unit rests."""
    facts = verdict.metric
    size = f"{pair.units:,} {_plural(verdict.unit.word, pair.units)}"
    if verdict.unit.if_each:
        size += f", if each {verdict.unit.word} is another patient"
    elif verdict.unit.level == "E4":
        size += " read from the names"
    return f"{_between(pair.low, pair.high, facts, pair.difference)}; {size}"


def _between(low: float, high: float, facts: MetricFacts, *like: float) -> str:
    """Two differences with the digits that they share with others, and their unit once."""
    ends = (amount(end, facts, like=(low, high, *like), unit="") for end in (low, high))
    shown = (end if math.isfinite(value) else "unbounded" for end, value in zip(ends, (low, high), strict=True))
    return " ".join(filter(None, [" to ".join(shown), facts.gap_unit]))


def _size(pair: PairFinding, facts: MetricFacts) -> str:
    return gap_amount(abs(pair.difference), facts, like=(pair.difference, pair.low, pair.high))


def _measured(size: str, facts: MetricFacts) -> str:
    """A difference and what it is one of."""
    return f"{size} {'of ' if facts.is_share else ''}{facts.name}"


def order_open(
    models: Sequence[str], sets: RankSets, units: int, unit: str, *, where: str | None = None
) -> Finding | None:
    """Said of a ranking or a leaderboard that leaves open who is first, or the whole order; None where it does not."""
    able = [model for model, first in zip(models, (sets.low == 1).tolist(), strict=True) if first]
    if len(able) == 1:
        return None
    if sets.better.any():
        text = f"{len(able)} of {len(models)} models can be first by these data: {listed(able, 6)}."
        return remark("first-open", text, subject=where)
    text = f"no two of the {len(models)} models can be told apart, so their order is open"
    if units < FEWEST_TESTED:
        many = f"{units} {_plural(unit, units)}"
        text += f": {many} cannot show any difference ({FEWEST_TESTED} are needed for two models)"
    return remark("order-open", text, subject=where)


def gap_amount(value: float, facts: MetricFacts, *, like: Sequence[float] = ()) -> str:
    """A difference, as `amount`: of shares in points of a hundred."""
    return amount(value, facts, like=like, unit=facts.gap_unit)


def amount(value: float, facts: MetricFacts, *, like: Sequence[float] = (), unit: str | None = None) -> str:
    """A number with the digits that its metric's range asks for, and its unit; a share in hundredths.

    Args:
        value: The number.
        facts: Of the metric.
        like: Numbers that it shares its digits with: as many as show each of them that is not 0.
        unit: Another than that of the metric.

    Example:
        >>> amount(0.81234, MetricFacts("dsc")), amount(6.5, MetricFacts("hd95", 0, float("inf"), "smaller", unit="px"))
        ('0.812', '6.5 px')
        >>> amount(0.01, MetricFacts("dsc"), like=(0.01, 0.0004)), amount(0.729, MetricFacts("correct", unit="%"))
        ('0.0100', '72.9 %')
    """
    finite = [abs(one) for one in (like or (value,)) if math.isfinite(one)]
    bounded = facts.is_share or max(abs(facts.low), abs(facts.high)) <= 1
    largest = max(finite, default=1.0)
    digits = 3 if bounded or largest < 1 else 1
    smallest = min((one for one in finite if one > _NOTHING * largest), default=1.0)
    while digits < MOST_DIGITS and not (round(smallest, digits) and round(largest, digits - 1)):
        digits += 1
    shown = 0.0 if abs(value) <= _NOTHING * largest else value  # no minus before nothing
    text = f"{100 * shown:.{digits - 2}f}" if facts.is_share else f"{shown:.{digits}f}"
    return " ".join(filter(None, [text, facts.unit if unit is None else unit]))


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence.

    Example:
        >>> listed(["a", "b", "c"]), listed(list("abcdef"))
        ('a, b and c', 'a, b, c and 3 others')
    """
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
