"""Who is compared with whom in an audit."""

from __future__ import annotations

import polars as pl

from surgvalid.audit.study import AuditedStudy
from surgvalid.schema.tables.score_table import ScoreTable


def test_models_that_took_part_in_one_track_only_are_not_ranked_beside_the_others() -> None:
    rows = [
        (model, f"{track}{case}", f"v{case % 3}", track, 1.0 if model == "c" else float(case % 2))
        for track in ("frame", "procedure") for case in range(6) for model in "abc" if (model, track) != ("c", "frame")
    ]  # fmt: skip
    table = ScoreTable.of(pl.DataFrame(rows, schema=["model", "case", "video", "track", "value"], orient="row"),
                          better="larger")  # fmt: skip
    study = AuditedStudy("two tracks", table)
    assert study.matrix.models == ["a", "b", "c"]
    assert study.rivals().models == ["a", "b"]
