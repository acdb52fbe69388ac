"""P1.2: too few videos, or classes that hardly occur."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from surgvalid.audit.evidence import AuditEvidence, AuditNumber, Look, NotThere, Weight, judged, passed
from surgvalid.audit.measures import counted, listed, number_of
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED

ABOUT = Pitfall(
    "P1.2",
    "Too few videos, or rare classes",
    Category.DATA,
    "The test set has too few independent videos, or classes that occur in hardly any of them, so that values move "
    "with the choice of videos and nothing firm can be concluded.",
    ("leakage", "unreliable"),
    (
        Seldom(58.6, "reported sizes of data sets in part, unclearly or not at all", 46),
        Seldom(84.6, "did not report how classes are distributed", 39),
    ),
    "Counts independent videos, and in how many of them every class occurs; gives the interval over videos and the "
    "difference that would be found. Fails below six videos (no test over videos can then reach 5 %), where a class "
    "occurs in one test video or is absent from a split, and where a declared difference that matters could not be "
    "found.",
    "Add videos rather than frames per video; report rare classes as such; plan the size with `surgvalid plan`.",
)


def enough_videos(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The number of independent videos."""
    matrix = study.matrix
    if study.scores is None or not study.scores.has_videos or not study.scores.unit.is_known:
        raise NotThere("a column `video`: which cases come from one patient is not known")
    videos = len(matrix.video_names)
    text = f"{counted(videos, 'video')} with {counted(len(matrix.values), 'case')}."
    few = f"{text} With fewer than {FEWEST_TESTED} no difference between models can be shown at 5 %."
    yield judged(videos < FEWEST_TESTED, few, text, AuditNumber("videos", videos, n=videos), weight=Weight.HIGH)


def how_wide(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The interval over videos of every model."""
    matrix = study.clustered
    rows = interval(study.scores, **study.options).table
    numbers = [
        number_of(f"{matrix.metric.name} with its interval over videos", row)
        for row in rows.drop_nulls("value").to_dicts()
    ]
    widths = [one.high - one.low for one in numbers if one.low is not None and one.high is not None]
    if not widths:
        raise NotThere("scores that vary over enough videos for an interval")
    yield passed(
        f"Intervals of {matrix.metric.name} over videos are {min(widths):.2g} to {max(widths):.2g} wide.",
        *numbers,
        picture="intervals",
    )


def difference_that_shows(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The difference between the two best models that would be found, against the one that matters."""
    matrix = study.rivals()
    if not study.has_answer("smallest_difference"):
        raise NotThere("the difference that matters (answers.smallest_difference)")
    wanted = float(study.answer("smallest_difference"))
    values = interval(study.scores, **study.options).table.drop_nulls("value")
    best = values.sort("value", descending=matrix.metric.sign > 0)["model"].to_list()[:2]
    if len(best) < 2:
        raise NotThere("a second model with scores")
    row = compare(study.scores, *best, **study.options).table.to_dicts()[0]
    if row["min_detectable"] is None:
        raise NotThere("enough videos for a standard error of the difference")
    number = AuditNumber("smallest difference found with 80 % power", row["min_detectable"], n=row["videos"])
    text = (
        f"Between {best[0]} and {best[1]} a true difference of {row['min_detectable']:.3g} would be found with 80 % "
        f"power; {wanted:g} matters."
    )
    yield judged(row["min_detectable"] > wanted, text, text, number, weight=Weight.HIGH)


def classes_per_video(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """In how many videos every class of the reference occurs."""
    cases = study.table("cases", "reference").drop_nulls("reference")
    counts = cases.group_by("reference").agg(pl.col("video").n_unique().alias("videos"), pl.len().alias("cases"))
    counts = counts.sort("videos", "reference")
    numbers = [
        AuditNumber("videos with the class", float(row["videos"]), subject=row["reference"], n=row["cases"])
        for row in counts.to_dicts()
    ]
    alone = counts.filter(pl.col("videos") == 1)["reference"].to_list()
    text = f"{counted(counts.height, 'class', 'classes')} in {counted(cases['video'].n_unique(), 'video')}"
    yield judged(
        alone and cases["video"].n_unique() > 1,
        f"{text}; in one video only: {listed(alone)}. Their values have no interval.",
        f"{text}; each occurs in at least {min(counts['videos'].to_list())}.",
        *numbers,
    )


def classes_in_splits(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Classes that one split has and another lacks."""
    rows = study.table("splits", "reference").drop_nulls("reference")
    splits = rows["split"].unique().sort().to_list()
    if len(splits) < 2:
        raise NotThere("a second split with references")
    held = {name: set(rows.filter(pl.col("split") == name)["reference"]) for name in splits}
    every = set.union(*held.values())
    lacking = {name: sorted(every - classes) for name, classes in held.items() if every - classes}
    numbers = [AuditNumber("classes", float(len(held[name])), subject=name) for name in splits]
    text = "; ".join(f"{name} lacks {listed(classes)}" for name, classes in lacking.items())
    yield judged(
        lacking,
        f"Classes are absent from a split: {text}.",
        f"Each of {len(splits)} splits has {counted(len(every), 'class', 'classes')}, the same.",
        *numbers,
    )


LOOKS = (
    Look("number of independent videos", enough_videos, scored=True),
    Look("width of intervals over videos", how_wide, needed=False, scored=True),
    Look("classes by video", classes_per_video, needed=False),
    Look("classes by split", classes_in_splits, needed=False),
    Look("difference that would be found", difference_that_shows, needed=False),
)
