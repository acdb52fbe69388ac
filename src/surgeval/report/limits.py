"""Limitations that can be found in the results themselves, so that nobody has to remember to look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from surgeval.report.competitions import Competition, competitions
from surgeval.report.inputs import Inputs, StoredResult
from surgeval.report.section import Note
from surgeval.report.sections._wording import count_of, heading_of, names_of, percent, perhaps_best, slice_label
from surgeval.report.sections.buckets import below_floor
from surgeval.report.words import plain
from surgeval.results.tables import RESULT_FILES
from surgeval.schema.findings import Severity
from surgeval.schema.missing import NOT_THERE, statuses_listed
from surgeval.scoring.leverage import TINY_VIDEOS
from surgeval.stats.ranking.result import BUCKET_TOO_SMALL, NOTHING_SIGNIFICANT, UNREACHABLE

FEW_VIDEOS = 30
"""Below, intervals that resample videos, as those of a ranking, are known to be too narrow."""
_LIMITING = frozenset({
    "few-videos", "seen-in-few-videos", "differs-in-few-videos", "not-assessable", "z-test-few-videos",
    "no-random-slope", "penalised", "rejected-model", "independent-rows", "video-not-modelled", "no-model",
})  # fmt: skip
"""Findings about a mixed model that limit what its effects can claim."""
_WIDE = 0.5
"""A place that can be anywhere in half of the field says little."""


class Limit(NamedTuple):
    """A limitation of one board or competition; those with the same words are told together."""

    words: str
    where: str = ""
    """What it applies to; empty where the words say it all."""


def limitations(inputs: Inputs) -> list[Note]:
    """Everything found that limits what the report can claim, the gravest first."""
    limits = [Limit(text) for source in (_videos, _unscored, _judges) for text in source(inputs)]
    several = competitions(inputs)
    for source in (_small_buckets, _unreachable, _empty_buckets, _floors, _ties, _spread, _warned):
        limits += [_named(one, competition) for competition in several for one in source(competition.inputs)]
    limits += [Limit(text) for source in (_of_the_parts, _unread) for text in source(inputs)]
    places: dict[str, list[str]] = {}
    for words, where in limits:
        places.setdefault(words, []).append(where)
    return [_note(words, list(dict.fromkeys(where))) for words, where in places.items()]


def _named(limit: Limit, competition: Competition) -> Limit:
    """The limitation with its competition named: before where it holds, or as that where nothing is said."""
    if not competition.label:
        return limit
    return limit._replace(where=f"{competition.label}, {limit.where}" if limit.where else competition.label)


def _note(words: str, where: list[str]) -> Note:
    listed = tuple(place for place in where if place)
    return Note(f"{words.rstrip('.')}:", items=listed) if listed else Note(words)


def _videos(inputs: Inputs) -> Iterator[str]:
    if inputs.scores is None:
        return
    if not inputs.scores.has_videos:
        yield "The score table names no videos: every case is taken as independent, so intervals may be too narrow."
        return
    videos = inputs.rows["video"].n_unique()
    if videos < FEW_VIDEOS:
        drawn = ", and intervals of the ranking, which resample so few units, are somewhat too narrow"
        ranked = inputs.first("rank") is not None
        yield f"Only {count_of(videos, 'video')}: rare conditions are not represented{drawn if ranked else ''}."
    if inputs.live is not None:
        yield from inputs.live.few


def _small_buckets(inputs: Inputs) -> Iterator[Limit]:
    """Buckets with few videos, as one sentence per board instead of one per bucket."""
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
            yield Limit(words, f"{board} board {rows.height} of {total} ({smallest})")
    if inputs.first("rank") is None:
        yield from _small_scored(inputs)


def _unreachable(inputs: Inputs) -> Iterator[Limit]:
    """Buckets in which nothing could be significant, as one sentence per board instead of one per bucket."""
    for result in inputs.of("rank"):
        boards = [
            (finding.subject or "").partition(",")[0] for finding in result.findings if finding.code == UNREACHABLE
        ]
        for board, count in Counter(boards).items():
            words = "With so many pairs of models no difference in these buckets could be significant."
            yield Limit(words, f"{board} {count_of(count, 'bucket')}")


def _short(capability: str, ood: bool | None) -> str:
    """A bucket in few words."""
    words = plain(capability.replace("_", " "), limit=40)
    return words if ood is None else f"{words} {'OOD' if ood else 'ID'}"


def _small_scored(inputs: Inputs) -> Iterator[Limit]:
    for result in inputs.of("score")[:1]:
        frame = result.frame("summary")
        if "videos" not in frame.columns or "estimand" not in frame.columns:
            continue
        small = frame.filter(
            (pl.col("level") == "bucket") & (pl.col("estimand") == "rows") & (pl.col("videos") < TINY_VIDEOS)
        )
        if not small.is_empty():
            named = [f"{slice_label(str(n))} ({v})" for n, v in small.select("name", "videos").iter_rows()]
            yield Limit(f"{small.height} buckets rest on fewer than {TINY_VIDEOS} videos.", names_of(named, most=10))


def _empty_buckets(inputs: Inputs) -> Iterator[Limit]:
    for result in inputs.of("score")[:1]:
        frame = result.frame("leverage_questions")
        if frame.is_empty():
            continue
        if frame.height < 10:
            words = "The headline is a mean over the buckets that have a question, so it is not comparable with that of"
            yield Limit(f"{words} another set.", f"only {frame.height} of 10 buckets have one")
        heavy = frame.filter(pl.col("weight_of_question") >= 0.02)
        if not heavy.is_empty():
            named = [slice_label(str(name)) for name in heavy["bucket"]]
            yield Limit("Single questions carry 2 % or more of the headline.", names_of(named))


def _floors(inputs: Inputs) -> Iterator[Limit]:
    for result in inputs.of("floors"):
        below = below_floor(result.frame("margins"))
        if below.is_empty():
            continue
        worst = Counter(below["model"].to_list())
        named = [f"{plain(model, limit=40)} ({count})" for model, count in worst.most_common()]
        words = "Models that in some buckets do not exceed a floor that never looks at the video (number of buckets)."
        yield Limit(words, names_of(named))


def _unscored(inputs: Inputs) -> Iterator[str]:
    if inputs.rows.is_empty():
        return
    empty = inputs.rows.filter(pl.col("value").is_null())["status"].value_counts(sort=True)
    if not empty.is_empty():
        share = inputs.rows["value"].null_count() / inputs.rows.height
        yield f"{percent(share)} of the answers have no score ({statuses_listed(dict(empty.iter_rows()))})."
    yield from inputs.live.notes if inputs.live is not None else ()


def _judges(inputs: Inputs) -> Iterator[str]:
    judged = [result.records["verdicts"] for result in inputs.of("score") if "verdicts" in result.records]
    judges = sorted({judge for verdicts in judged for judge in verdicts.judges})
    if len(judges) == 1:
        exact = " It accepts equal text only, so free text is scored too low." if judges == ["exact"] else ""
        named = plain(judges[0], limit=60)
        yield f"All free text was judged by a single judge ({named}), so its errors cannot be seen.{exact}"
    apart, answers = sum(v.apart for v in judged), sum(v.answers for v in judged)
    if apart:
        yield f"The judges disagree on {apart:,} of {answers:,} free-text answers ({percent(apart / answers)})."


def _ties(inputs: Inputs) -> Iterator[Limit]:
    for result in inputs.of("rank"):
        pairs, summary = result.frame("pairs"), result.frame("summary")
        is_said = any(finding.code == NOTHING_SIGNIFICANT for finding in result.findings)
        if not is_said and not pairs.is_empty() and not pairs["significant"].any():
            yield Limit("No difference between two models in any bucket is significant; the order rests on tie-breaks.")
        for board in summary["board"].unique(maintain_order=True) if "board" in summary.columns else ():
            rows = summary.filter(pl.col("board") == board)
            inside = perhaps_best(rows) or []
            if len(inside) > 1:
                where = f"{board} board any of {len(inside)} of {rows.height} ({names_of(inside)})"
                yield Limit("Over all buckets together, which model is the best is open.", where)


def _spread(inputs: Inputs) -> Iterator[Limit]:
    for result in inputs.of("rank"):
        summary = result.frame("summary")
        for board in summary["board"].unique(maintain_order=True) if "board" in summary.columns else ():
            rows = summary.filter(pl.col("board") == board)
            wide = rows.filter(pl.col("rank_width") >= max(2.0, _WIDE * rows.height))
            if not wide.is_empty():
                words = "Places that span half of the field or more when videos are resampled."
                yield Limit(words, f"{board} board {wide.height} of {rows.height} models")


def _warned(inputs: Inputs) -> Iterator[Limit]:
    """What the rankings warned of themselves, without the buckets counted above."""
    for result in inputs.of("rank", "rank-tasks"):
        for finding in result.findings:
            counts = finding.severity is not Severity.NOTE or finding.code == NOT_THERE
            if counts and finding.code not in (BUCKET_TOO_SMALL, UNREACHABLE):
                text = plain(finding.message, limit=600).rstrip(".")
                where = plain(finding.subject or "", limit=240).replace("_", " ")
                yield Limit(f"{text[:1].upper()}{text[1:]}.", where)


def _of_the_parts(inputs: Inputs) -> Iterator[str]:
    """What the other parts say about themselves."""
    for result in inputs.of("failures"):
        yield from _fit(result)
    for result in inputs.of(*RESULT_FILES):
        warned = [finding for finding in result.findings if finding.severity is not Severity.NOTE]
        yield from (f"{heading_of(result)}: {plain(finding.text, limit=300)}" for finding in warned)
    for result in inputs.of("questions"):
        defects = result.records.get("data_card", {}).get("defects")
        if isinstance(defects, list) and defects:
            yield f"The data card of {result.label} lists {count_of(len(defects), 'defect')}."


def _fit(result: StoredResult) -> Iterator[str]:
    fit = result.records.get("fit", {})
    if fit.get("converged") is False:
        yield f"{result.label}: the mixed model did not converge; its effects must not be used."
    if fit.get("singular") is True:
        yield f"{result.label}: a variance of the mixed model is estimated as zero."
    noticed = fit.get("findings")
    for finding in noticed if isinstance(noticed, list) else ():
        if isinstance(finding, dict) and finding.get("severity") == "warning" and finding.get("code") in _LIMITING:
            yield f"{result.label}: {plain(str(finding.get('message', '')), limit=300)}."


def _unread(inputs: Inputs) -> Iterator[str]:
    yield from (finding.message for finding in inputs.findings if finding.severity is not Severity.NOTE)
