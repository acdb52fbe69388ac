import json
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from builders import write_json
from strategies import json_rows
from surgvalid.errors import FileUnreadable
from surgvalid.schema import rows as rows_module
from surgvalid.schema.documents import json_text
from surgvalid.schema.findings import Finding
from surgvalid.schema.rows import HugeNumber, read_rows, write_json_rows

reuse_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path) -> tuple[list[dict[str, Any]], list[Finding]]:
    found: list[Finding] = []
    return list(read_rows(path, report=found.append)), found


def until_it_breaks(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The rows before the break, and what is said of it."""
    rows = []
    try:
        for row in read_rows(path):
            rows.append(row)
    except FileUnreadable as error:
        return rows, str(error)
    raise AssertionError("the file did not break")


def saved(folder: Path, text: str | bytes, name: str = "rows.json") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@reuse_folder
@given(rows=json_rows, chunk=st.integers(1, 40), indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
@example(rows=[{"a": "},", "b": {"c": "}, {"}}, {"a": "},{"}], chunk=7, indent=None, ascii_only=True)
@example(rows=[{"a": "x" * 90}] * 3, chunk=1, indent=2, ascii_only=True)
def test_windows_of_any_size_read_what_json_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[Any], chunk: int, indent: int | None, ascii_only: bool
) -> None:
    monkeypatch.setattr(rows_module, "_CHUNK", chunk)
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    assert read(path) == (json.loads(text), [])


@reuse_folder
@given(rows=json_rows.filter(bool), chunk=st.integers(1, 40), data=st.data())
def test_a_truncated_file_gives_its_whole_elements_and_the_place_of_the_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[Any], chunk: int, data: st.DataObject
) -> None:
    monkeypatch.setattr(rows_module, "_CHUNK", chunk)
    text = json.dumps(rows, indent=1)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    path = saved(tmp_path, cut)
    got, problem = until_it_breaks(path)
    assert got == rows[: len(got)]
    with pytest.raises(json.JSONDecodeError) as official:
        json.loads(cut)
    expected = f"line {official.value.lineno} column {official.value.colno}"
    assert expected in problem or "end of the file" in problem


@pytest.mark.parametrize("chunk", range(1, 12))
def test_a_number_across_two_windows_is_one_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(rows_module, "_CHUNK", chunk)
    rows, found = read(saved(tmp_path, '[12345, {"a": 67890}, true, "x y"]'))
    assert rows == [{"a": 67890}]
    assert [f.message for f in found] == [f"expected an object, got {kind}" for kind in ("int", "bool", "str")]


def test_an_error_in_the_middle_names_line_and_column_and_keeps_what_came_before(tmp_path: Path) -> None:
    path = saved(tmp_path, '[\n {"a": 1},\n {"a": 2},\n {"a": nope}\n]')
    stream = read_rows(path)
    assert [next(stream), next(stream)] == [{"a": 1}, {"a": 2}]
    with pytest.raises(FileUnreadable, match="line 4 column 8: Expecting value"):
        next(stream)


def test_a_break_far_from_the_end_does_not_pull_in_the_rest_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, '[{"a": nope}, ' + '{"a": 1}, ' * 20_000 + "{}]")
    monkeypatch.setattr(rows_module, "_CHUNK", 100)
    reads = []
    original = rows_module._Buffer.more
    monkeypatch.setattr(rows_module._Buffer, "more", lambda self: reads.append(1) or original(self))
    with pytest.raises(FileUnreadable, match="line 1 column 8"):
        list(read_rows(path))
    assert len(reads) <= 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "it is empty"),
        ("   \n", "it is empty"),
        ('{"qID": 1}', "it starts with '{'"),
        ("null", "expected a JSON array"),
        ('[{"a": 1} {"a": 2}]', "line 1 column 11: expected ',' or ']' after element 1, got '{'"),
        ('[{"a": 1},]', "line 1 column 11"),
        ('[{"a": 1}', "got the end of the file"),
        ('[{"a": 1}]\n\nmore', "line 3 column 1: text after the end"),
        ('[{"a": "x\ny"}]', "line 1 column 10: Invalid control character"),
        ("[{'a': 1}]", "line 1 column 3"),
        ("[" * 100_000, "nested more deeply"),
    ],
)
def test_what_is_no_array_is_refused_with_its_place(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(FileUnreadable, match=re.escape(part)):
        list(read_rows(saved(tmp_path, text)))


def test_wrong_encodings_are_named_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match=r"line 2 byte 8: not UTF-8 text \(0xe9\)"):
        list(read_rows(saved(tmp_path, '[\n{"a": "é"}]'.encode("latin-1"))))
    with pytest.raises(FileUnreadable, match="UTF-16"):
        list(read_rows(saved(tmp_path, '[{"a": 1}]'.encode("utf-16"))))


def test_a_byte_order_mark_is_a_finding(tmp_path: Path) -> None:
    rows, found = read(saved(tmp_path, b'\xef\xbb\xbf[{"a": 1}]'))
    assert rows == [{"a": 1}]
    assert [f.code for f in found] == ["byte-order-mark"]


def test_repeated_keys_are_reported_for_their_element_and_the_last_is_read(tmp_path: Path) -> None:
    rows, found = read(saved(tmp_path, '[{"a": 1}, {"a": 1, "a": 2, "b": {"c": 1, "c": 1}}, {"a": 3}]'))
    assert rows == [{"a": 1}, {"a": 2, "b": {"c": 1}}, {"a": 3}]
    assert [f.code for f in found] == ["repeated-key"]
    assert "element 2" in str(found[0].where)


def test_elements_that_are_no_objects_are_reported_and_left_out(tmp_path: Path) -> None:
    rows, found = read(saved(tmp_path, '[{"a": 1}, 5, "x", null, [1], {"a": 2}]'))
    assert rows == [{"a": 1}, {"a": 2}]
    assert [f.message for f in found] == [f"expected an object, got {k}" for k in ("int", "str", "NoneType", "list")]


def test_numbers_beyond_the_interpreter_are_kept_as_text(tmp_path: Path) -> None:
    digits = "7" * (sys.get_int_max_str_digits() + 1)
    rows, found = read(saved(tmp_path, f'[{{"a": {digits}}}, {{"a": -{digits}}}, {{"a": 12}}]'))
    assert rows == [{"a": digits}, {"a": f"-{digits}"}, {"a": 12}]
    assert isinstance(rows[0]["a"], HugeNumber)
    assert [f.code for f in found] == ["huge-number", "huge-number"]


def test_nan_and_infinity_are_read_as_json_readers_do(tmp_path: Path) -> None:
    rows, _ = read(saved(tmp_path, '[{"a": NaN, "b": -Infinity, "c": 1e999}]'))
    assert rows[0]["a"] != rows[0]["a"]
    assert (rows[0]["b"], rows[0]["c"]) == (float("-inf"), float("inf"))


def test_deep_nesting_is_a_finding_before_anything_prints_it(tmp_path: Path) -> None:
    deep, fine = "[" * 40 + "]" * 40, "[" * 20 + "]" * 20
    rows, found = read(saved(tmp_path, f'[{{"a": {deep}}}, {{"a": {fine}}}]'))
    assert len(rows) == 1
    assert [f.code for f in found] == ["nested-too-deeply"]


def test_json_lines_are_read_with_blank_lines_and_a_mark(tmp_path: Path) -> None:
    path = saved(tmp_path, '\ufeff{"a": 1}\n\n  {"a": 2, "a": 3}  \r\n7\n', "rows.jsonl")
    rows, found = read(path)
    assert rows == [{"a": 1}, {"a": 3}]
    assert [(f.code, str(f.where).rpartition(" line ")[2]) for f in found] == [
        ("repeated-key", "3"),
        ("not-an-object", "4"),
    ]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"a": }', "line 2 column 7"),
        ('{"a": 1} x', "line 2 column 9: text after"),
        ('{"a": ' + "[" * 99_999, "nested too"),
    ],
)
def test_a_broken_json_line_is_named(tmp_path: Path, line: str, part: str) -> None:
    with pytest.raises(FileUnreadable, match=part):
        list(read_rows(saved(tmp_path, '{"a": 1}\n' + line, "rows.ndjson")))


def test_csv_cells_may_hold_quotes_commas_and_line_breaks(tmp_path: Path) -> None:
    text = '\ufeffqID,content,latency\nq1,"Clip, ""Sponge""\nand more",1.5\nq2,,\n'
    rows, found = read(saved(tmp_path, text, "rows.csv"))
    assert rows == [{"qID": "q1", "content": 'Clip, "Sponge"\nand more', "latency": "1.5"}, {"qID": "q2"}]
    assert found == []


def test_a_csv_column_without_a_name_is_no_surplus_cell(tmp_path: Path) -> None:
    rows, found = read(saved(tmp_path, ",qID,content\n0,q1,yes\n", "rows.csv"))
    assert rows == [{"": "0", "qID": "q1", "content": "yes"}]
    assert found == []


def test_csv_lines_with_too_many_cells_are_reported(tmp_path: Path) -> None:
    rows, found = read(saved(tmp_path, "qID,content\nq1,Clip, Sponge\n", "rows.csv"))
    assert rows == [{"qID": "q1", "content": "Clip"}]
    assert [f.code for f in found] == ["too-many-cells"]


@pytest.mark.parametrize(
    ("text", "part"),
    [("qID,qID\n1,2\n", "column 'qID' appears twice"), ('qID,content\nq1,"open\n', "line 2: unexpected end")],
)
def test_a_broken_csv_file_is_refused(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(FileUnreadable, match=part):
        list(read_rows(saved(tmp_path, text, "rows.csv")))


def test_parquet_rows_lose_nan_but_no_zero(tmp_path: Path) -> None:
    pl.DataFrame({"id": ["a", "b"], "x": [0.0, float("nan")], "s": [["1a"], []]}).write_parquet(tmp_path / "r.parquet")
    assert read(tmp_path / "r.parquet")[0] == [{"id": "a", "x": 0.0, "s": ["1a"]}, {"id": "b", "x": None, "s": []}]
    with pytest.raises(FileUnreadable, match="not a Parquet file"):
        list(read_rows(saved(tmp_path, "no", "x.parquet")))


def test_absent_unknown_and_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="no such file"):
        list(read_rows(tmp_path / "absent.json"))
    with pytest.raises(FileUnreadable, match=r"unknown kind of file '.txt'"):
        list(read_rows(saved(tmp_path, "x", "rows.txt")))
    (tmp_path / "folder.json").mkdir()
    for folder in (tmp_path / "folder.json", tmp_path):
        with pytest.raises(FileUnreadable, match="a folder; name the file in it"):
            list(read_rows(folder))


def test_rows_are_written_as_official_files_are(tmp_path: Path) -> None:
    write_json_rows([{"qID": "ä", "content": "x"}], tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == '[\n  {\n    "qID": "ä",\n    "content": "x"\n  }\n]'
    assert read(write_json(tmp_path / "b.json", [{"a": 1}]))[0] == [{"a": 1}]


@pytest.mark.parametrize(
    "rows", [[], [{}], [{"qID": "a\u2028é", "list": [1, {"b": []}]}, {"text": "line\nbreak", "x": None}]]
)
def test_rows_are_written_as_one_array_whether_they_come_at_once_or_one_by_one(rows, tmp_path):
    write_json_rows(iter(rows), tmp_path / "rows.json")
    assert (tmp_path / "rows.json").read_text(encoding="utf-8") == json_text(rows, indent=2)
