"""Sections on models beside each other: variability across cases, final ranks, differences and ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import polars as pl

from surgvalid.errors import SurgvalidError
from surgvalid.report.figures import picture
from surgvalid.report.section import Block, Note, Prose, ReportTable
from surgvalid.report.wording import bucket_label
from surgvalid.report.words import count_of, name_of, percent, slug
from surgvalid.schema.findings import Finding
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.comparing.ensembles import KINDS, ensembles
from surgvalid.stats.intervals.dependence import variability, without_each_video
from surgvalid.stats.intervals.few_videos import PERCENTILE_VIDEOS
from surgvalid.stats.ranking import rank
from surgvalid.studies.supplement.study import METRIC, RESPONSE, SupplementStudy, extreme, limits, shown

MOST_PAIRS = 300
"""Pairs of models that are compared in every capability; with more, only over all questions."""
GROUP = "group"
_FILES = {"stability": "place_stability"}
"""Tables of a ranking that are called otherwise here."""


def variation(study: SupplementStudy) -> list[Block]:
    """How far videos lie apart, for every capability and model, and which videos carry the values."""
    tasks = [GROUP] if study.varies(GROUP) else []
    whole = variability(study.table, **study.how)
    frame = pl.concat([whole, variability(study.table, by=tasks, **study.how)] if tasks else [whole], how="diagonal")
    blocks: list[Block] = [Prose(_widest(whole))]
    blocks.append(_per_video(study.rows, "videos-all", "Accuracy per video"))
    for task in study.rows[GROUP].unique().sort() if tasks else []:
        rows, title = study.rows.filter(pl.col(GROUP) == task), f"Accuracy per video: {bucket_label(task, None)}"
        blocks.append(_per_video(rows, f"videos-{slug(task)}", title))
    caption = (
        "The accuracy of every video, described over videos: mean, SD, quartiles, whiskers of one and a half boxes. "
        "Rows without a capability are over all questions. A capability with few questions per video varies by chance "
        "alone: one question per video gives 0 or 1."
    )
    blocks.append(ReportTable("variability", "Variability across videos", _first(frame, tasks), caption, folded=True))
    return [*blocks, *_influence(study)]


def _per_video(rows: pl.DataFrame, name: str, title: str) -> Block:
    means = rows.group_by("model", "video", maintain_order=True).agg(pl.col("value").mean())
    return picture("patient_values", means, name=name, title=title, metric="accuracy", unit="video")


def _first(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The table with these columns in front."""
    return frame.select(*columns, pl.exclude(columns)) if columns else frame


def _widest(frame: pl.DataFrame) -> str:
    widest = extreme(frame, "sd", largest=True)
    if widest is None:
        return "Fewer than three videos: how far videos lie apart cannot be said."
    return (
        f"From video to video accuracy varies most for {name_of(widest['model'])}: SD {widest['sd']:.3f} over "
        f"{count_of(widest['videos'], 'video')}, from {widest['lowest']:.3f} to {widest['highest']:.3f}."
    )


def _influence(study: SupplementStudy) -> list[Block]:
    try:
        analysis = without_each_video(study.table, **study.how)
    except SurgvalidError as error:
        return [Note(f"No influence of single videos: {error}", "missing")]
    row = extreme(analysis.table.with_columns(size=pl.col("influence").abs()), "size", largest=True)
    sentences = []
    if row is not None:
        sentences = [
            Prose(
                f"The video that matters most is {name_of(row['video'])}: without it {name_of(row['model'])} has "
                f"{row['value_without']:.3f} instead of {row['value']:.3f}."
            )
        ]
    table = ReportTable("influence", "What each video does", analysis.table, analysis.prose, folded=True)
    return [*sentences, table]


def places(study: SupplementStudy) -> list[Block]:
    """How the final ranks of the challenge's rule vary when videos are drawn again."""
    if len(study.models) < 2:
        return [Note("One model has no rank.", "missing")]
    analysis = rank(study.table, "focus", replicates=study.replicates, seed=study.seed, **study.how)
    blocks: list[Block] = []
    evidence = f"{study.replicates:,} resamples of {count_of(study.videos, 'video')}"
    for board in analysis.tables["places"]["board"].unique(maintain_order=True):
        blocks.append(Prose(_standing(analysis.tables, board)))
    about = {
        "places": f"The final ranks under the rule of the challenge. {analysis.prose}",
        "stability": f"Mean, SD and 95 % range of the final rank of every model over {evidence}.",
        "place_frequencies": f"How often each final rank occurred in {evidence}.",
    }
    blocks += [
        ReportTable(_FILES.get(name, name), text.partition(".")[0], analysis.tables[name], text)
        for name, text in about.items()
    ]
    return [*blocks, *limits(analysis.findings)]


def _standing(frames: Mapping[str, pl.DataFrame], board: str) -> str:
    places_, stability = (frames[name].filter(pl.col("board") == board) for name in ("places", "stability"))
    first = places_.filter(~pl.col("baseline").fill_null(False) & (pl.col("place") == 1))["model"].to_list()
    sentences = []
    for model in first:
        rows = stability.filter(pl.col("model") == model)
        if rows.height:
            row = rows.row(0, named=True)
            sentences.append(
                f"{name_of(model)} (first in {percent(row['p_first'])} of the resamples, mean final rank "
                f"{row['mean_place']:.1f}, SD {row['sd_place']:.1f})"
            )
    shared = "share final rank 1" if len(first) > 1 else "is first"
    return f"On the {board} leaderboard {' and '.join(sentences) or 'nobody'} {shared}."


def differences(study: SupplementStudy) -> list[Block]:
    """Every pair of models on every metric, and on the main one in every capability."""
    title = "Differences between models"
    pairs = list(combinations(study.models, 2))
    if not pairs:
        return [Note("One model has nobody to differ from.", "missing")]
    others = [m for m in study.table.metrics if m != METRIC and study.table.facts_of(m).better is not None]
    whole, apart, more = [], [], []
    findings: list[Finding] = []
    lost: list[Block] = []
    for a, b in pairs:
        try:
            analysis = compare(study.table, a, b, level=study.level, **study.how)
        except SurgvalidError as error:
            lost.append(Note(f"{name_of(a)} and {name_of(b)} are not compared: {error}"))
            continue
        whole.append(analysis.table)
        findings += analysis.findings
        if len(pairs) <= MOST_PAIRS:
            if study.varies(GROUP):
                apart.append(compare(study.table, a, b, by=[GROUP], level=study.level, **study.how).table)
            more += [
                compare(study.table, a, b, level=study.level, metric=m, missing=study.missing).table for m in others
            ]
    if not whole:
        return lost
    main = pl.concat(whole)
    frame = pl.concat([main, *apart, *more], how="diagonal")
    frame = _first(frame, [GROUP] if apart else [])
    caption = (
        f"{analysis.prose} Rows with a capability are of its questions alone. Intervals and p-values are of each pair "
        "by itself, not adjusted for the number of pairs."
    )
    blocks: list[Block] = [
        Prose(_apart(main)),
        picture("difference_intervals", main, name="differences", title="Differences in accuracy, all questions"),
    ]
    if apart:
        blocks.append(
            picture(
                "difference_intervals",
                pl.concat(apart, how="diagonal"),
                name="differences-by-capability",
                title="Differences in accuracy in every capability",
                by=[GROUP],
            )
        )
    blocks.append(ReportTable("differences", title, frame, caption, folded=True))
    return [*blocks, *lost, *limits(findings)]


def _apart(main: pl.DataFrame) -> str:
    clear = main.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
    known = main.filter(pl.col("low").is_not_null()).height
    row = extreme(main.with_columns(size=pl.col("difference").abs()), "size", largest=True)
    text = f"{count_of(main.height, 'pair')} of models; intervals: {known}, of which {clear} exclude 0."
    if row is None:
        return text
    return (
        f"{text} The largest difference is {name_of(row['model_a'])} minus {name_of(row['model_b'])}: "
        f"{shown(row, 'difference', signed=True)}."
    )


def upper_bounds(study: SupplementStudy) -> list[Block]:
    """What the models could reach together."""
    title = "Ensembles as upper bounds"
    if len(study.models) < 2:
        return [Note("One model makes no ensemble.", "missing")]
    voted = RESPONSE in study.table.frame.columns
    options = {
        "kinds": KINDS if voted else ("oracle",),
        "references": study.references if voted else None,
        "level": study.level,
        "replicates": study.replicates,
        "seed": study.seed,
        **study.how,
    }
    analysis = ensembles(study.table, **options)
    frame = analysis.table
    if study.varies(GROUP):
        by = ensembles(study.table, by=[GROUP], **options).table
        frame = _first(pl.concat([frame, by], how="diagonal"), [GROUP])
    sentences = [
        f"{row['ensemble']} {shown(row, 'value')}, a gain of "
        f"{shown(row, 'gain', low='gain_low', high='gain_high')} over {name_of(row['best_model'])} alone"
        for row in analysis.table.iter_rows(named=True)
    ]
    single = analysis.table.row(0, named=True)
    drawn = pl.concat(
        [
            pl.DataFrame({"model": [f"best single: {single['best_model']}"], "value": [single["best_value"]]}),
            analysis.table.select(pl.col("ensemble").alias("model"), "value", "low", "high"),
        ],
        how="diagonal",
    )
    blocks: list[Block] = [
        Prose(
            f"Together the models reach: {'; '.join(sentences)}. No choice among their answers can beat the oracle; "
            "none that could be used knows which answer is right."
        ),
        picture(
            "value_intervals",
            drawn,
            name="ensembles",
            title="Ensembles beside the best single model",
            estimand="accuracy over questions",
        ),
        ReportTable("ensembles", title, frame, analysis.prose),
    ]
    if not voted:
        blocks.append(
            Note("Votes of the models were not counted: name their answers (--responses MODEL=FILE).", "missing")
        )
    if study.videos < PERCENTILE_VIDEOS:
        why = "Intervals of ensembles are percentiles of resampled videos, which are too narrow with "
        blocks.append(Note(f"{why}{count_of(study.videos, 'video')}: the uncertainty is larger than they say."))
    return [*blocks, *limits(analysis.findings)]
