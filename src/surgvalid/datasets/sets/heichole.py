"""HeiChole: 24 public cholecystectomies with phases, instruments, actions and skill.

Seven videos have 50 frames per second and the others 25, so one step in frames is not one rate: use
`sampled(references, rate_hz=1)`, which thins each video by its own frame rate.
"""

from __future__ import annotations

import re

import polars as pl

from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD, number_of_video

PUBLIC_VIDEOS = 24
SKILLS = ("depth perception", "bimanual dexterity", "efficiency", "tissue handling", "difficulty")
RATINGS = range(1, 6)
SKILL_PARTS = {"": "whole video", "calot": "Calot", "dissection": "dissection"}
_named = number_of_video("Hei-Chole{}", range(1, PUBLIC_VIDEOS + 1))


def skill(folder: DataFolder) -> pl.DataFrame:
    """One row per video, part and item, rated 1 to 5."""
    rows: list[tuple[object, ...]] = []
    for path in folder.files("annotations/skill/*_skill.csv"):
        match = re.fullmatch(r"(Hei-Chole\d+)(?:_(Calot|Dissection))?_Skill\.csv", path.name, re.IGNORECASE)
        if match is None:
            folder.warn("unexpected-file", path, "not named Hei-CholeN[_Calot|_Dissection]_Skill.csv; not read")
            continue
        table = folder.table(path, dict.fromkeys(SKILLS, pl.Int64), header=False)
        video = _named(match[1])
        if video is None:
            folder.problem("unknown-video", path, f"{match[1]} is not among the public 1 to {PUBLIC_VIDEOS}")
        elif table is not None and (table.height != 1 or not all(rating in RATINGS for rating in table.row(0))):
            folder.problem("malformed", path, f"expected one row of five ratings from 1 to 5, got {table.height} rows")
        elif table is not None:
            section = SKILL_PARTS[(match[2] or "").lower()]
            rated = zip(SKILLS, table.row(0), strict=True)
            rows += [(f"{video}/{section}/{item}", video, None, section, item, rating) for item, rating in rated]
    schema = HEAD | {"part": pl.String, "item": pl.String, "rating": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
