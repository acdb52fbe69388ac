"""The audit of real annotations: 14 procedures, three people; the how-to page shows what it came to."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from repository import REPOSITORY
from shared_data import needs_shared, shared
from surgvalid.audit.audit import Audited, audited
from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.agreement.ratings import segment_ratings

POEM = ("data", "poem", "segments.csv")
PAGE = REPOSITORY / "docs" / "how-to" / "audit-a-study.md"
SHOWN = ("P1.2", "P1.4", "P1.5", "P2.2", "P2.3", "P2.4", "P2.6", "P3.1", "P3.2")
STEP_S = 10.0
pytestmark = needs_shared(*POEM)


def poem_study() -> AuditedStudy:
    """Every annotator as a model, the majority as reference, every ten seconds."""
    segments = pl.read_csv(shared(*POEM)).rename({"annotator": "rater", "phase": "label"})
    ratings = segment_ratings(segments, video="video", rater="rater", label="label", start="start_s", end="end_s",
                              overlaps="last")  # fmt: skip
    rows = []
    for number, video in enumerate(ratings.video_names):
        mine = ratings.videos == number
        edges = np.concatenate([[0.0], np.cumsum(ratings.weights[mine])])
        times = np.arange(STEP_S / 2, edges[-1], STEP_S)
        codes = ratings.codes[mine][np.searchsorted(edges, times, side="right") - 1]
        same = (codes[:, :, None] == codes[:, None, :]).sum(axis=2)
        majority = np.take_along_axis(codes, same.argmax(axis=1)[:, None], axis=1)[:, 0]
        for place, rater in enumerate(ratings.raters):
            rows += [
                {"model": rater, "video": video, "time_s": float(time), "reference": ratings.categories[whole],
                 "prediction": ratings.categories[mine_now]}
                for time, whole, mine_now in zip(times, majority, codes[:, place], strict=True)
            ]  # fmt: skip
    frames = pl.DataFrame(rows)
    scores = frames.select(
        "model", "video", case=pl.col("video") + "@" + pl.col("time_s").cast(pl.String), phase="reference",
        value=(pl.col("reference") == pl.col("prediction")).cast(pl.Float64), metric=pl.lit("accuracy"),
    )  # fmt: skip
    tables = {"frames": frames, "segments": segments.cast({"video": pl.String, "start_s": float, "end_s": float})}
    return AuditedStudy("POEM", ScoreTable.of(scores), tables=tables, answers={"tolerance": 10.0})


@cache
def poem_audit() -> Audited:
    return audited(poem_study())


def outcome(code: str) -> dict[str, object]:
    return poem_audit().tables["checks"].filter(pl.col("pitfall") == code).row(0, named=True)


def test_one_rater_contradicts_herself_at_one_place() -> None:
    assert outcome("P1.5")["outcome"] == "fail"
    assert "3473 s" in str(outcome("P1.5")["evidence"])
    alpha = poem_audit().tables["numbers"].filter(pl.col("quantity").str.contains("alpha"))
    assert alpha["value"][0] == pytest.approx(0.8945, abs=2e-3)


def test_frames_of_one_procedure_are_alike() -> None:
    numbers = poem_audit().tables["numbers"].filter(pl.col("quantity") == "design effect")
    assert numbers["value"].min() > 5


def test_the_page_shows_what_the_audit_came_to() -> None:
    assert poem_table() in PAGE.read_text(encoding="utf-8")


def poem_table() -> str:
    """The rows of the page."""
    chosen = [outcome(code) for code in SHOWN]
    return "\n".join(f"| {row['pitfall']} | {row['outcome']} | {row['evidence']} |" for row in chosen)
