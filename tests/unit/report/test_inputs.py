"""What is read of a folder, and what becomes of parts that are broken, hostile or not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from report_folder import HOSTILE_NAME, MODELS, shared_challenge
from surgvalid.errors import FileUnreadable, Misuse, TableInvalid
from surgvalid.report.inputs import read_inputs, stacked
from surgvalid.results import reading
from surgvalid.schema.tables.score_table import ScoreTable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(shared_challenge(), tmp_path / "copy"))


def messages(path: Path) -> str:
    return "\n".join(finding.message for finding in read_inputs(path).findings)


def test_every_part_of_a_challenge_is_found_with_its_tables() -> None:
    found = read_inputs(shared_challenge())
    assert found.findings == ()
    verbs = {part.label: part.kind for part in found.parts}
    assert verbs["rank"] == "rank"
    assert verbs["failures"] == "failures"
    assert verbs["floors"] == "floors"
    assert verbs["questions"] == "questions"
    assert sum(verb == "score" for verb in verbs.values()) == len(MODELS)
    rank = found.first("rank")
    assert rank is not None
    assert {"places", "buckets", "pairs", "stability"} <= set(rank.tables)
    assert rank.prose.startswith("5 models were ranked")
    assert found.models == [model.name for model in MODELS]
    assert found.metric == "correct"
    assert len(found.procedures) == 20


def test_names_of_models_stay_text_even_where_they_look_like_numbers(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text(
        "board,model,place,copeland,dominated,dominated_by,macro_accuracy,win_rate,baseline\n"
        "technical,007,1,0,0,0,0.5,,false\n"
    )
    part = read_inputs(tmp_path).first("rank")
    assert part is not None
    assert part.frame("places")["model"].to_list() == ["007"]


def test_a_part_without_manifest_is_recognised_and_said_to_lack_it(folder: Path) -> None:
    (folder / "rank" / "manifest.json").unlink()
    found = read_inputs(folder)
    assert found.first("rank") is not None
    assert "rank/manifest.json: missing or unreadable; read as a result of rank" in messages(folder)


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("rank/places.csv", "", "rank/places.csv: cannot be read"),
        ("rank/places.csv", "board,model\nx,y\n", "column 'place' is missing"),
        ("rank/buckets.csv", "\x00\x01\x02", "rank/buckets.csv"),
        ("rank/gate.json", "{", "rank/gate.json: is no JSON"),
        ("failures/effects.csv", "term,estimate\na,b\n", "failures/effects.csv: column"),
        ("failures/fit.json", "[" * 100_000, "failures/fit.json: is no JSON"),
        ("model-0/manifest.json", "\x00", "model-0/manifest.json: is no JSON"),
        ("model-1/scores.parquet", "PAR1 but not really", "model-1/scores.parquet: cannot be read"),
        ("model-2/verdicts.jsonl", "no\n{}\n[1]\n", "model-2/verdicts.jsonl: 2 lines are no JSON objects"),
    ],
)
def test_a_broken_file_is_left_out_with_a_reason_and_the_rest_stays(
    folder: Path, file: str, content: str, expected: str
) -> None:
    (folder / file).write_text(content)
    found = read_inputs(folder)
    assert expected in "\n".join(finding.message for finding in found.findings)
    assert len(found.parts) >= 10


def test_a_file_that_is_no_text_is_left_out(folder: Path) -> None:
    (folder / "rank" / "manifest.json").write_text('{"verb": "rank"}')  # one of 0.1.0, whose words stand beside it
    (folder / "rank" / "methods.txt").write_bytes(b"\xff\xfe\x00")
    assert "rank/methods.txt: cannot be read" in messages(folder)


def test_a_table_with_wrong_kinds_of_values_is_left_out(folder: Path) -> None:
    text = (folder / "rank" / "places.csv").read_text().replace("technical,atlas,1,", "technical,atlas,first,")
    (folder / "rank" / "places.csv").write_text(text)
    found = read_inputs(folder)
    assert "column 'place' holds something else than whole numbers" in found.findings[0].message
    rank = found.first("rank")
    assert rank is not None
    assert rank.frame("places").is_empty()
    assert not rank.frame("buckets").is_empty()


def test_one_bad_score_table_does_not_spoil_the_others(folder: Path) -> None:
    pl.DataFrame({"model": ["x"], "case": ["q"], "value": ["no number"]}).write_parquet(
        folder / "model-0" / "scores.parquet"
    )
    found = read_inputs(folder)
    assert found.scores is not None
    assert "atlas" not in found.scores.models
    assert len(found.scores.models) == len(MODELS) - 1
    assert "model-0/scores.parquet" in found.findings[0].message


def test_score_tables_that_name_two_videos_for_a_case_are_refused_together(tmp_path: Path) -> None:
    for number in (1, 2):
        own = tmp_path / f"m{number}"
        own.mkdir()
        frame = pl.DataFrame({"model": [f"m{number}"], "case": ["q"], "video": [f"v{number}"], "value": [1.0]})
        frame.write_parquet(own / "scores.parquet")
    found = read_inputs(tmp_path)
    assert found.scores is None
    assert "do not fit together" in found.findings[-1].message


def test_the_same_model_in_two_folders_is_noticed() -> None:
    table = ScoreTable.of({"model": ["a"], "case": ["q"], "video": ["v"], "value": [1.0]})
    with pytest.raises(TableInvalid, match="repeat"):
        stacked([table, table])


def test_stacking_gives_what_reading_all_at_once_gives() -> None:
    whole = ScoreTable.of(
        {"model": list("aabb"), "case": ["1", "2"] * 2, "video": ["v", "w"] * 2, "value": [1.0, 0.0, 0.0, 1.0]}
    )
    parts = [ScoreTable.of(whole.frame.filter(pl.col("model") == model)) for model in "ab"]
    together = stacked(parts)
    assert together is not None
    assert together.frame.equals(whole.frame)
    assert together.has_videos
    without = ScoreTable.of({"model": ["c"], "case": ["3"], "value": [1.0]})
    mixed = stacked([*parts, without])
    assert mixed is not None
    assert not mixed.has_videos


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere"
    shutil.copytree(folder / "rank", secret)
    shutil.rmtree(folder / "rank")
    (folder / "rank").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    (folder / "failures" / "effects.csv").unlink()
    (folder / "failures" / "effects.csv").symlink_to(secret / "places.csv")
    found = read_inputs(folder)
    assert found.first("rank") is None
    assert "2 links were not followed" in messages(folder)
    failures = found.first("failures")
    assert failures is not None
    assert "effects" not in failures.tables


def test_depth_and_number_of_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "a" / "b" / "c" / "d" / "e"
    deep.mkdir(parents=True)
    shutil.copytree(shared_challenge() / "rank", tmp_path / "rank")
    shutil.copytree(shared_challenge() / "rank", deep / "rank")
    assert "folders below were not looked at (deeper than 4)" in messages(tmp_path)
    assert len(read_inputs(tmp_path).parts) == 1
    monkeypatch.setattr(reading, "MOST_FOLDERS", 3)
    assert "further folders were not looked at" in messages(tmp_path)


def test_a_file_of_absurd_size_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 3_000)
    assert "more than is read" in messages(folder)


def test_names_of_files_cannot_hide_what_they_are(folder: Path) -> None:
    shutil.copytree(folder / "rank", folder / "a\u202egnp\n</script>")
    (folder / "a\u202egnp\n</script>" / "gate.json").write_text("{")
    text = messages(folder)
    assert "a�gnp </script>/gate.json" in text
    assert "\u202e" not in text


def test_a_rehearsal_beside_a_challenge_is_no_model_of_it(folder: Path) -> None:
    shutil.copytree(folder / "model-0", folder / "rehearsal" / "scores")
    frame = pl.read_parquet(folder / "model-0" / "scores.parquet").with_columns(model=pl.lit("rehearsal"))
    frame.write_parquet(folder / "rehearsal" / "scores" / "scores.parquet")
    (folder / "rehearsal" / "manifest.json").write_text(json.dumps({"verb": "rehearse"}))
    assert "rehearsal" not in read_inputs(folder).models


def test_results_with_a_manifest_beside_them_are_found(tmp_path: Path) -> None:
    pl.DataFrame({"model": ["a"], "value": [0.5], "low": [0.4], "high": [0.6]}).write_csv(tmp_path / "out.csv")
    manifest = {"verb": "interval", "notes": ["What was done."]}
    (tmp_path / "out.manifest.json").write_text(json.dumps(manifest))
    part = read_inputs(tmp_path).parts[0]
    assert (part.kind, part.prose, part.frame("result").height) == ("interval", "What was done.", 1)


def test_a_plain_table_can_be_reported_by_itself_or_in_a_folder(tmp_path: Path) -> None:
    table = pl.DataFrame({"model": ["a", "b"], "case": ["1", "1"], "video": ["v", "v"], "value": [0.5, 0.7]})
    table.write_csv(tmp_path / "study.csv")
    for source in (tmp_path, tmp_path / "study.csv"):
        assert read_inputs(source).models == ["a", "b"]
    renamed = table.rename({"model": "algorithm"})
    renamed.write_csv(tmp_path / "other.csv")
    assert read_inputs(tmp_path / "other.csv", columns={"model": "algorithm"}).models == ["a", "b"]
    with pytest.raises(Misuse, match="single table"):
        read_inputs(tmp_path, columns={"model": "algorithm"})


def test_nothing_to_report_is_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="nothing to report; expected a folder"):
        read_inputs(tmp_path)
    with pytest.raises(FileUnreadable, match="no such folder or file"):
        read_inputs(tmp_path / "nowhere")


def test_a_hostile_name_is_read_as_it_is() -> None:
    assert HOSTILE_NAME in read_inputs(shared_challenge()).models
