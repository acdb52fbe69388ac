"""The command line of evaluate: files, talk, refusals."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, WouldOverwrite


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["evaluate", *map(str, arguments)])


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    frame = pl.DataFrame({"patient": list("uuuvvv"), "frame": [0, 1, 2] * 2, "label": list("aabaab")})
    frame.write_csv(tmp_path / "references.csv")
    predicted = frame.rename({"label": "guess"}).with_columns(guess=pl.Series(list("aabbab")))
    (tmp_path / "predictions.json").write_text(json.dumps(predicted.to_dicts()))
    return tmp_path / "predictions.json", tmp_path / "references.csv"


def names(sides: tuple[Path, Path]) -> list[object]:
    columns = "reference=label,prediction=guess"
    return ["--predictions", sides[0], "--references", sides[1], "--unit", "patient", "--columns", columns]


def test_classification_writes_tables_conventions_and_a_manifest(sides: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("classification", *names(sides), "--resamples", 50, "--model", "net", "--out", out)
    assert result.exit_code == 0, result.output
    written = {path.name for path in out.iterdir()}
    assert written == {
        *("metrics.csv", "per_video.csv", "per_class.csv", "scores.parquet", "conventions.json", "methods.txt"),
        "sanity.csv",
        "manifest.json",
        "metrics.json",
        "statistics.parquet",
    }
    assert "accuracy" in result.stdout
    assert "note: Classes were taken from the data: a, b" in result.stderr
    manifest = json.loads((out / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["inputs"]] == ["predictions.json", "references.csv"]
    assert manifest["options"]["columns"] == {"reference": "label", "prediction": "guess", "video": "patient"}
    table = pl.read_parquet(out / "scores.parquet")
    assert table["model"].unique().to_list() == ["net"]
    assert table.filter(metric="correct")["value"].sum() == 5
    again = run("classification", *names(sides), "--out", out)
    assert isinstance(again.exception, WouldOverwrite)
    assert run("classification", *names(sides), "--resamples", 50, "--out", out, "--force").exit_code == 0


def test_the_score_table_can_go_on_to_the_other_verbs(sides: tuple[Path, Path], tmp_path: Path) -> None:
    run("classification", *names(sides), "--resamples", 50, "--out", tmp_path / "out")
    onward = CliRunner().invoke(
        build_app(), ["analyse", "interval", str(tmp_path / "out"), "--resample", "cluster", "--resamples", "50"]
    )
    assert onward.exit_code == 0
    assert "0.833" in onward.stdout


def test_json_holds_every_table(sides: tuple[Path, Path]) -> None:
    result = run("phases", *names(sides), "--metric", "phase_accuracy", "--resamples", 50, "--json")
    data = json.loads(result.stdout)
    assert data["metrics"][0]["value"] == pytest.approx(5 / 6)
    assert set(data) >= {"per_video", "per_class", "conventions", "prose", "notes"}


def test_equal_runs_give_equal_files(sides: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("phases", *names(sides), "--resamples", 50, "--out", tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_bad_input_is_one_deliberate_error(sides: tuple[Path, Path], tmp_path: Path) -> None:
    pl.read_csv(sides[1]).filter(pl.col("frame") > 0).write_csv(sides[1])
    assert isinstance(run("phases", *names(sides)).exception, InputInvalid)
    twice = ["--columns", "video=patient", "--unit", "patient"]
    assert isinstance(run("phases", "--predictions", sides[0], *twice).exception, Misuse)


def test_detection_reads_coco_files(tmp_path: Path) -> None:
    dataset = {
        "images": [{"id": 1, "file_name": "8_25.jpg"}, {"id": 2, "file_name": "9_50.jpg"}],
        "categories": [{"id": 1, "name": "tool"}],
        "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9]} for n in (1, 2)],
    }
    results = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 1.0}]
    (tmp_path / "gt.json").write_text(json.dumps(dataset))
    (tmp_path / "dt.json").write_text(json.dumps(results))
    files = ["--predictions", tmp_path / "dt.json", "--references", tmp_path / "gt.json"]
    out = tmp_path / "out"
    result = run("detection", *files, "--patient-pattern", "^([0-9]+)_", "--resamples", 20, "--out", out)
    assert result.exit_code == 0, result.exception
    assert {"coco_summary.csv", "metrics.csv", "per_class.csv"} <= {path.name for path in out.iterdir()}
    assert isinstance(run("detection", *files).exception, InputInvalid)


def test_tracking_reads_mot_folders(tmp_path: Path) -> None:
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        for video in ("a", "b"):
            (tmp_path / side / f"{video}.txt").write_text("1,1,0,0,5,5,1\n2,1,0,0,5,5,1\n")
    files = ["--predictions", tmp_path / "theirs", "--references", tmp_path / "ours"]
    result = run("tracking", *files, "--resamples", 20, "--json")
    assert json.loads(result.stdout)["metrics"][0]["value"] == pytest.approx(1.0)


def test_triplets_read_tables(tmp_path: Path) -> None:
    at = {"video": ["a", "a", "b", "b"], "frame": [0, 1, 0, 1]}
    references = {f"reference:{n}": [1, 0, 1, 0] if n == 0 else [0] * 4 for n in range(100)}
    scores = {f"score:{n}": [0.9, 0.1, 0.8, 0.2] for n in range(100)}
    pl.DataFrame({**at, **references, **scores}).write_csv(tmp_path / "t.csv")
    result = run("triplets", "--predictions", tmp_path / "t.csv", "--resamples", 20, "--json")
    assert {row["value"] for row in json.loads(result.stdout)["metrics"]} == {1.0}


def test_segmentation_reads_archives_of_masks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    masks = {f"v{n}/0": np.eye(4, dtype=np.uint8) for n in range(3)}
    np.savez(tmp_path / "masks.npz", **masks)
    files = ["--predictions", "masks.npz", "--references", "masks.npz"]
    out = tmp_path / "out"
    result = run("segmentation", *files, "--classes", "1", "--resamples", 20, "--out", out)
    assert result.exit_code == 0, result.exception
    assert pl.read_parquet(out / "scores.parquet")["value"].to_list() == [1.0] * 6
    assert isinstance(run("segmentation", *files, "--classes", "liver").exception, Misuse)
    pl.DataFrame({"case": list(masks), "smoke": ["yes", "no", "no"]}).write_csv(tmp_path / "smoke.csv")
    strata = ["--properties", "smoke.csv", "--by", "smoke", "--resamples", 20]
    assert run("segmentation", *files, *strata, "--out", out, "--force").exit_code == 0
    text = (out / "manifest.json").read_text()
    assert str(tmp_path) not in text
    assert [entry["file"] for entry in json.loads(text)["inputs"]] == ["masks.npz", "masks.npz", "smoke.csv"]


@pytest.mark.parametrize("kind", ["classification", "detection", "phases", "segmentation", "tracking", "triplets"])
def test_every_kind_says_what_is_missing(kind: str, tmp_path: Path) -> None:
    absent = ["--predictions", tmp_path / "no.json", "--references", tmp_path / "neither.json"]
    assert isinstance(run(kind, *absent).exception, FileUnreadable)


def detections(folder: Path, model: str, alarms: int, *, uneven: bool = False) -> list[object]:
    """Every object found, and so many detections per image where nothing is; the references and the results."""
    images = [{"id": n, "video": f"v{n % 8}"} for n in range(16)]
    objects = [{"id": n + 1, "image_id": n, "category_id": 1, "bbox": [10, 10, 20, 20]} for n in range(16)]
    truth = {"images": images, "categories": [{"id": 1, "name": "tool"}], "annotations": objects}
    found = [{"image_id": n, "category_id": 1, "bbox": [10, 10, 20, 20], "score": 0.9} for n in range(16)]
    wrong = [
        {"image_id": n, "category_id": 1, "bbox": [100 + 30 * extra, 60, 10, 10], "score": 0.8}
        for n in range(16)
        for extra in range(alarms + (n % 2) + (n % 3 if uneven and alarms else 0))
    ]
    (folder / "references.json").write_text(json.dumps(truth))
    (folder / f"{model}.json").write_text(json.dumps(found + wrong))
    return ["--predictions", folder / f"{model}.json", "--references", folder / "references.json"]


def test_the_model_with_fewer_false_alarms_wins_in_every_verb(tmp_path: Path) -> None:
    for model, alarms in (("calm", 0), ("noisy", 2)):
        options = detections(tmp_path, model, alarms, uneven=True)
        given = [
            "--metric",
            "false_alarms_per_image",
            "--unit",
            "video",
            "--resamples",
            20,
            "--out",
            tmp_path / model,
        ]
        assert run("detection", *options, *given).exit_code == 0
    folders = [str(tmp_path / "calm"), str(tmp_path / "noisy")]
    compared = CliRunner().invoke(
        build_app(), ["analyse", "compare", *folders, "calm", "noisy", "--resamples", "50", "--json"]
    )
    assert json.loads(compared.stdout)["rows"][0]["favours"] == "calm"
    ranked = CliRunner().invoke(
        build_app(), ["rank", *folders, "--rule", "mean-then-rank", "--resamples", "0", "--json"]
    )
    assert {row["model"]: row["rank"] for row in json.loads(ranked.stdout)["ranks"]} == {"calm": 1, "noisy": 2}
    page = tmp_path / "report.html"
    assert CliRunner().invoke(build_app(), ["report", str(tmp_path), "--out", str(page)]).exit_code == 0
    assert "calm is better than noisy" in page.read_text(encoding="utf-8")


def test_a_metric_of_whole_videos_that_was_asked_for_is_in_the_score_table(tmp_path: Path) -> None:
    for model, guess in (("steady", "aaabbb"), ("restless", "abaabb")):
        videos = [name for name in "uvwxyz" for _ in range(6)]
        frame = {"video": videos, "second": [*range(6)] * 6, "reference": list("aaabbb") * 6}
        guesses = [*guess] * 5 + ["a", "b", "a", "b", "a", "b"] if model == "restless" else [*guess] * 6
        pl.DataFrame({**frame, "prediction": guesses}).write_csv(tmp_path / f"{model}.csv")
        given = ["--metric", "flicker_per_min", "--resamples", 20, "--out", tmp_path / model]
        assert run("phases", "--predictions", tmp_path / f"{model}.csv", *given).exit_code == 0
    folders = [str(tmp_path / "steady"), str(tmp_path / "restless")]
    for chosen in ([], ["--metric", "flicker_per_min"]):
        found = CliRunner().invoke(
            build_app(), ["analyse", "compare", *folders, "steady", "restless", *chosen, "--json"]
        )
        row = json.loads(found.stdout)["rows"][0]
        assert (row["metric"], row["favours"], row["value_a"]) == ("flicker_per_min", "steady", 0.0)
    found = CliRunner().invoke(
        build_app(), ["analyse", "compare", *folders, "steady", "restless", "--metric", "correct", "--json"]
    )
    assert json.loads(found.stdout)["rows"][0]["value_a"] == 1.0


def test_the_pooled_value_of_evaluate_is_that_of_every_later_verb(tmp_path: Path) -> None:
    for model, alarms in (("calm", 0), ("noisy", 2)):
        options = detections(tmp_path, model, alarms)
        truth = json.loads((tmp_path / "references.json").read_text())
        for place, image in enumerate(truth["images"]):
            image["video"] = f"v{max(0, place + 6 - len(truth['images']))}"
        (tmp_path / "references.json").write_text(json.dumps(truth))
        chosen = ["--metric", "false_alarms_per_image", "--unit", "video", "--resamples", 20]
        assert run("detection", *options, *chosen, "--out", tmp_path / model).exit_code == 0
    folders = [str(tmp_path / "calm"), str(tmp_path / "noisy")]
    values = [pl.read_csv(f"{folder}/metrics.csv")["value"].item() for folder in folders]
    assert values == [0.5, 2.5]
    assert [pl.read_parquet(f"{folder}/scores.parquet")["value"].mean() for folder in folders] != pytest.approx(values)
    listed = json.loads((tmp_path / "calm" / "manifest.json").read_text())["outputs"]
    assert "statistics.parquet" in [entry["file"] for entry in listed]
    compared = CliRunner().invoke(
        build_app(), ["analyse", "compare", *folders, "calm", "noisy", "--out", str(tmp_path / "c"), "--json"]
    )
    row = json.loads(compared.stdout)["rows"][0]
    assert [row["value_a"], row["value_b"], row["difference"]] == pytest.approx([0.5, 2.5, -2.0], abs=1e-12)
    read = json.loads((tmp_path / "c" / "manifest.json").read_text())["inputs"]
    assert [entry["file"] for entry in read] == ["scores.parquet", "metrics.json", "statistics.parquet"] * 2
    alone = CliRunner().invoke(build_app(), ["analyse", "interval", f"{folders[1]}/scores.parquet", "--json"])
    assert json.loads(alone.stdout)["rows"][0]["value"] == pytest.approx(2.5, abs=1e-12)


def test_a_folder_without_a_kind_is_told_as_the_command_that_it_means(tmp_path: Path) -> None:
    (tmp_path / "gt.csv").write_text("video,frame,reference\n" + "".join(f"v{n % 5},{n},a\n" for n in range(20)))
    (tmp_path / "results.csv").write_text("video,frame,prediction\n" + "".join(f"v{n % 5},{n},a\n" for n in range(20)))
    both = run(tmp_path)
    assert isinstance(both.exception, Misuse)
    assert "surgvalid evaluate phases --predictions" in str(both.exception)
    assert "surgvalid evaluate classification --predictions" in str(both.exception)
    result = run(tmp_path, "--fps", 1, "--resamples", 20)  # which only phases have
    assert result.exit_code == 0, result.output
    command = f"surgvalid evaluate phases --predictions {tmp_path}/results.csv --references {tmp_path}/gt.csv --fps 1"
    assert f"means: {command}" in result.stderr


def test_a_folder_whose_references_nothing_names_is_asked_about(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("video,frame,label\n")
    result = run(tmp_path)
    assert isinstance(result.exception, Misuse)
    assert "which are the references" in str(result.exception)


def test_several_models_in_a_folder_are_named_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "references.json").write_text('{"images": [], "annotations": [], "categories": []}')
    for name in ("net", "base"):
        (tmp_path / f"{name}.json").write_text("[]")
    result = run(tmp_path)
    assert isinstance(result.exception, Misuse)
    assert str(result.exception).count("surgvalid evaluate detection") == 2
