"""What was planted in the demo's models, beside what the analyses found of it."""

from __future__ import annotations

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
        _odds(why, "smoke-blind", "fails in smoke", f"{SMOKE}[yes]"),
        _odds(why, "stay-at-home", "fails at the new centre", "ood"),
        _cannot_count(demo),
        _slow(demo),
    ]


def clue_table(clues: list[Clue]) -> pl.DataFrame:
    """The clues as a table."""
    rows = [(clue.model, clue.planted, clue.evidence, "yes" if clue.shows else "no") for clue in clues]
    return pl.DataFrame(rows, schema=["model", "planted", "evidence", "found"], orient="row")


def _odds(why: FailuresResult, model: str, planted: str, term: str) -> Clue:
    """From the failure analysis of each model by itself."""
    table = pl.DataFrame() if why.per_model is None else why.per_model
    row = table.filter(model=model, term=term).row(0, named=True)
    if row["odds_ratio"] is None:
        return Clue(model, planted, f"{term}: not assessable", False)
    evidence = f"odds ratio {row['odds_ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    return Clue(model, planted, evidence, row["p_holm"] <= ALPHA and row["odds_ratio"] < 1)


def _cannot_count(demo: Demo) -> Clue:
    """From the paired comparison with the model that has no flaw, on questions of the same group."""
    tables = [
        pl.read_parquet(demo.folder / "scores" / track / model / "scores.parquet")
        for track in TRACKS
        for model in ("all-rounder", "cannot-count")
    ]
    scores = pl.concat(tables, how="diagonal_relaxed").filter(group="aggregation")
    row = compare(scores, "cannot-count", "all-rounder", seed=demo.seed).table.row(0, named=True)
    evidence = f"aggregation {row['difference']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}] to all-rounder"
    return Clue("cannot-count", "cannot aggregate", evidence, row["high"] < 0)


def _slow(demo: Demo) -> Clue:
    """From the shares of late answers in the shortest and the longest budget."""
    late = {}
    for track in ("frame", "procedure"):
        status = pl.read_parquet(demo.folder / "scores" / track / "slow-thinker" / "scores.parquet")["status"]
        late[track] = int((status == "timed_out").sum()) / max(len(status), 1)
    evidence = f"late: {late['frame']:.0%} of FRAME, {late['procedure']:.0%} of PROCEDURE answers"
    return Clue("slow-thinker", "needs 4 s", evidence, late["frame"] > late["procedure"])
