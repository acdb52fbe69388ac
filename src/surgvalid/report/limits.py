"""Limitations that can be found in the results themselves, so that nobody has to remember to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from surgvalid.report.inputs import Competition, ReportInputs, StoredResult, competitions
from surgvalid.report.section import Note, Prose, Section
from surgvalid.report.sections.buckets import below_trivial_baseline
from surgvalid.report.wording import heading_of, perhaps_best, slice_label
from surgvalid.report.words import count_of, names_of, percent, plain
from surgvalid.results.tables import RESULT_FILES
from surgvalid.results.tables.ranking import BUCKET_TOO_SMALL, NOTHING_SIGNIFICANT, UNREACHABLE
from surgvalid.schema.findings import Severity
from surgvalid.schema.tables.missing import NOT_THERE, statuses_listed
from surgvalid.scoring.slices import TINY_VIDEOS

FEW_VIDEOS = 30
"""Below, intervals that resample videos, as those of a ranking, are known to be too narrow."""
_LIMITING = frozenset({
    "few-videos", "seen-in-few-videos", "differs-in-few-videos", "not-assessable", "z-test-few-videos",
    "no-random-slope", "penalised", "rejected-model", "independent-rows", "video-not-modelled", "no-model",
})  # fmt: skip
"""Findings about a mixed model that limit what its effects can claim."""
MOST_GRAVE = 3
"""Limitations on the first page."""
_WIDE = 0.5
"""A final rank that can be anywhere in half of the field says little."""
_MANY_UNSCORED = 0.05
_NONE_SIGNIFICANT = "No two models differ clearly on any kind of question."


class Limit(NamedTuple):
    """A limitation of one leaderboard or competition; those with the same words are told together."""

    words: str
    where: str = ""
    """What it applies to; empty where the words say it all."""
    brief: str = ""
    """The same for the first page, in words that need no explanation; empty where `words` do."""
    at: str = ""
    """Where the first page says that it holds; empty where it says it of everything."""
    weight: int = 1
    """How much it matters; 0 for what the first page leaves to the list of all."""


def limitations(inputs: ReportInputs) -> list[Note]:
    """Everything found that limits what the report can claim, the gravest first."""
    places: dict[str, list[str]] = {}
    for limit in sorted(_limits(inputs), key=lambda one: -one.weight):
        places.setdefault(limit.words, []).append(limit.where)
    return [_note(words, list(dict.fromkeys(where))) for words, where in places.items()]


def gravest(inputs: ReportInputs, *, most: int = MOST_GRAVE) -> list[str]:
    """The limitations that matter most, for the first page."""
    places: dict[str, list[str]] = {}
    for one in sorted((one for one in _limits(inputs) if one.weight), key=lambda one: -one.weight):
        places.setdefault(one.brief or one.words, []).append(one.at)
    return [_located(words, list(filter(None, at))) for words, at in list(places.items())[:most]]


def _located(words: str, at: list[str]) -> str:
    return f"{words.rstrip('.')} ({names_of(at)})." if at else words


def _limits(inputs: ReportInputs) -> list[Limit]:
    limits = [limit for source in (_videos, _unscored, _judges) for limit in source(inputs)]
    several = competitions(inputs)
    for source in (_small_buckets, _unreachable, _empty_buckets, _floors, _ties, _spread, _warned):
        limits += [_named(one, competition) for competition in several for one in source(competition.inputs)]
    return limits + [limit for source in (_of_the_parts, _unread) for limit in source(inputs)]


def _named(limit: Limit, competition: Competition) -> Limit:
    """The limitation with its competition named: before where it holds, or as that where nothing is said."""
    if not competition.label:
        return limit
    at = f"{limit.at}, {competition.label}" if limit.at else ""
    return limit._replace(where=f"{competition.label}, {limit.where}" if limit.where else competition.label, at=at)


def _note(words: str, where: list[str]) -> Note:
    listed = tuple(place for place in where if place)
    return Note(f"{words.rstrip('.')}:", items=listed) if listed else Note(words)


def _videos(inputs: ReportInputs) -> Iterator[Limit]:
    if inputs.scores is None:
        return
    if not inputs.scores.has_videos:
        text = "The score table names no videos: every case is treated as independent, so intervals may be too narrow."
        yield Limit(text, weight=9)
        return
    videos = inputs.rows["video"].n_unique()
    if videos < FEW_VIDEOS and inputs.scores.unit.is_known:
        drawn = ", and intervals of the ranking, which resample so few units, are somewhat too narrow"
        ranked = inputs.first("rank") is not None
        text = f"Only {count_of(videos, inputs.scores.unit.word)}: rare conditions are not represented"
        yield Limit(f"{text}{drawn if ranked else ''}.", brief=f"{text}.", weight=8)
    if inputs.live is not None:
        yield from (Limit(text, weight=0) for text in inputs.live.few)


def _small_buckets(inputs: ReportInputs) -> Iterator[Limit]:
    """Buckets with few videos, as one sentence per leaderboard instead of one per bucket."""
    for result in inputs.of("rank"):
        frame = result.frame("buckets")
        if frame.is_empty():
            continue
        sizes = frame.select("board", "capability", "ood", "videos").unique(maintain_order=True)
        small = sizes.filter(pl.col("videos") < TINY_VIDEOS)
        for board in small["board"].unique(maintain_order=True):
            rows = small.filter(pl.col("board") == board)
            _, capability, ood, videos = rows.sort("videos", maintain_order=True).row(0)
            total = sizes.filter(pl.col("board") == board).height
            words = f"Buckets that rest on fewer than {TINY_VIDEOS} videos, where differences can hardly show."
            smallest = f"the smallest: {_short(str(capability), ood)}, {count_of(videos, 'video')}"
            brief = (
                "Some kinds of question rest on so few videos that differences between models can hardly show there."
            )
            yield Limit(words, f"{board} leaderboard {rows.height} of {total} ({smallest})", brief, weight=4)
    if inputs.first("rank") is None:
        yield from _small_scored(inputs)


def _unreachable(inputs: ReportInputs) -> Iterator[Limit]:
    """Buckets in which nothing could be significant, as one sentence per leaderboard instead of one per bucket."""
    for result in inputs.of("rank"):
        boards = [
            (finding.subject or "").partition(",")[0] for finding in result.findings if finding.code == UNREACHABLE
        ]
        for board, count in Counter(boards).items():
            words = "With so many pairs of models no difference in these buckets could be significant."
            yield Limit(words, f"{board} {count_of(count, 'bucket')}", weight=0)


def _short(capability: str, ood: bool | None) -> str:
    """A bucket in few words."""
    words = plain(capability.replace("_", " "), limit=40)
    return words if ood is None else f"{words} {'OOD' if ood else 'ID'}"


def _small_scored(inputs: ReportInputs) -> Iterator[Limit]:
    for result in inputs.of("score")[:1]:
        frame = result.frame("summary")
        if "videos" not in frame.columns or "estimand" not in frame.columns:
            continue
        small = frame.filter(
            (pl.col("level") == "bucket") & (pl.col("estimand") == "rows") & (pl.col("videos") < TINY_VIDEOS)
        )
        if not small.is_empty():
            named = [f"{slice_label(str(n))} ({v})" for n, v in small.select("name", "videos").iter_rows()]
            rest = f"{'rests' if small.height == 1 else 'rest'} on fewer than {TINY_VIDEOS} videos."
            kinds = "kind of question" if small.height == 1 else "kinds of question"
            brief, words = f"{small.height} {kinds} {rest}", f"{count_of(small.height, 'bucket')} {rest}"
            yield Limit(words, names_of(named, most=10), brief, weight=4)


def _empty_buckets(inputs: ReportInputs) -> Iterator[Limit]:
    for result in inputs.of("score")[:1]:
        frame = result.frame("leverage_questions")
        if frame.is_empty():
            continue
        if frame.height < 10:
            words = (
                "The primary result is a mean over the buckets that have a question, so it is not comparable "
                "with that of"
            )
            brief = "Not every kind of question is asked, so the mean over kinds cannot be compared with another set."
            yield Limit(f"{words} another set.", f"only {frame.height} of 10 buckets have one", brief, weight=2)
        heavy = frame.filter(pl.col("weight_of_question") >= 0.02)
        if not heavy.is_empty():
            named = [slice_label(str(name)) for name in heavy["bucket"]]
            brief = (
                "Some kinds of question are so rare that a single question carries 2 % or more of the value of a model."
            )
            yield Limit("Single questions carry 2 % or more of the primary result.", names_of(named), brief, weight=3)


def _floors(inputs: ReportInputs) -> Iterator[Limit]:
    for result in inputs.of("floors"):
        below = below_trivial_baseline(result.frame("margins"))
        if below.is_empty():
            continue
        worst = Counter(below["model"].to_list())
        named = [f"{plain(model, limit=40)} ({count})" for model, count in worst.most_common()]
        words = "Models that in some buckets do not exceed an input-blind baseline (number of buckets)."
        brief = "On some kinds of question an input-blind system does as well as a model."
        yield Limit(words, names_of(named), brief, weight=6)


def _unscored(inputs: ReportInputs) -> Iterator[Limit]:
    if inputs.rows.is_empty():
        return
    empty = inputs.rows.filter(pl.col("value").is_null())["status"].value_counts(sort=True)
    if not empty.is_empty():
        share = inputs.rows["value"].null_count() / inputs.rows.height
        text = f"{percent(share)} of the answers have no score ({statuses_listed(dict(empty.iter_rows()))})."
        yield Limit(text, weight=9 if share > _MANY_UNSCORED else 3)
    yield from (Limit(text, weight=3) for text in inputs.live.notes) if inputs.live is not None else ()


def _judges(inputs: ReportInputs) -> Iterator[Limit]:
    judged = [result.records["verdicts"] for result in inputs.of("score") if "verdicts" in result.records]
    judges = sorted({judge for verdicts in judged for judge in verdicts.judges})
    if len(judges) == 1:
        exact = " It accepts equal text only, so free text is scored too low." if judges == ["exact"] else ""
        named = plain(judges[0], limit=60)
        yield Limit(
            f"All free text was judged by a single judge ({named}), so its errors cannot be seen.{exact}", weight=7
        )
    apart, answers = sum(v.apart for v in judged), sum(v.answers for v in judged)
    if apart:
        text = f"The judges disagree on {apart:,} of {answers:,} free-text answers ({percent(apart / answers)})."
        yield Limit(text, weight=4)


def _ties(inputs: ReportInputs) -> Iterator[Limit]:
    for result in inputs.of("rank"):
        pairs, summary = result.frame("pairs"), result.frame("summary")
        is_said = any(finding.code == NOTHING_SIGNIFICANT for finding in result.findings)
        if not is_said and not pairs.is_empty() and not pairs["significant"].any():
            words = "No difference between two models in any bucket is significant; any order rests on tie-breaks."
            yield Limit(words, brief=_NONE_SIGNIFICANT, at="every leaderboard", weight=8)
        for board in summary["board"].unique(maintain_order=True) if "board" in summary.columns else ():
            rows = summary.filter(pl.col("board") == board)
            inside = perhaps_best(rows) or []
            if len(inside) > 1:
                where = f"{board} leaderboard any of {len(inside)} of {rows.height} ({names_of(inside)})"
                yield Limit("Over all buckets together, which model is the best is open.", where, weight=0)


def _spread(inputs: ReportInputs) -> Iterator[Limit]:
    for result in inputs.of("rank"):
        summary = result.frame("summary")
        for board in summary["board"].unique(maintain_order=True) if "board" in summary.columns else ():
            rows = summary.filter(pl.col("board") == board)
            wide = rows.filter(pl.col("rank_width") >= max(2.0, _WIDE * rows.height))
            if not wide.is_empty():
                words = "Final ranks that span half of the field or more when videos are resampled."
                brief = "Many final ranks could be anywhere in half of the field had other videos been drawn."
                yield Limit(words, f"{board} leaderboard {wide.height} of {rows.height} models", brief, weight=2)


def _warned(inputs: ReportInputs) -> Iterator[Limit]:
    """What the rankings warned of themselves, without the buckets counted above."""
    for result in inputs.of("rank", "rank-tasks"):
        for finding in result.findings:
            counts = finding.severity is not Severity.NOTE or finding.code == NOT_THERE
            if counts and finding.code not in (BUCKET_TOO_SMALL, UNREACHABLE):
                text = plain(finding.message, limit=600).rstrip(".")
                where = plain(finding.subject or "", limit=240).replace("_", " ")
                brief = _NONE_SIGNIFICANT if finding.code == NOTHING_SIGNIFICANT else ""
                at = where.split(",")[0] if brief else ""
                yield Limit(f"{text[:1].upper()}{text[1:]}.", where, brief, at, 8 if brief else 0)


def _of_the_parts(inputs: ReportInputs) -> Iterator[Limit]:
    """What the other parts say about themselves."""
    for result in inputs.of("failures"):
        yield from _fit(result)
    for result in inputs.of(*RESULT_FILES):
        warned = [finding for finding in result.findings if finding.severity is not Severity.NOTE]
        yield from (Limit(f"{heading_of(result)}: {plain(finding.text, limit=300)}", weight=2) for finding in warned)
    for result in inputs.of("task"):
        run = result.records.get("run", {})
        where = f"{run.get('model', result.label)} on {run.get('task', 'a task')}"
        for finding in (one for one in result.findings if one.severity is not Severity.NOTE):
            weight = 8 if finding.code in ("run-unfinished", "nothing-came") else 2
            yield Limit(f"{plain(where, limit=80)}: {plain(finding.message, limit=300)}", weight=weight)
    for result in inputs.of("questions"):
        defects = result.records.get("data_card", {}).get("defects")
        if isinstance(defects, list) and defects:
            yield Limit(f"The data card of {result.label} lists {count_of(len(defects), 'defect')}.", weight=2)


def _fit(result: StoredResult) -> Iterator[Limit]:
    fit = result.records.get("fit", {})
    if fit.get("converged") is False:
        yield Limit(f"{result.label}: the mixed model did not converge; its effects must not be used.", weight=9)
    if fit.get("singular") is True:
        yield Limit(f"{result.label}: a variance of the mixed model is estimated as zero.", weight=0)
    noticed = fit.get("findings")
    for finding in noticed if isinstance(noticed, list) else ():
        if isinstance(finding, dict) and finding.get("severity") == "warning" and finding.get("code") in _LIMITING:
            yield Limit(f"{result.label}: {plain(str(finding.get('message', '')), limit=300)}.", weight=0)


def _unread(inputs: ReportInputs) -> Iterator[Limit]:
    yield from (
        Limit(finding.message, weight=3) for finding in inputs.findings if finding.severity is not Severity.NOTE
    )


TITLE = "Limitations found"
_NONE = (
    "None of the limitations that can be found automatically shows in these results. How videos and cases were chosen,"
    " and whether references are right, cannot be seen from here."
)


def section(inputs: ReportInputs) -> Section:
    """Every limitation that could be found without being told."""
    notes = limitations(inputs)
    if not notes:
        return Section("limitations", TITLE, (Prose(_NONE),))
    text = "These were found by looking at the results; they are no complete list of what can be wrong with a study."
    return Section("limitations", TITLE, (Prose(text), *notes))
