"""P3.1: frames of one video are counted as independent evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from surgeval.audit.evidence import Evidence, Look, NotThere, Number, Weight, failed, passed
from surgeval.audit.measures import listed
from surgeval.audit.pitfall import Category, Pitfall, Seldom
from surgeval.audit.study import Study
from surgeval.stats.dependence import dependence
from surgeval.stats.interval import interval

ABOUT = Pitfall(
    "P3.1", "Frames counted as independent", Category.REPORTING,
    "Frames, clips or questions of one video or patient are alike. Intervals and tests that take them as independent "
    "are far too narrow and find differences that are none.",
    ("unreliable",),
    (
        Seldom(5.1, "with hierarchies in their data addressed them properly", 39),
        Seldom(28.3, "had test cases that were not independent", 46),
    ),
    "The width of intervals with videos as units over that with single cases as units, and the design effect. Fails "
    "where reported intervals or tests took cases as units although the design effect is above 1.1, whether the study "
    "says so, a result records it, or a printed interval has the width of the naive one.",
    "Resample or test whole videos (the default of every verb here), or report one value per video.",
    ("TRIPOD+AI 12d", "TRIPOD+AI 23b", "CLAIM 29"),
)  # fmt: skip
MATTERS = 1.1
"""Design effect from which on the unit changes an interval."""
_ROWS = re.compile(r"\b(row|frame|image|question|naive|clip|pixel)", re.IGNORECASE)
_VIDEOS = re.compile(r"\b(video|patient|procedure|surger|operation|cent(er|re)s?\b)", re.IGNORECASE)
_NESTED = re.compile(r"\b(cluster|hierarch|nested|multi-?level)", re.IGNORECASE)
"""Words of how the study says what its units are; a case may be a frame or an operation, so it says nothing."""
NARROW = 0.8


def widths(study: Study) -> Iterator[Evidence]:
    """Both intervals of every model, and the design effect."""
    matrix = study.clustered
    effect, numbers = effects(study)
    ratio = _width_ratio(numbers)
    text = (
        f"Over {len(matrix.video_names)} videos with {len(matrix.values):,} cases the design effect is {effect:.2g} in "
        f"the median; intervals that respect videos are {ratio:.2g} times as wide as those that do not."
    )
    yield passed(text, *numbers, picture="widths")


def effects(study: Study) -> tuple[float, list[Number]]:
    """The median design effect, and the numbers behind it."""
    rows = dependence(study.scores, **study.options).table
    known = rows["design_effect"].drop_nulls()
    if known.is_empty():
        raise NotThere("scores that vary, so that a design effect can be had")
    numbers = [
        Number("design effect", row["design_effect"], subject=row["model"], n=row["videos"])
        for row in rows.to_dicts()
        if row["design_effect"] is not None
    ]
    for resample in ("naive", "cluster"):
        table = interval(study.scores, resample=resample, **study.options).table
        numbers += [
            Number(
                "value with its interval", row["value"], row["low"], row["high"], row["model"], resample, row["videos"]
            )
            for row in table.drop_nulls(["value", "low", "high"]).to_dicts()
        ]
    return float(known.median()), numbers  # type: ignore[arg-type]


def _width_ratio(numbers: list[Number]) -> float:
    spans = {(one.subject, one.setting): (one.high or 0.0) - (one.low or 0.0) for one in numbers if one.setting}
    ratios = [spans[model, "cluster"] / naive for (model, kind), naive in spans.items()
              if kind == "naive" and naive > 0 and (model, "cluster") in spans]  # fmt: skip
    return float(np.median(ratios)) if ratios else float("nan")


def units(study: Study) -> Iterator[Evidence]:
    """Which units reported intervals and tests rest on."""
    naive = [result.label for result in study.stored if _took_rows(result.frame("result"))]
    ours = study.of("score", "evaluate", "rank", "rank-tasks", "combine", "supplement")
    if naive:
        yield from _judged(study, f"Results with single cases as units: {listed(naive)}.")
    elif ours:
        yield passed(f"Intervals and tests of {len(ours)} results take whole videos as units.")
    else:
        yield from _stated_units(study)


def _stated_units(study: Study) -> Iterator[Evidence]:
    """What the study says of its units."""
    answer = study.answer("intervals")
    words = str(answer).lower()
    rows, videos = bool(_ROWS.search(words)), bool(_VIDEOS.search(words))
    if answer is False or words in ("none", "no"):
        if printed := _printed(study):
            raise NotThere(f"the units of {printed} printed intervals: the study says that there are none "
                           "(answers.intervals)")  # fmt: skip
        yield passed("The study reports no intervals and no tests (see P3.4).")
    elif _NESTED.search(words) or (videos and not rows):
        yield passed(f"Units of intervals and tests: {answer}.")
    elif rows and not videos:
        yield from _judged(study, f"Units of intervals and tests: {answer}.")
    else:
        raise NotThere(f"whether {answer!r} means whole videos or single frames (answers.intervals: say one of them)")


def _printed(study: Study) -> int:
    """How many printed numbers have an interval."""
    frame = study.tables.get("reported")
    if frame is None or not {"low", "high"} <= set(frame.columns):
        return 0
    return frame.drop_nulls(["low", "high"]).height


def _took_rows(frame: pl.DataFrame) -> bool:
    return "resample" in frame.columns and "naive" in frame["resample"].to_list()


def _judged(study: Study, text: str) -> Iterator[Evidence]:
    """A failure where the unit matters."""
    effect, numbers = effects(study)
    if effect > MATTERS:
        yield failed(f"{text} The design effect is {effect:.2g}, so they are too narrow.", *numbers, weight=Weight.HIGH,
                     picture="widths")  # fmt: skip
    else:
        yield passed(f"{text} The design effect is {effect:.2g}: it makes no difference here.", *numbers)


def printed_widths(study: Study) -> Iterator[Evidence]:
    """Whether printed intervals have the width of those that ignore videos."""
    reported = study.table("reported", "low", "high").drop_nulls(["low", "high"])
    matrix = study.clustered
    mine = reported.filter(pl.col("metric") == matrix.metric.name)
    if mine.is_empty():
        raise NotThere(f"printed intervals of {matrix.metric.name!r}")
    _, numbers = effects(study)
    spans = {(one.subject, one.setting): one.high - one.low for one in numbers
             if one.setting and one.high is not None and one.low is not None}  # fmt: skip
    narrow = []
    for model, low, high in mine.select("model", "low", "high").iter_rows():
        naive, cluster = spans.get((model, "naive")), spans.get((model, "cluster"))
        if naive and cluster and cluster > 1.5 * naive and NARROW * naive <= high - low <= naive / NARROW:
            narrow.append(f"{model} ({high - low:.3g}; naive {naive:.3g}, over videos {cluster:.3g})")
    if narrow:
        yield failed(f"Printed intervals have the width of naive ones: {listed(narrow)}.", *numbers, weight=Weight.HIGH,
                     picture="widths")  # fmt: skip
    else:
        yield passed(f"None of {mine.height} printed intervals has the width of the naive one.", *numbers)


LOOKS = (
    Look("how much videos matter", widths),
    Look("units of intervals and tests", units),
    Look("widths of printed intervals", printed_widths, needed=False),
)
