"""Tables of a PDF: read with their pages, and named where they could not be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import surgvalid
from printed_pdf import printed_pdf
from surgvalid.audit.tables.layout import Grid
from surgvalid.cli import build_app
from surgvalid.errors import ExtraNeeded, FileUnreadable

HEAD = ["Model", "A", "wR", "F1"]
GOOD = Grid("Table 1. Phases", [HEAD, ["CLIP", "0.40", "0.40", "0.31"], ["Qwen2 VL", "**0.52**", "0.52", "0.40"]])
BAD = Grid("Table 2. Tools", [HEAD, ["CLIP", "0.09", "0.40", "0.31"], ["Qwen2 VL", "", "0.52", "0.40"]])
IMAGE = Grid("Table 3. Only an image", [])
PROSE = "Table 2 shows that tools are hard to see. " * 6


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    pytest.importorskip("pdfplumber")
    pytest.importorskip("typst")
    return printed_pdf(tmp_path / "paper.pdf", [GOOD, BAD, IMAGE], prose=PROSE, width=420)


def test_every_cell_is_read_and_every_table_has_its_page(paper: Path) -> None:
    audit = surgvalid.audit_tables(paper, kind="multi-class")
    assert audit.cells["table"].unique(maintain_order=True).to_list() == ["1 Phases (page 1)", "2 Tools (page 1)"]
    printed = {
        (f"{name} (page 1)", row[0], head): cell
        for name, grid in (("1 Phases", GOOD), ("2 Tools", BAD))
        for row in grid.rows[1:]
        for head, cell in zip(HEAD[1:], row[1:], strict=True)
        if cell
    }
    keys = ("table", "row", "column")
    cells = {tuple(one[key] for key in keys): (one["value"], one["bold"]) for one in audit.cells.to_dicts()}
    assert cells == {key: (text.strip("*"), "*" in text) for key, text in printed.items()}
    assert audit.table.select("rule", "table", "row").rows() == [("accuracy-recall", "2 Tools (page 1)", "CLIP")]


def test_a_table_alone_in_the_right_column_of_a_page_is_read(tmp_path: Path) -> None:
    """Nothing but the table stands at the right of the text: its caption was taken for the end of a line of text."""
    pytest.importorskip("pdfplumber")
    typst = pytest.importorskip("typst")
    cells = ", ".join(f"[{text}]" for row in BAD.rows for text in row)
    place = tmp_path / "paper.typ"
    table = f"#figure(table(columns: 4, {cells}), caption: [Tools])"
    place.write_text(f"#set page(columns: 2, height: 9cm)\n{PROSE * 3}\n#colbreak()\n{table}\n")
    typst.compile(place, output=tmp_path / "paper.pdf")
    audit = surgvalid.audit_tables(tmp_path / "paper.pdf", kind="multi-class")
    assert audit.table.select("rule", "table", "row").rows() == [("accuracy-recall", "1 Tools (page 1)", "CLIP")]


def test_a_table_that_could_not_be_read_is_named(paper: Path) -> None:
    [unread] = [one for one in surgvalid.audit_tables(paper).findings if one.code == "table-unread"]
    assert "3 Only an image (page 1)" in unread.text


def test_a_paper_needs_no_name_of_a_verb(paper: Path) -> None:
    done = CliRunner().invoke(build_app(), ["audit", str(paper), "--facts", "kind=multi-class"])
    assert done.exit_code == 1, done.output
    assert "accuracy-recall" in done.output


def test_what_is_no_pdf_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pdfplumber")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 no more than that")
    with pytest.raises(FileUnreadable, match=r"no PDF that can be read|no table with a caption"):
        surgvalid.audit_tables(tmp_path / "paper.pdf")


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pdfplumber", None)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7")
    with pytest.raises(ExtraNeeded, match="pdf"):
        surgvalid.audit_tables(tmp_path / "paper.pdf")
