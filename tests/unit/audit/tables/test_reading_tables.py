"""Printed tables are read as they are printed, whatever they were copied from."""

from __future__ import annotations

from pathlib import Path

import pytest

from surgvalid.audit.tables.cells import cells_in
from surgvalid.audit.tables.files import cell_rows, long_tables, printed_tables
from surgvalid.audit.tables.layout import PrintedTable
from surgvalid.errors import FileUnreadable, TableInvalid


def read(tmp_path: Path, name: str, text: str) -> list[PrintedTable]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return printed_tables([tmp_path / name]).tables


def values(table: PrintedTable) -> list[list[float | None]]:
    return [[cell.value for cell in row] for row in table.cells]


@pytest.mark.parametrize(
    ("text", "value", "decimals", "bold"),
    [
        ("0.70", 0.7, 2, False),
        ("**0.70**", 0.7, 2, True),
        ("<b>.5</b>", 0.5, 1, True),
        ("33.8 ± 4.1", 33.8, 1, False),
        ("0.81 (0.77-0.85)", 0.81, 2, False),
        ("15,367", 15367, 0, False),
        ("0,52", 0.52, 2, False),
        ("0,123", 0.123, 3, False),
        ("12.5 %", 12.5, 1, False),
        ("−0.03†", -0.03, 2, False),
        ("77<sup>a</sup>", 77, 0, False),
        ("-", None, 0, False),
        ("n/a", None, 0, False),
        ("ResNet50", None, 0, False),
        ("01,234.34", None, 0, False),
        ("٣.٥", None, 0, False),
        ("9" * 400, None, 0, False),
    ],
)
def test_a_number_keeps_its_digits(text: str, value: float | None, decimals: int, bold: bool) -> None:
    (cell,) = cells_in(text)
    assert (cell.value, cell.decimals, cell.bold) == (value, decimals, bold)


def test_markdown_with_several_headings_groups_and_bold(tmp_path: Path) -> None:
    text = """Some prose.

Table 7: Criteria. A second sentence.

| Labels | Model | mAP |  |  | bAcc |  |  |
|---|---|---|---|---|---|---|---|
|  |  | C1 | C2 | Avg | C1 | C2 | Avg |
| only | <b>ResNet</b> | 42.9 | 46.5 | 44.7 | 57.6 | 63.7 | **60.7** |
|  | MoCo | 46.4 | - | 46.4 | 63.5 | 68.1 | 65.8 |
| boxes | DeepCVS* | 53.7 | 44.9 | 49.3 | 68.7 | 69.3 | 69.0 |
"""
    (table,) = read(tmp_path, "paper.md", text)
    assert (table.name, table.label, table.title) == ("7 Criteria", "7", "Criteria")
    assert table.columns[:3] == (("mAP", "C1"), ("mAP", "C2"), ("mAP", "Avg"))
    assert table.columns[3] == ("bAcc", "C1")
    assert table.rows == ("only / ResNet", "only / MoCo", "boxes / DeepCVS")
    assert table.sections == ("only", "only", "boxes")
    assert values(table)[1] == [46.4, None, 46.4, 63.5, 68.1, 65.8]
    assert [cell.bold for cell in table.cells[0]] == [False] * 5 + [True]


def test_latex_with_multicolumn_multirow_and_booktabs(tmp_path: Path) -> None:
    text = r"""
\begin{table}[t] \caption{Results on \emph{Endo}.} % 0.99 & not a cell
\begin{tabular}{ll*{2}{c}cc}
\toprule
\multirow{2}{*}{Set} & \multirow{2}{*}{Model} & \multicolumn{2}{c}{Val} & \multicolumn{2}{c}{Test} \\
\cmidrule(lr){3-4} \cmidrule(lr){5-6}
 & & F1 & Acc. (\%) & F1 & Acc. (\%) \\
\midrule
\multirow{2}{*}{A} & U-Net & $0.71 \pm 0.02$ & 80.1 & 0.68 & 79\,\% \\[2pt]
 & \textbf{Ours} & \textbf{0.75} & {\bf 81.0} & $\mathbf{0.70}$ & \underline{78.2} \\
\bottomrule
\end{tabular}
\end{table}
"""
    (table,) = read(tmp_path, "paper.tex", text)
    assert table.name == "1 Results on Endo"
    assert table.columns == (("Val", "F1"), ("Val", "Acc. (%)"), ("Test", "F1"), ("Test", "Acc. (%)"))
    assert table.rows == ("A / U-Net", "A / Ours")
    assert values(table) == [[0.71, 80.1, 0.68, 79], [0.75, 81.0, 0.70, 78.2]]
    assert [cell.bold for cell in table.cells[1]] == [True, True, True, False]


def test_tabs_and_spaces_and_several_tables_in_one_text(tmp_path: Path) -> None:
    text = """Table S1. First
Model\tA\tF1
CLIP\t0.10\t<b>0.20</b>

Table S2. Second

Model      A      F1
Big CLIP   0.30   0.40
GPT        0.50   0.60

Two words  here are no table.
"""
    first, second = read(tmp_path, "copied.txt", text)
    assert (first.name, second.name) == ("S1 First", "S2 Second")
    assert values(first) == [[0.1, 0.2]]
    assert second.rows == ("Big CLIP", "GPT")
    assert values(second) == [[0.3, 0.4], [0.5, 0.6]]


def test_comma_separated_tables_with_captions(tmp_path: Path) -> None:
    text = "Table 1. One\nModel,Acc,F1\nA,0.5,0.4\n\nTable 2. Two\nModel;x\n"
    tables = read(tmp_path, "tables.csv", text.partition("\nTable 2")[0] + "\nTable 2. Two\nModel,Acc\nB,0.7\n")
    assert [(table.name, table.rows, values(table)) for table in tables] == [
        ("1 One", ("A",), [[0.5, 0.4]]),
        ("2 Two", ("B",), [[0.7]]),
    ]


def test_two_numbers_in_a_cell_are_two_columns(tmp_path: Path) -> None:
    text = """| Model | Box AP   Mask AP | |
|---|---|---|
| | Duct | Mean |
| A | 2.8   3.3 | 4.0   5.0 |
| B | 1.0   2.0 | 3.0   4.0 |
"""
    (table,) = read(tmp_path, "pairs.md", text)
    assert table.columns == (("Box AP", "Duct"), ("Mask AP", "Duct"), ("Box AP", "Mean"), ("Mask AP", "Mean"))
    assert values(table)[0] == [2.8, 3.3, 4.0, 5.0]


def test_a_row_with_one_text_is_the_title_of_the_rows_below(tmp_path: Path) -> None:
    text = "| Model | F1 |\n|---|---|\n| Frames | |\n| A | 0.5 |\n| Videos | |\n| A | 0.6 |\n"
    (table,) = read(tmp_path, "t.md", text)
    assert table.rows == ("Frames / A", "Videos / A")


def test_what_was_read_is_written_and_read_again(tmp_path: Path) -> None:
    text = "| Model | Val F1 | <b>J</b> |\n|---|---|---|\n| A | **0.50** | 0.333 |\n| B | 0.4 | - |\n"
    (table,) = read(tmp_path, "t.md", text)
    (again,) = long_tables([{**row, "bold": str(row["bold"]).lower()} for row in cell_rows([table])], "cells")
    assert (again.columns, again.rows, again.cells) == (table.columns, table.rows, table.cells)


def test_tables_of_one_name_are_told_apart(tmp_path: Path) -> None:
    tables = read(tmp_path, "t.md", "| M | F1 |\n|---|---|\n| A | 0.5 |\n\nand\n\n| M | F1 |\n|---|---|\n| B | 0.6 |\n")
    assert [table.name for table in tables] == ["t (1)", "t (2)"]


def test_every_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "prose.md").write_text("No table here.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(FileUnreadable) as error:
        printed_tables([tmp_path / "prose.md", tmp_path / "picture.png", tmp_path / "missing.md"])
    assert [problem.partition(": ")[2][:18] for problem in error.value.problems] == [
        "no table with numb", "not UTF-8 text (by", "no such file",
    ]  # fmt: skip


def test_a_long_table_must_hold_texts_once() -> None:
    rows = [
        {"table": "t", "row": "a", "column": "F1", "value": "0.5"},
        {"table": "t", "row": "a", "column": "F1", "value": "0.6"},
        {"table": "t", "row": "a", "column": "J", "value": 0.4},
        {"table": "t", "row": "a", "value": "0.4"},
    ]
    with pytest.raises(TableInvalid, match=r"3 problems: row 2: repeats .*; row 3: value is a number.*; row 4: column"):
        long_tables(rows, "t")
