"""What was planted in the demo's models, beside what the analyses found of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from surgvalid.cli._demo.cast import SMOKE
from surgvalid.cli._demo.chain import TRACKS, Demo
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.mixed.report import FailuresResult

ALPHA = 0.05


class Clue(NamedTuple):
    """One planted weakness and the evidence for it."""

    model: str
    planted: str
    evidence: str
    shows: bool


def clues(demo: Demo, why: FailuresResult) -> list[Clue]:
    """Every planted weakness, with what was found of it in the files of the demo."""
    return [
        _fails_where(demo, why, "smoke-blind", "fails in smoke", f"{SMOKE}[yes]"),
        _fails_where(demo, why, "stay-at-home", "fails at the new centres", "ood"),
        _cannot_count(demo),
        _slow(demo),
    ]


def clue_table(clues: list[Clue]) -> pl.DataFrame:
    """The clues as a table."""
    rows = [(clue.model, clue.planted, clue.evidence, "yes" if clue.shows else "no") for clue in clues]
    return pl.DataFrame(rows, schema=["model", "planted", "evidence", "found"], orient="row")


def _scores(demo: Demo, model: str, tracks: Sequence[str] = TRACKS) -> pl.DataFrame:
    files = [demo.folder / "scores" / track / model / "scores.parquet" for track in tracks]
    return pl.concat(map(pl.read_parquet, files), how="diagonal_relaxed").filter(metric="correct")


def _wrong(scores: pl.DataFrame) -> float:
    """Of a hundred answers."""
    return 100 * float((1 - scores["value"].drop_nulls()).to_numpy().mean())


def _fails_where(demo: Demo, why: FailuresResult, model: str, planted: str, term: str) -> Clue:
    """Shares of wrong answers; whether it shows is for the failure analysis of each model by itself."""
    row = why.tables["per_model"].row(by_predicate=(pl.col("model") == model) & (pl.col("term") == term), named=True)
    scores = _scores(demo, model).join(pl.read_csv(demo.folder / "properties.csv"), on="case")
    has = pl.col(term.partition("[")[0]).cast(pl.String).is_in(["yes", "true"])
    such, others = (_wrong(scores.filter(one)) for one in (has, ~has))
    evidence = f"of 100 such questions {such:.0f} wrong, of 100 others {others:.0f}"
    return Clue(model, planted, evidence, row["p_holm"] is not None and row["p_holm"] <= ALPHA and row["estimate"] < 0)


def _cannot_count(demo: Demo) -> Clue:
    """From the paired comparison with the model that has no flaw, on questions of the same group."""
    models = "cannot-count", "all-rounder"
    scores = pl.concat([_scores(demo, model) for model in models]).filter(group="aggregation")
    row = compare(scores, *models, seed=demo.seed).table.row(0, named=True)
    mine, theirs = (_wrong(scores.filter(model=model)) for model in models)
    evidence = f"of 100 questions that count {mine:.0f} wrong, by all-rounder {theirs:.0f}"
    return Clue("cannot-count", "cannot count", evidence, row["high"] < 0)


def _slow(demo: Demo) -> Clue:
    """From the shares of late answers in the shortest and the longest budget."""
    status = [_scores(demo, "slow-thinker", [track])["status"] for track in ("frame", "procedure")]
    late = [100 * (one == "timed_out").sum() / max(one.len(), 1) for one in status]
    evidence = f"of 100 answers on single frames {late[0]:.0f} too late, on procedures {late[1]:.0f}"
    return Clue("slow-thinker", "needs 4 s", evidence, late[0] > late[1])
