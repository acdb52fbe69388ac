"""Verbs meet files and options that people really give: each says what is wrong and ends with code 2."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.cli import main

TABLE_VERBS = {
    "interval": ["analyse", "interval", "TABLE", "--resamples", "20"],
    "compare": ["analyse", "compare", "TABLE", "M0", "M1", "--resamples", "20"],
    "strata": ["analyse", "strata", "TABLE", "--by", "view", "--resamples", "20"],
    "aggregate": ["analyse", "aggregate", "TABLE"],
    "adjusted": ["analyse", "failures", "TABLE", "--form", "marginal", "--fixed", "view", "--resamples", "20"],
    "cooccurrence": [
        "analyse",
        "cooccurrence",
        "TABLE",
        "--primary",
        "view",
        "--secondary",
        "phase",
        "--resamples",
        "20",
    ],
    "dependence": ["analyse", "dependence", "TABLE", "--resamples", "20"],
    "ensembles": ["analyse", "ensembles", "TABLE", "--response", "view", "--resamples", "20"],
    "profiles": ["analyse", "profiles", "TABLE"],
    "rank": ["rank", "TABLE", "--rule", "mean-then-rank", "--resamples", "20"],
    "agreement": [
        "analyse",
        "agreement",
        "TABLE",
        "--model-column",
        "model",
        "--case",
        "case",
        "--label",
        "value",
        "--resamples",
        "20",
    ],
}
BAD_TABLES: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "empty.csv: "),
    "no_rows.csv": (b"model,case,value\n", "the table has no rows"),
    "binary.csv": (bytes(range(256)) * 8, "not UTF-8 text"),
    "binary.parquet": (bytes(range(256)) * 8, "binary.parquet: "),
    "foreign.csv": (b"a,b,c\nx,y,z\n", "the table has 'a'"),
    "utf16.csv": ("model,case,value\nA,q,1\n".encode("utf-16"), "not UTF-8 text but UTF-16; save it as UTF-8"),
    "tabs.csv": (b"model\tcase\tvalue\nA\tq\t1\n", "separated by tabs; save it with commas instead"),
    "twice.csv": (b"model,case,value,value\nA,q,1,0\nB,q,1,0\n", "column 'value' appears twice"),
    "ragged.csv": (b"model,case,value\nA,q,1\nB,q,1,0\n", "line 3 has 4 cells, but there are 3 columns"),
    "scores.xlsx": (b"PK", "not an xlsx workbook"),
    "scores.ods": (b"PK", "unknown kind of file '.ods'"),
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.csv"
    nested_frame().with_columns(phase=pl.col("view"), level=pl.col("view")).write_csv(path)
    return path


def outcome(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["surgvalid", *map(str, words)])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0), capsys.readouterr().err
    return 0, capsys.readouterr().err


def words_of(verb: str, table: Path) -> list[object]:
    return [table if word == "TABLE" else word for word in TABLE_VERBS[verb]]


@pytest.mark.parametrize("verb", TABLE_VERBS)
def test_good_input_is_taken(
    verb: str, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(monkeypatch, capsys, *words_of(verb, good))[0] == 0


@pytest.mark.parametrize("verb", TABLE_VERBS)
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_named_with_what_is_wrong(
    verb: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, said = BAD_TABLES[name]
    (tmp_path / name).write_bytes(content)
    code, text = outcome(monkeypatch, capsys, *words_of(verb, tmp_path / name))
    assert code == 2
    assert said in text
    assert text.count("\n") == 1, "one line, no traceback"


@pytest.mark.parametrize("verb", TABLE_VERBS)
def test_an_absent_table_and_a_folder_without_one_are_named(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, said in ((tmp_path / "absent.csv", "absent.csv: no such file"), (tmp_path, "scores.parquet: no such")):
        code, text = outcome(monkeypatch, capsys, *words_of(verb, place))
        assert (code, said in text) == (2, True)


SEEDED = [verb for verb in TABLE_VERBS if verb not in ("aggregate", "profiles")]


@pytest.mark.parametrize("verb", SEEDED)
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--seed", "-1", "seed must lie between 0 and 2**63 - 1, got -1"),
        ("--seed", str(10**30), "seed must lie between 0 and 2**63 - 1"),
        ("--resamples", "-3", "got -3"),
        ("--resamples", str(10**12), "10,000,000, got 1000000000000"),
    ],
)
def test_seeds_and_resamples_out_of_reach_are_misuse(
    verb: str,
    option: str,
    value: str,
    said: str,
    good: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = outcome(monkeypatch, capsys, *words_of(verb, good), option, value)
    assert (code, text.startswith("Misuse"), said in text) == (2, False, True)


@pytest.mark.parametrize("verb", [verb for verb in TABLE_VERBS if verb not in ("rank", "agreement")])
def test_an_unknown_rule_for_missing_scores_is_refused_though_nothing_is_missing(
    verb: str, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(monkeypatch, capsys, *words_of(verb, good), "--missing", "skip")
    assert (code, "unknown rule for missing scores 'skip'" in text) == (2, True)


@pytest.mark.parametrize("verb", ["interval", "compare", "dependence", "profiles"])
@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("view,view", "column 'view' is named twice"),
        ("level", "the result has a column 'level' of its own"),
        ("nope", "unknown column 'nope'"),
    ],
)
def test_columns_that_cannot_be_reported_by_are_refused(
    verb: str, by: str, said: str, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = outcome(monkeypatch, capsys, *words_of(verb, good), "--by", by)
    assert (code, said in text) == (2, True)


@pytest.mark.parametrize("bins", ["window_s=nan", "window_s=1:inf", "window_s=3:2"])
def test_bins_need_rising_finite_edges(
    bins: str, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.read_csv(good).with_columns(window_s=pl.lit(2.5))
    frame.write_csv(good)
    code, text = outcome(monkeypatch, capsys, "analyse", "strata", good, "--by", "window_s", "--bins", bins)
    assert (code, "must be rising, finite edges" in text) == (2, True)


FILE_VERBS = [verb for verb in TABLE_VERBS if verb not in ("rank", "adjusted")]  # these write folders


@pytest.mark.parametrize("verb", FILE_VERBS)
def test_the_table_that_is_read_is_never_written_over(
    verb: str, good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = good.read_bytes()
    code, text = outcome(monkeypatch, capsys, *words_of(verb, good), "--out", good, "--force")
    assert (code, "is read as a table too and would be lost" in text) == (2, True)
    assert good.read_bytes() == before


@pytest.mark.parametrize("verb", FILE_VERBS)
def test_an_output_file_that_cannot_be_written_is_misuse(
    verb: str, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.csv").mkdir()
    places = {"folder.csv": "is a folder", "no/such.csv": "does not exist", "a.txt": "unknown kind of file '.txt'"}
    for place, said in places.items():
        code, text = outcome(monkeypatch, capsys, *words_of(verb, good), "--out", tmp_path / place, "--force")
        assert (code, said in text) == (2, True)


def question_files(folder: Path) -> list[object]:
    request = {"qID": "q1", "videoID": "v1", "start_time": 0, "end_time": 0, "procedure_type": "x", "question": "Any?"}
    reference = {"qID": "q1", "primary": "event_aggregation", "format": "number", "answer": "1", "ood": False}
    for name, row in (("requests", request), ("references", reference), ("answers", {"qID": "q1", "content": "1"})):
        (folder / f"{name}.json").write_text(json.dumps([row]))
    return ["--requests", folder / "requests.json", "--references", folder / "references.json"]


def folder_verbs(folder: Path, good: Path) -> dict[str, list[object]]:
    questions = question_files(folder)
    answers = ["--responses", folder / "answers.json"]
    return {
        "score": ["score", *questions, *answers],
        "lint": ["score", "lint", *questions, *answers],
        "floors": ["score", "baselines", *questions],
        "rank": words_of("rank", good),
    }


@pytest.mark.parametrize("verb", ["score", "lint", "floors", "rank"])
def test_an_output_folder_that_cannot_be_made_is_misuse(
    verb: str, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = folder_verbs(tmp_path, good)[verb]
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "inside"):
        code, text = outcome(monkeypatch, capsys, *words, "--out", place)
        assert (code, "no folder can be made there" in text) == (2, True)


@pytest.mark.parametrize(
    ("verb", "name"), [("score", "targeted.csv"), ("floors", "templates.csv"), ("rank", "consensus.csv")]
)
def test_no_file_of_a_result_is_written_over_without_force(
    verb: str,
    name: str,
    good: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = folder_verbs(tmp_path, good)[verb]
    mine = tmp_path / "out" / name
    mine.parent.mkdir()
    mine.write_text("mine")
    code, text = outcome(monkeypatch, capsys, *words, "--out", mine.parent)
    assert (code, f"{name} exists already" in text, mine.read_text()) == (2, True, "mine")
    assert [path.name for path in mine.parent.iterdir()] == [name], "nothing else was written either"


def test_questions_without_any_reference_cannot_be_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*question_files(tmp_path), "--responses", tmp_path / "answers.json", "--out", tmp_path / "out"]
    (tmp_path / "references.json").write_text("[]")
    code, text = outcome(monkeypatch, capsys, "score", *words)
    assert (code, "none has a reference" in text) == (2, True)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (
            PermissionError(13, "Permission denied", "/x/scores.csv"),
            "/x/scores.csv: Permission denied; a file could not",
        ),
        (MemoryError(), "no memory is left; ask for less at once"),
    ],
)
def test_what_the_machine_refuses_is_said_in_one_line(
    failure: Exception,
    said: str,
    good: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr("surgvalid.stats.intervals.interval.interval", fail)
    code, text = outcome(monkeypatch, capsys, "analyse", "interval", good)
    assert (code, text.count("\n"), said in text) == (2, 1, True)


@pytest.mark.parametrize("profile", ["native", "orena-focus-0.4.0"])
def test_an_answer_that_no_file_can_hold_is_scored_and_written(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = question_files(tmp_path)
    free = {"qID": "q1", "primary": "event_aggregation", "format": "open_ended", "answer": "a clip", "ood": False}
    (tmp_path / "references.json").write_text(json.dumps([free]))
    (tmp_path / "answers.json").write_text(
        json.dumps([{"qID": "q1", "content": "\ud800"}, {"qID": "\udfff", "content": "1"}])
    )
    words = ["score", *questions, "--responses", tmp_path / "answers.json", "--profile", profile, "--judge", "exact"]
    code, text = outcome(monkeypatch, capsys, *words, "--out", tmp_path / "out", "--resamples", "10")
    assert code == 0, text
    assert json.loads((tmp_path / "out" / "verdicts.jsonl").read_text())["candidate"] == "\ud800"


@pytest.mark.parametrize("profile", ["native", "orena-focus-0.4.0"])
def test_questions_that_no_file_can_hold_are_refused(
    profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = question_files(tmp_path)
    for name in ("requests", "references"):
        path = tmp_path / f"{name}.json"
        path.write_text(path.read_text().replace("q1", "q\\ud800"))
    words = ["score", *questions, "--responses", tmp_path / "answers.json", "--profile", profile]
    code, text = outcome(monkeypatch, capsys, *words, "--out", tmp_path / "out")
    assert (code, "holds half a character" in text) == (2, True)


@pytest.mark.parametrize("name", ["", " ", "\udcff"])
def test_a_model_needs_a_name_that_tables_can_hold(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["score", *question_files(tmp_path), "--responses", tmp_path / "answers.json", "--model", name]
    code, text = outcome(monkeypatch, capsys, *words, "--out", tmp_path / "out")
    assert (code, "model must be a name" in text) == (2, True)


def test_names_cannot_steer_the_terminal(
    good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pl.read_csv(good).with_columns(pl.col("model").replace("M0", "\x1b[2JM0\u202e"))
    frame.write_csv(good)
    monkeypatch.setattr(sys, "argv", ["surgvalid", "rank", str(good), "--rule", "mean-then-rank", "--resamples", "0"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    printed = capsys.readouterr()
    assert "\\x1b[2JM0\\u202e" in printed.out
    assert "\x1b" not in printed.out + printed.err


def test_a_file_name_in_another_encoding_goes_into_the_manifest(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "caf\udce9.csv"
    odd.write_bytes(good.read_bytes())
    for out in ("interval.csv", "places"):
        verb = "rank" if out == "places" else "interval"
        code, text = outcome(monkeypatch, capsys, *words_of(verb, odd), "--out", tmp_path / out)
        assert code == 0, text
    for manifest in (tmp_path / "interval.manifest.json", tmp_path / "places" / "manifest.json"):
        assert json.loads(manifest.read_text())["inputs"][0]["file"] == odd.name
