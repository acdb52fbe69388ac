"""Buckets: each capability in and out of distribution, beside the trivial baselines that need no video."""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import buckets_title, picture
from surgvalid.report.inputs import ReportInputs, StoredResult, ceiling_of
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section, of_leaderboards
from surgvalid.report.wording import bucket_label, leaderboards_of, missing, on_leaderboard, slice_label
from surgvalid.report.words import name_of, names_of, slug

TITLE = "Buckets, trivial baselines and margins"


def section(inputs: ReportInputs) -> Section:
    """Accuracy per bucket, from the ranking or else from the scorings, then trivial baselines and margins."""
    ranking = inputs.first("rank")
    blocks: list[tuple[Block, str]] = []
    if ranking is not None and not ranking.frame("buckets").is_empty():
        blocks += [(block, board) for board in leaderboards_of(ranking) for block in _of_board(ranking, board)]
    else:
        blocks += [(block, "") for block in _of_scores(inputs)]
    blocks += [(block, "") for block in (*_floors(inputs), *_people(inputs))]
    if not blocks:
        return missing("buckets", TITLE, "There are no buckets.", "surgvalid score ... --out DIR/MODEL")
    return of_leaderboards("buckets", TITLE, blocks)


def _of_board(result: StoredResult, board: str) -> list[Block]:
    frame = on_leaderboard(result, "buckets", board)
    if frame.is_empty():
        return []
    frame = frame.with_columns(
        pl.struct("capability", "ood").map_elements(_label, return_dtype=pl.String).alias("bucket")
    )
    ranked = on_leaderboard(result, "places", board).sort("place").select(pl.col("model").cast(pl.String))
    wide = frame.with_columns(pl.col("model").cast(pl.String)).pivot("bucket", index="model", values="accuracy")
    wide = ranked.join(wide, on="model", maintain_order="left")
    title = f"{buckets_title(frame)}, {board} leaderboard"
    caption = "The share of questions of each kind answered rightly; buckets.csv of the ranking has intervals and n."
    return [ReportTable(f"accuracy-{slug(board)}", title, wide, caption)]


def _label(row: dict[str, object]) -> str:
    ood = row["ood"]
    return bucket_label(str(row["capability"]), ood if isinstance(ood, bool) else None)


def summary_rows(inputs: ReportInputs, level: str) -> pl.DataFrame:
    """Rows of a level of all scorings' summaries (estimand: questions), with the model's name."""
    frames = []
    for result in inputs.of("score"):
        frame = result.frame("summary")
        if frame.is_empty():
            continue
        if "estimand" in frame.columns:
            frame = frame.filter(pl.col("estimand") == "rows")
        wanted = [name for name in "name accuracy low high count videos".split() if name in frame.columns]
        model = str(result.options.get("model", result.label))
        frames.append(frame.filter(pl.col("level") == level).select(pl.lit(model).alias("model"), *wanted))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _of_scores(inputs: ReportInputs) -> list[Block]:
    rows = summary_rows(inputs, "bucket")
    if rows.is_empty():
        return []
    shown = rows.with_columns(pl.col("name").map_elements(slice_label, return_dtype=pl.String)).rename(
        {"name": "bucket"}
    )
    blocks: list[Block] = []
    if shown["model"].n_unique() == 1:
        frame = shown.with_columns(model=pl.col("bucket"), value=pl.col("accuracy"))
        frame = frame.with_columns(n=pl.col("videos")) if "videos" in frame.columns else frame
        options = {"name": "bucket-intervals", "title": "Accuracy per bucket"}
        blocks.append(picture("value_intervals", frame, estimand="accuracy, mean over questions", **options))
    caption = "Accuracy: mean over the questions of the bucket; 95 % intervals with whole videos as units."
    return [*blocks, ReportTable("buckets", "Buckets", shown, caption, folded=bool(blocks))]


def _floors(inputs: ReportInputs) -> list[Block]:
    result = inputs.first("floors")
    if result is None:
        command = "surgvalid score baselines --requests R --references F --results SCORES... --out DIR/floors"
        return [
            Note(
                f"Trivial baselines (what input-blind systems reach) are not here. To add them, run: {command}",
                "missing",
            )
        ]
    blocks: list[Block] = []
    floors = result.frame("floors")
    if not floors.is_empty():
        wide = floors.filter(pl.col("level").is_in(["headline", "overall", "bucket"])).pivot(
            "floor", index=["level", "name", "questions", "videos"], values="accuracy", aggregate_function="first"
        )
        shown = wide.with_columns(pl.col("name").map_elements(slice_label, return_dtype=pl.String))
        caption = "Accuracy of input-blind systems; those named oracle are fitted in hindsight."
        blocks.append(
            ReportTable("floors", "Floors", shown, caption, labels={name: _floor(name) for name in wide.columns})
        )
    margins = result.frame("margins")
    if not margins.is_empty():
        blocks += _margins(margins)
    return blocks


def _people(inputs: ReportInputs) -> list[Block]:
    """How well people do on the same questions, where their release says it."""
    people = ceiling_of(inputs)
    caption = (
        "Answers that people gave before they saw a reference, to closed questions; 95 % intervals over videos. Parts "
        "are those that were scored; all else is of the whole release."
    )
    return [ReportTable("ceiling", "People on the questions", people, caption, folded=True)] if people.height else []


def _floor(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")


def _margins(margins: pl.DataFrame) -> list[Block]:
    headline = margins.filter(pl.col("level") == "headline").sort("margin", descending=True, nulls_last=True)
    below = below_trivial_baseline(margins)
    text = "Margins are differences to the best trivial baseline of the same slice, on the same questions."
    if not headline.is_empty():
        top = headline.row(0, named=True)
        text += f" The largest, {top['margin']:+.3f}, is that of {name_of(top['model'])}." if top["margin"] else ""
    blocks: list[Block] = [Prose(text)]
    if not below.is_empty():
        models = names_of(below["model"].unique(maintain_order=True))
        blocks.append(Note(f"In {below.height} buckets a model does not reach an input-blind baseline: {models}."))
    shown = margins.filter(pl.col("level").is_in(["headline", "overall", "bucket"]))
    shown = shown.with_columns(pl.col("name").map_elements(slice_label, return_dtype=pl.String))
    blocks.append(
        ReportTable(
            "margins",
            "Margins over the best trivial baseline",
            shown,
            "Without intervals; see surgvalid compare.",
            folded=True,
        )
    )
    return blocks


def below_trivial_baseline(margins: pl.DataFrame) -> pl.DataFrame:
    """Buckets in which a model is no better than the best input-blind system."""
    if "margin" not in margins.columns:
        return pl.DataFrame()
    return margins.filter((pl.col("level") == "bucket") & (pl.col("margin") <= 0))
