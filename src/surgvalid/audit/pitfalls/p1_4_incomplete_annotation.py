"""P1.4: what happens in the videos is annotated in part."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from surgvalid.audit.evidence import (
    AuditEvidence,
    AuditNumber,
    Look,
    NotThere,
    Weight,
    failed,
    judged,
    passed,
    quoted,
    unknown,
)
from surgvalid.audit.measures import coded, estimate, listed, means
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.pitfalls.p2_2_no_temporal_metric import sees_time
from surgvalid.audit.study import AuditedStudy

ABOUT = Pitfall(
    "P1.4",
    "Incomplete annotation",
    Category.DATA,
    "Frames, phases, objects or properties are left without annotation, on purpose or not. What is not annotated "
    "counts as a false alarm or does not count at all, and metrics of time cannot be computed over gaps.",
    ("bias", "unreliable"),
    (
        Seldom(17.0, "did not annotate all frames of the test set", 42),
        Seldom(34.2, "left it unclear whether all frames were annotated", 42),
    ),
    "The annotated share of every video's moments, and gaps inside the annotated stretch. Fails where a video has no "
    "annotation at all, and where gaps lie under a metric that sees time; other gaps are asked about.",
    "Annotate whole stretches, state which frames count, and leave unannotated ones out of every metric alike.",
)
GAP = 0.01
"""Share of moments inside the annotated stretch from which on gaps count."""


def moments(study: AuditedStudy) -> pl.DataFrame:
    """One row per video and moment, with whether it has a reference."""
    frames = study.table("frames")
    rows = frames.group_by("video", "time_s").agg(pl.col("reference").is_not_null().any().alias("annotated"))
    return rows.sort("video", "time_s")


def stretches(study: AuditedStudy) -> pl.DataFrame:
    """One row per video and second up to the last mark anybody made in it, with whether some rater marked it."""
    rows = study.table("segments")
    lengths = rows.group_by("video").agg(pl.col("end_s").max().floor().cast(pl.Int64).alias("last")).sort("video")
    seconds = lengths.select("video", pl.int_ranges(0, pl.col("last")).alias("time_s")).explode("time_s")
    inside = seconds.join(rows.select("video", "start_s", "end_s"), on="video")
    marked = inside.filter((pl.col("time_s") >= pl.col("start_s")) & (pl.col("time_s") < pl.col("end_s")))
    marks = marked.select("video", "time_s").unique().with_columns(annotated=pl.lit(True))
    return seconds.join(marks, on=["video", "time_s"], how="left").with_columns(pl.col("annotated").fill_null(False))


def annotated_share(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """How much of every video is annotated, and whether gaps are meant."""
    rows = stretches(study) if "frames" not in study.tables and "segments" in study.tables else moments(study)
    names, codes = coded(rows["video"])
    share = means(rows["annotated"].cast(pl.Float64).to_numpy(), codes)
    number = estimate("annotated share of moments", share, 0, names)
    bare = rows.group_by("video").agg(pl.col("annotated").any()).filter(~pl.col("annotated"))["video"].sort().to_list()
    text = f"{share.value[0]:.1%} of {rows.height:,} moments in {len(names)} videos have a reference"
    if bare:
        yield failed(f"{text}; videos without any: {listed(bare)}.", number)
    elif share.value[0] == 1:
        yield passed(f"{text}.", number)
    elif study.answer("sparsity") is False:
        yield failed(f"{text}; by the study's own word the gaps are not meant.", number)
    else:
        yield passed(f"{text}; the gaps are meant. {quoted(study.answer('sparsity'))}", number)


def gaps_under_metrics(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Whether metrics of time run over gaps."""
    rows = moments(study)
    temporal = [name for name in study.metric_names if sees_time(name)]
    if not temporal:
        raise NotThere("a metric that sees time")
    held = rows.filter(pl.col("annotated")).group_by("video")
    ends = held.agg(pl.col("time_s").min().alias("first"), pl.col("time_s").max().alias("last"))
    inside = rows.join(ends, on="video").filter(pl.col("time_s").is_between("first", "last"))
    if inside.is_empty():
        raise NotThere("annotated moments")
    share = 1 - float(inside["annotated"].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]
    number = AuditNumber("share of gaps inside the annotated stretch", share, n=inside["video"].n_unique())
    text = (
        f"{share:.1%} of the moments between the first and the last annotation have none; "
        f"time is seen by {listed(temporal)}."
    )
    yield judged(share > GAP, text, text, number, weight=Weight.HIGH)


def raters_cover(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """Videos that some raters left out, where several rated."""
    rows = study.table("segments")
    raters = rows["rater"].unique().sort().to_list()
    if len(raters) < 2:
        raise NotThere("a second rater")
    counts = rows.group_by("video").agg(pl.col("rater").n_unique().alias("raters")).sort("video")
    short = counts.filter(pl.col("raters") < len(raters))["video"].to_list()
    number = AuditNumber("share of videos rated by all", 1 - len(short) / counts.height, n=counts.height)
    text = f"{counts.height - len(short)} of {counts.height} videos were annotated by all {len(raters)} raters"
    if short:
        yield unknown(f"{text}; not by all: {listed(short)}. Agreement rests on the others.", number)
    else:
        yield passed(f"{text}.", number)


LOOKS = (
    Look("annotated share", annotated_share),
    Look("gaps under metrics of time", gaps_under_metrics, needed=False),
    Look("videos that all raters annotated", raters_cover, needed=False),
)
