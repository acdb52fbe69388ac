import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.report.words import csv_text, plain, short_names, term_names, terms_in_words


def test_characters_that_hide_or_reorder_text_are_made_visible() -> None:
    assert plain("safe\u202egnp.exe") == "safe\ufffdgnp.exe"
    assert plain("a\x00b\u200bc") == "a\ufffdb\ufffdc"


@given(st.lists(st.text(max_size=60), max_size=30), st.integers(8, 40))
def test_short_names_are_distinct_and_short(names: list[str], limit: int) -> None:
    labels = short_names(names, limit=limit)
    assert set(labels) == set(names)
    assert len(set(labels.values())) == len(labels)
    assert all(label and len(label) <= max(limit, 9) for label in labels.values())


def test_a_formula_in_a_cell_stays_text_and_a_negative_number_stays_a_number() -> None:
    frame = pl.DataFrame({"text": ["=1+1", "+1", "-1", "@x", "fine"], "number": [-1.0, 2.0, 3.0, 4.0, 5.0]})
    lines = csv_text(frame).splitlines()
    assert lines[1:] == ["'=1+1,-1.0", "'+1,2.0", "'-1,3.0", "'@x,4.0", "fine,5.0"]


def test_lists_in_cells_are_written_as_text() -> None:
    assert csv_text(pl.DataFrame({"a": [[1, 2]]})) == 'a\n"[1, 2]"\n'


def test_heads_of_columns_cannot_run_as_formulas_either() -> None:
    frame = pl.DataFrame({"=1+1": [1], "'=1+1": [2], "@x": ["-3"], "ok": [-4]})
    assert csv_text(frame) == "''=1+1,'=1+1,'@x,ok\n1,2,'-3,-4\n"


def test_terms_that_read_alike_keep_their_own_names() -> None:
    assert term_names(["smoke[yes]", "center[A b]"]) == {"smoke[yes]": "smoke", "center[A b]": "center: A b"}
    assert term_names(["big_clip", "big_clip[yes]"]) == {"big_clip": "big_clip", "big_clip[yes]": "big_clip[yes]"}
    assert terms_in_words("a[yes] and =b[<i>]") == "a and =b[<i>]"
