"""The printed report: pages, numbers, and text that stays text whatever it looks like."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from chart_examples import EXAMPLES, HOSTILE, plain_names
from surgeval.report.chart import Chart
from surgeval.report.pdf import FOLDED_ROWS, PRINTED_COLUMNS, PRINTED_ROWS, listing, pdf
from surgeval.report.section import Note, Prose, Section, Table

MARKUP = ("#panic(1)", "$x^2$", "\\input{/etc/passwd}", "@cite", "*bold* _it_ `raw`", "= heading", "<label>", "// gone")
needs_poppler = pytest.mark.skipif(
    shutil.which("pdftotext") is None, reason="pdftotext (poppler-utils) is not installed"
)


def text_of(data: bytes, tmp_path: Path) -> str:
    path = tmp_path / "report.pdf"
    path.write_bytes(data)
    done = subprocess.run(["pdftotext", "-layout", str(path), "-"], check=True, capture_output=True)
    return done.stdout.decode()


@needs_poppler
def test_markup_of_any_language_is_printed_as_it_is(tmp_path: Path) -> None:
    table = Table("t", MARKUP[0], pl.DataFrame({"answer": MARKUP, "#head": range(len(MARKUP))}), MARKUP[1])
    blocks = (*(Prose(text) for text in MARKUP), *(Note(text) for text in MARKUP), table)
    made = pdf("#title $x$", "kind", "facts", [Section("a", "= section #x", blocks)], footer="#foot")
    text = text_of(made, tmp_path).replace("\u200b", "")
    for word in (*MARKUP, "#title $x$", "= section #x", "#head", "#foot"):
        assert word in text, word
    assert text.count("\\input{/etc/passwd}") == 3


@needs_poppler
def test_pages_are_numbered_and_heads_of_long_tables_repeated(tmp_path: Path) -> None:
    frame = pl.DataFrame({"model": [f"m{i} " + "word " * 30 for i in range(60)], "value": [0.5] * 60})
    made = pdf("T", "k", "f", [Section("a", "A", (Table("t", "Long", frame),))])
    pages = text_of(made, tmp_path).split("\f")[:-1]
    assert len(pages) > 1
    assert f"1/{len(pages)}" in pages[0].replace(" ", "")
    assert "model" in pages[1]
    assert f"{PRINTED_ROWS} of 60 rows" in pages[0]


@needs_poppler
def test_long_tables_that_a_picture_stands_for_are_named_in_print_and_short_ones_printed(tmp_path: Path) -> None:
    long, short = (pl.DataFrame({"model": [f"row-{rows}-{at}" for at in range(rows)]}) for rows in (FOLDED_ROWS + 1, 2))
    tables = (Table("l", "Behind #it", long, folded=True), Table("s", "Few", short, folded=True))
    text = text_of(pdf("T", "k", "f", [Section("a", "A", tables)]), tmp_path)
    assert f"On the page, not in print: Behind #it ({FOLDED_ROWS + 1} rows)." in " ".join(text.split())
    assert "row-2-1" in text
    assert f"row-{FOLDED_ROWS + 1}-0" not in text


@needs_poppler
@pytest.mark.parametrize("lines", range(24, 40, 3))
def test_a_heading_and_the_words_before_a_figure_stay_with_it(tmp_path: Path, lines: int) -> None:
    chart = replace(EXAMPLES["value_intervals"](plain_names(4)), title="Shown")
    before = Section("a", "A", tuple(Prose("filler") for _ in range(lines)))
    text = text_of(pdf("T", "k", "f", [before, Section("b", "Second", (Prose("announces it"), chart))]), tmp_path)
    pages = text.split("\f")
    last = [max(at for at, page in enumerate(pages) if word in page) for word in ("Second", "announces it", "Shown")]
    assert len(set(last)) == 1, "on one page"


@needs_poppler
def test_two_narrow_pictures_share_the_width_of_a_page(tmp_path: Path) -> None:
    narrow, wide = (EXAMPLES[name](plain_names(4)) for name in ("dominance_matrix", "value_intervals"))

    def lines(*charts: Chart) -> list[str]:
        named = [replace(chart, title=f"Title{at}") for at, chart in enumerate(charts)]
        return text_of(pdf("T", "k", "f", [Section("a", "A", tuple(named))]), tmp_path).splitlines()

    assert any("Title0" in line and "Title1" in line for line in lines(narrow, narrow))
    assert not any("Title0" in line and "Title1" in line for line in lines(narrow, wide))


@needs_poppler
def test_what_a_note_lists_is_printed(tmp_path: Path) -> None:
    note = Note("It holds in:", items=("#panic(1)", "the second board"))
    text = text_of(pdf("T", "k", "f", [Section("a", "A", (note,))]), tmp_path)
    assert "#panic(1)" in text
    assert "the second board" in text


def test_hostile_names_and_letters_of_other_scripts_do_not_stop_it() -> None:
    chart = EXAMPLES["value_intervals"](list(HOSTILE))
    words = (*HOSTILE, "漢字 かな 한글 عربى עברית 🩺🫀", "\ud800 lone", "x" * 5000, "")
    made = pdf("漢字 🩺", "k", "f", [Section("a", "A", (*(Prose(word) for word in words), chart))])
    assert made.startswith(b"%PDF")


@needs_poppler
def test_a_figure_is_drawn_with_text_that_can_be_searched(tmp_path: Path) -> None:
    chart = EXAMPLES["value_intervals"](plain_names(3))
    made = pdf("T", "k", "f", [Section("a", "A", (chart,))])
    text = text_of(made, tmp_path)
    assert "model 002" in text
    assert chart.title in text
    listed = subprocess.run(["pdfimages", "-list", str(tmp_path / "report.pdf")], check=True, capture_output=True)
    assert len(listed.stdout.splitlines()) == 2, "a heading only: no picture of pixels"


def test_equal_reports_give_equal_bytes() -> None:
    sections = [Section("a", "A", (Prose("x"), EXAMPLES["value_intervals"](plain_names(3))))]
    assert pdf("T", "k", "f", sections) == pdf("T", "k", "f", sections)


def test_wide_tables_are_cut_to_what_a_page_holds() -> None:
    frame = pl.DataFrame({f"column_{i}": [1.5] for i in range(30)})
    made = listing(Table("t", "T", frame, "Caption."))
    assert len(made["heads"]) == len(made["columns"]) == PRINTED_COLUMNS
    assert made["caption"].endswith(f"Printed: {PRINTED_COLUMNS} of 30 columns.")
    assert made["heads"][0] == "column 0"


def test_an_empty_table_is_no_problem() -> None:
    assert pdf("T", "k", "f", [Section("a", "A", (Table("t", "T", pl.DataFrame({"a": []})),))]).startswith(b"%PDF")
