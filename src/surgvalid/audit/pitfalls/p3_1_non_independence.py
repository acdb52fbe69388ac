"""P3.1: frames of one video are counted as independent evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, NamedNotThere, NotThere, Weight, judged, passed
from surgvalid.audit.measures import listed, number_of, video_sums
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.intervals.dependence import design_effects
from surgvalid.stats.intervals.interval import interval

ABOUT = Pitfall(
    "P3.1",
    "Frames counted as independent",
    Category.REPORTING,
    "Frames, clips or questions of one video or patient are alike. Intervals and tests that take them as independent "
    "are far too narrow and find differences that are none.",
    ("unreliable",),
    (
        Seldom(5.1, "with hierarchies in their data addressed them properly", 39),
        Seldom(28.3, "had test cases that were not independent", 46),
    ),
    "The width of intervals with videos as units over that with single cases as units, and the design effect. Fails "
    "where reported intervals or tests took cases as units although the design effect is above 1.1, whether the study "
    "says so or a result records it, and where a printed interval has less than 0.8 of the width that resampled videos "
    "give, whatever one video is left out and however its ends were rounded; and where two videos have the same scores "
    "in all of their cases, which chance gives in one of 1,000 studies at most.",
    "Resample or test whole videos (the default of every verb here), or report one value per video.",
)
MATTERS = 1.1
"""Design effect from which on the unit changes an interval."""
_ROWS = re.compile(r"\b(row|frame|image|question|naive|clip|pixel)", re.IGNORECASE)
_VIDEOS = re.compile(r"\b(video|patient|procedure|surger|operation|cent(er|re)s?\b)", re.IGNORECASE)
_NESTED = re.compile(r"\b(cluster|hierarch|nested|multi-?level)", re.IGNORECASE)
"""Words of how the study says what its units are; a case may be a frame or an operation, so it says nothing."""
NARROW = 0.8
"""Share of the expected width below which a printed interval is too narrow, whatever video is left out."""
COPIED = 1e-3
"""Chance of videos with the same scores, of sound studies in all, below which they are copies."""
_NORMAL = 1.959964


def widths(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Both intervals of every model, and the design effect."""
    matrix = study.clustered
    effect, numbers = effects(study)
    ratio = _width_ratio(numbers)
    text = (
        f"Over {len(matrix.video_names)} videos with {len(matrix.values):,} cases the design effect is {effect:.2g} in "
        f"the median; intervals clustered by video are {ratio:.2g} times as wide as those that ignore videos."
    )
    yield passed(text, *numbers)


def effects(study: AuditedStudy) -> tuple[float, list[AuditNumber]]:
    """The median design effect, and the numbers behind it."""
    rows = design_effects(study.matrix).table
    known = rows["design_effect"].drop_nulls()
    if known.is_empty():
        raise NotThere("scores that vary, so that a design effect can be had")
    numbers = [
        AuditNumber("design effect", row["design_effect"], subject=row["model"], n=row["videos"])
        for row in rows.to_dicts()
        if row["design_effect"] is not None
    ]
    for resample in ("naive", "cluster"):
        table = interval(study.scores, resample=resample, **study.options).table
        numbers += [
            number_of("value with its interval", row, setting=resample)
            for row in table.drop_nulls(["value", "low", "high"]).to_dicts()
        ]
    return float(known.median()), numbers  # type: ignore[arg-type]


def _width_ratio(numbers: list[AuditNumber]) -> float:
    naive, clustered = (
        {one.subject: (one.high or 0.0) - (one.low or 0.0) for one in numbers if one.setting == kind}
        for kind in ("naive", "cluster")
    )
    ratios = [clustered[model] / width for model, width in naive.items() if width > 0 and model in clustered]
    return float(np.median(ratios)) if ratios else float("nan")


def units(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Which units reported intervals and tests rest on."""
    naive = [
        result.label
        for result in study.stored
        if "naive" in result.frame("result").to_dict(as_series=False).get("resample", ())
    ]
    ours = study.of("score", "evaluate", "rank", "rank-tasks", "combine", "supplement")
    if naive:
        yield from _judged(study, f"Results with single cases as units: {listed(naive)}.")
    elif ours:
        yield passed(f"Intervals and tests of {len(ours)} results take whole videos as units.")
    else:
        yield from _stated_units(study)


def _stated_units(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """What the study says of its units."""
    answer = study.answer("intervals")
    words = str(answer).lower()
    rows, videos = bool(_ROWS.search(words)), bool(_VIDEOS.search(words))
    if answer is False or words in ("none", "no"):
        if printed := _printed(study):
            raise NotThere(
                f"the units of {printed} printed intervals: the study says that there are none (answers.intervals)"
            )
        yield passed("The study reports no intervals and no tests (see P3.4).")
    elif _NESTED.search(words) or (videos and not rows):
        yield passed(f"Units of intervals and tests: {answer}.")
    elif rows and not videos:
        yield from _judged(study, f"Units of intervals and tests: {answer}.")
    else:
        raise NotThere(f"whether {answer!r} means whole videos or single frames (answers.intervals: say one of them)")


def _printed(study: AuditedStudy) -> int:
    """How many printed numbers have an interval."""
    frame = study.tables.get("reported", pl.DataFrame())
    return frame.drop_nulls(["low", "high"]).height if {"low", "high"} <= set(frame.columns) else 0


def _judged(study: AuditedStudy, text: str) -> Iterator[AuditEvidence]:
    """A failure where the unit matters."""
    effect, numbers = effects(study)
    yield judged(
        effect > MATTERS,
        f"{text} The design effect is {effect:.2g}, so they are too narrow.",
        f"{text} The design effect is {effect:.2g}: it makes no difference here.",
        *numbers,
        weight=Weight.HIGH,
    )


def printed_widths(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether printed intervals are narrower than whole videos allow."""
    study.table("reported", "low", "high")
    reported, main = study.printed.drop_nulls(["low", "high"]), study.clustered
    known = pl.col("model").is_in(main.models) & pl.col("metric").is_in(study.scored.metrics)
    for (metric,), rows in reported.filter(known).group_by("metric", maintain_order=True):
        yield _judged_widths(rows, study.scored.matrix(str(metric), missing=study.missing))
    if names := reported.filter(~known).select(pl.format("{} {}", "model", "metric")).to_series().to_list():
        text = f"{len(names)} printed rows with an interval match no model or metric of the scores"
        raise NamedNotThere(f"scores of everything printed; {text}: {listed(names)}")
    if reported.is_empty():
        raise NotThere("printed intervals")


def copies(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Videos with the very same scores, which are one video that was copied unless chance can give that."""
    matrix = study.clustered
    values = np.round(np.nan_to_num(matrix.values, nan=-np.inf), 12)[np.argsort(matrix.videos, kind="stable")]
    sizes = np.bincount(matrix.videos, minlength=len(matrix.video_names))
    first: dict[bytes, str] = {}
    alike = []
    for name, rows in zip(matrix.video_names, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
        if (known := first.setdefault(np.sort(rows, axis=0).tobytes(), name)) != name:
            alike.append((len(rows), f"{known} and {name}"))
    counts = np.unique(values, axis=0, return_counts=True)[1] if alike else np.ones(1)
    share = max(float((counts.astype(float) ** 2).sum()) / len(values) ** 2, 1 / len(values))
    unlikely = math.log(COPIED) - 2 * math.log(len(sizes))
    same = [names for size, names in alike if math.lgamma(size + 1) + size * math.log(share) < unlikely]
    yield judged(
        same,
        f"Videos with the same scores in all of their cases: {listed(same)}. A copy is no further video.",
        f"No two of {len(sizes)} videos have the same scores throughout, but where chance can give that.",
        weight=Weight.HIGH,
    )


def _judged_widths(printed_rows: pl.DataFrame, matrix: ScoreMatrix) -> AuditEvidence:
    """The widths of printed intervals of a metric against those expected."""
    narrow, numbers = [], []
    for model, low, high in printed_rows.select("model", "low", "high").iter_rows():
        values = matrix.values[:, matrix.models.index(model)]
        scale = _scale_of((low + high) / 2, values)
        expected, least, most = (scale * width for width in expected_width(values, matrix.videos))
        printed, digits = high - low, 10.0 ** -max(_decimals(low), _decimals(high))
        if least <= 0:
            continue
        ratio = AuditNumber(
            "printed width over that of resampled videos",
            printed / expected,
            max(printed - digits, 0.0) / most,
            (printed + digits) / least,
            model,
            n=len(matrix.video_names),
        )
        numbers.append(ratio)
        if (ratio.high or 0.0) < NARROW:
            narrow.append(f"{model} {ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})")
    return judged(
        narrow,
        f"Printed intervals are too narrow for whole videos as units: {listed(narrow)} the width expected.",
        f"None of {printed_rows.height} printed intervals is narrower than whole videos allow.",
        *numbers,
        weight=Weight.HIGH,
    )


def _scale_of(printed: float, values: np.ndarray) -> float:
    """100 where what is printed of shares is nearer to their mean in percent, else 1."""
    mean, shares = float(np.nanmean(values)), float(np.nanmax(np.abs(values))) <= 1
    return 100.0 if shares and abs(printed - 100 * mean) < abs(printed - mean) else 1.0


def expected_width(values: np.ndarray, codes: np.ndarray) -> tuple[float, float, float]:
    """The width of a 95 % interval over resampled videos, and its least and greatest where any one video is left out.

    The narrower of what the mean over cases and the mean of video means give, without Student's factor: no sound
    method is expected to print less.
    """
    totals, sizes = (one[:, 0] for one in video_sums(values, codes))
    totals, sizes = totals[sizes > 0], sizes[sizes > 0]
    widths = []
    for left_out in (None, *range(len(totals) if len(totals) > 2 else 0)):
        kept = np.arange(len(totals)) != (-1 if left_out is None else left_out)
        total, size = totals[kept], sizes[kept]
        rows = np.sqrt(((total - total.sum() / size.sum() * size) ** 2).sum()) / size.sum()
        widths.append(2 * _NORMAL * min(float(rows), float((total / size).std()) / np.sqrt(len(size))))
    return widths[0], min(widths), max(widths)


def _decimals(number: float) -> int:
    return len(f"{number:.10g}".partition(".")[2])


LOOKS = (
    Look("how much videos matter", widths, scored=True),
    Look("units of intervals and tests", units, scored=True),
    Look("videos that are copies", copies, needed=False, scored=True),
    Look("widths of printed intervals", printed_widths, needed=False, scored=True),
)
