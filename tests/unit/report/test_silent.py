"""Pictures that carry no information are not drawn: a sentence says it instead."""

from __future__ import annotations

import polars as pl
import pytest

from surgeval.report.section import Prose
from surgeval.report.sections._pictures import picture
from surgeval.report.sections._silent import silence


@pytest.mark.parametrize(("chart", "dull", "telling"), [
    ("dominance_matrix", {"a_dominates_b": [False, False]}, {"a_dominates_b": [False, True]}),
    ("significance_map", {"significant": [False, None]}, {"significant": [True, False]}),
    ("ranking_heat_map", {"rank": [1, 1]}, {"rank": [1, 2]}),
    ("place_frequencies", {"share": [1.0, 1.0]}, {"share": [1.0, 0.5]}),
    ("place_shares", {"share": [1.0, 1.0]}, {"share": [1.0, 0.5]}),
    ("tau_violin", {"tau_b": [1.0, 1.0]}, {"tau_b": [1.0, 0.8]}),
    ("caterpillar", {"mean": [0.0, 0.0]}, {"mean": [0.0, 0.2]}),
    ("video_leverage", {"change": [0.0, 0.0]}, {"change": [0.0, 0.1]}),
    ("places_by_rule", {"mean": [1, 2], "pairwise": [1, 2]}, {"mean": [1, 2], "pairwise": [2, 1]}),
])  # fmt: skip
def test_a_picture_that_shows_nothing_is_a_sentence(chart: str, dull: dict, telling: dict) -> None:
    assert silence(chart, pl.DataFrame(dull)).endswith(".")
    assert silence(chart, pl.DataFrame(telling)) == ""
    block = picture(chart, pl.DataFrame(dull), title="The figure")
    assert isinstance(block, Prose)
    assert block.text.startswith("The figure: ")


def test_only_the_board_that_is_shown_counts() -> None:
    frame = pl.DataFrame({"board": ["x", "y"], "a_dominates_b": [False, True]})
    assert silence("dominance_matrix", frame, "x")
    assert not silence("dominance_matrix", frame, "y")


@pytest.mark.parametrize("frame", [None, pl.DataFrame(), pl.DataFrame({"other": [1]})])
def test_other_tables_are_left_to_the_chart(frame: object) -> None:
    assert silence("dominance_matrix", frame) == ""
    assert silence("board", frame) == ""
