"""Images that carry no information are not drawn: a sentence says it instead."""

from __future__ import annotations

import polars as pl
import pytest

from surgvalid.report.figures import picture, silence
from surgvalid.report.section import Prose


@pytest.mark.parametrize(("chart", "dull", "telling"), [
    ("significance_map", {"significant": [False, None]}, {"significant": [True, False]}),
])  # fmt: skip
def test_a_picture_that_shows_nothing_is_a_sentence(chart: str, dull: dict, telling: dict) -> None:
    assert silence(chart, pl.DataFrame(dull)).endswith(".")
    assert silence(chart, pl.DataFrame(telling)) == ""
    block = picture(chart, pl.DataFrame(dull), title="The figure")
    assert isinstance(block, Prose)
    assert block.text.startswith("The figure: ")


def test_only_the_board_that_is_shown_counts() -> None:
    frame = pl.DataFrame({"board": ["x", "y"], "significant": [False, True]})
    assert silence("significance_map", frame, "x")
    assert not silence("significance_map", frame, "y")


@pytest.mark.parametrize("frame", [None, pl.DataFrame(), pl.DataFrame({"other": [1]})])
def test_other_tables_are_left_to_the_chart(frame: object) -> None:
    assert silence("significance_map", frame) == ""
    assert silence("board", frame) == ""
