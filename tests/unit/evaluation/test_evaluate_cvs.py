"""The Endoscapes benchmark: scikit-learn, the folder of the data set, the leaderboards, and bad input."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk
from typer.testing import CliRunner

import surgvalid
from data_set_files import endoscapes2023, endoscapes_image, put_json
from surgvalid.cli import build_app
from surgvalid.datasets.sets.endoscapes2023 import CRITERIA
from surgvalid.errors import InputInvalid, Misuse, UnknownName

CODES = ("C1", "C2", "C3")


def rated(seed: int = 0) -> dict:
    rng = np.random.default_rng(seed)
    at = {"video": np.repeat(["162", "163", "164"], 20), "frame": np.tile(np.arange(20) * 125, 3)}
    return {**at, **{code: rng.integers(0, 4, 60) / 3 for code in CODES}}


def scored(seed: int = 1) -> dict:
    rng = np.random.default_rng(seed)
    return {**{key: rated()[key] for key in ("video", "frame")}, **{code: rng.random(60) for code in CODES}}


def test_both_metrics_equal_scikit_learn_per_criterion_and_mean() -> None:
    result = surgvalid.evaluate("cvs", scored(), rated(), replicates=50)
    truth = {code: rated()[code] > 0.5 for code in CODES}
    precision = [sk.average_precision_score(truth[code], scored()[code]) for code in CODES]
    accuracy = [sk.balanced_accuracy_score(truth[code], scored()[code] >= 0.5) for code in CODES]
    found = {metric: rows["value"].to_list() for (metric,), rows in result.per_class.group_by("metric")}
    assert found["ap"] == pytest.approx(precision)
    assert found["balanced_accuracy"] == pytest.approx(accuracy)
    assert result.value("cvs_map") == pytest.approx(np.mean(precision))
    assert result.value("cvs_bacc") == pytest.approx(np.mean(accuracy))
    assert result.per_class["class"].to_list() == [*CRITERIA, *CRITERIA]


def test_this_run_stands_on_the_board_in_percent_beside_marked_rows() -> None:
    result = surgvalid.evaluate("cvs", scored(), rated(), model="mine", replicates=50)
    board = result.tables["board_cvs"]
    own = board.filter(source="this run, incomplete").row(0, named=True)
    assert own["model"] == "mine"
    assert own["map_mean"] == pytest.approx(100 * result.value("cvs_map"), abs=0.05)
    assert own["bacc_C3"] == pytest.approx(100 * result.per_class["value"][5], abs=0.05)
    assert board["mark"].str.contains("its parts give").sum() == 3
    assert result.boards == ("board_cvs",)


def test_columns_may_carry_names_prefixes_or_a_single_table() -> None:
    whole = surgvalid.evaluate("cvs", scored(), rated(), replicates=10)
    named = dict(zip(CODES, CRITERIA, strict=True))
    predictions = {f"score:{named[key]}" if key in named else key: column for key, column in scored().items()}
    single = {**scored(), **{f"reference:{code}": rated()[code] for code in CODES}}
    for given in ((predictions, rated()), (single, None)):
        assert surgvalid.evaluate("cvs", *given, replicates=10).metrics.equals(whole.metrics)


def test_the_order_of_rows_changes_nothing_and_strata_are_reported() -> None:
    frame = pl.DataFrame(rated()).with_columns(smoke=pl.Series([0, 1] * 30))
    whole = surgvalid.evaluate("cvs", scored(), frame, by=["smoke"], replicates=10)
    turned = surgvalid.evaluate("cvs", pl.DataFrame(scored()).reverse(), frame, by=["smoke"], replicates=10)
    assert turned.metrics.equals(whole.metrics)
    assert whole.per_stratum.select("stratum_value", "metric", "cases").rows() == [
        ("0", "cvs_map", 30), ("0", "cvs_bacc", 30), ("1", "cvs_map", 30), ("1", "cvs_bacc", 30)
    ]  # fmt: skip


def test_frames_that_nobody_rated_are_left_aside_and_counted() -> None:
    extra = pl.concat([pl.DataFrame(scored()), pl.DataFrame(scored()).with_columns(pl.col("frame") + 25)])
    result = surgvalid.evaluate("cvs", extra, rated(), replicates=10)
    assert any(note.startswith("60 frames with scores were not rated") for note in result.notes)
    assert result.metrics.equals(surgvalid.evaluate("cvs", scored(), rated(), replicates=10).metrics)


def test_scores_at_1_fps_numbering_are_refused_with_the_reason() -> None:
    wrong = pl.DataFrame(scored()).with_columns(pl.col("frame") // 25)
    with pytest.raises(InputInvalid, match="references step by 125 and predictions by 5"):
        surgvalid.evaluate("cvs", wrong, rated())


def test_logits_need_a_threshold() -> None:
    logits = {key: column * 8 - 4 if key in CODES else column for key, column in scored().items()}
    with pytest.raises(InputInvalid, match="0 for logits"):
        surgvalid.evaluate("cvs", logits, rated())
    result = surgvalid.evaluate("cvs", logits, rated(), threshold=0.0, replicates=10)
    assert result.metrics["value"].to_list() == pytest.approx(
        surgvalid.evaluate("cvs", scored(), rated(), replicates=10).metrics["value"].to_list()
    )
    assert "from a score of 0 on" in result.conventions["cvs_bacc"]["conventions"]["threshold"]


def test_every_missing_criterion_and_wrong_label_is_named() -> None:
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("cvs", {key: column for key, column in scored().items() if key != "C2"}, {"video": ["1"]})
    assert len(caught.value.problems) == 4
    with pytest.raises(InputInvalid, match="is there twice"):
        surgvalid.evaluate("cvs", {**scored(), "score:C1": [0.5] * 60}, rated())
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("cvs", {**scored(), "C1": ["x"] * 60}, {**rated(), "C2": [2.0] * 60, "C3": [0.5] * 60})
    assert len(caught.value.problems) == 3


def test_nothing_to_evaluate_and_unknown_names_are_misuse() -> None:
    with pytest.raises(Misuse, match="nothing to evaluate"):
        surgvalid.evaluate("cvs", None, rated())
    with pytest.raises(UnknownName):
        surgvalid.evaluate("cvs", scored(), rated(), split="tset")
    with pytest.raises(UnknownName):
        surgvalid.evaluate("cvs", scored(), rated(), metrics=["segm_map"])
    with pytest.raises(Misuse, match="--box-references"):
        surgvalid.evaluate("cvs", scored(), rated(), boxes=[])
    with pytest.raises(Misuse, match="give --predictions"):
        surgvalid.evaluate("cvs", None, None, boxes=[], by=["smoke"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tiny data set with three rated frames in two test videos, of which two have boxes and masks."""
    root = tmp_path / "endoscapes"
    endoscapes2023(root)
    categories = json.loads((root / "test/annotation_coco.json").read_text())["categories"]
    images = [endoscapes_image(v, f, rated=True, boxed=True, ds=[v % 2 * 1.0, 1 / 3, 2 / 3]) for v, f in
              ((162, 125), (162, 250), (163, 125))]  # fmt: skip
    square = [[10, 20, 40, 20, 40, 60, 10, 60]]
    objects = [
        {
            "id": n,
            "image_id": one["id"],
            "category_id": 3,
            "bbox": [10, 20, 30, 40],
            "segmentation": square,
            "area": 1200,
        }
        for n, one in enumerate(images)
    ]
    put_json(root / "test/annotation_ds_coco.json", {"images": images, "annotations": [], "categories": categories})
    coco = {"images": images, "annotations": objects, "categories": categories}
    put_json(root / "test/annotation_coco.json", coco)
    put_json(root / "test_seg/annotation_coco.json", coco)
    results = [{**one, "score": 0.9} for one in objects[:2]]
    (tmp_path / "results.json").write_text(json.dumps(results))
    rows = [{"video": one["video_id"], "frame": int(one["file_name"].split("_")[1][:-4])} for one in images]
    pl.DataFrame(rows).with_columns(C1=0.7, C2=0.2, C3=0.9).write_csv(tmp_path / "scores.csv")
    return root


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["evaluate", "cvs", *map(str, arguments)])


def test_the_verb_prints_all_three_boards(folder: Path) -> None:
    results = folder.parent / "results.json"
    out = folder.parent / "out"
    done = run("--predictions", folder.parent / "scores.csv", "--references", folder, "--boxes", results, "--masks",
               results, "--resamples", 20, "--model", "mine", "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    for title in ("board_cvs", "board_boxes", "board_masks"):
        assert title in done.stdout
        assert (out / f"{title}.csv").is_file()
    assert "its parts give 69.2" in done.stdout
    table = pl.read_csv(out / "metrics.csv")
    values = dict(table.select("metric", "value").rows())
    assert values["bbox_map"] == values["segm_map"] == values["seg50_bbox_map"] == pytest.approx(67 / 101)
    assert pl.read_csv(out / "board_masks.csv").filter(source="this run, incomplete")[
        "segm_tool"
    ].item() == pytest.approx(66.3)
    assert json.loads((out / "manifest.json").read_text())["given"]["boxes"].endswith("results.json")


def test_boxes_alone_need_no_scores(folder: Path) -> None:
    result = surgvalid.evaluate("cvs", None, folder, boxes=folder.parent / "results.json", replicates=10)
    assert result.metrics["metric"].to_list() == ["bbox_map"]
    assert result.scores.frame.select("case", "video", "metric").rows() == [
        ("162", "162", "bbox_map"),
        ("163", "163", "bbox_map"),
    ]


def test_records_given_as_options_are_not_written_into_the_manifest(folder: Path) -> None:
    records = json.loads((folder.parent / "results.json").read_text())
    result = surgvalid.evaluate("cvs", None, folder, boxes=records, replicates=10)
    assert result.request.options["boxes"] == {"in memory": "list"}
    assert result.value("bbox_map") == pytest.approx(67 / 101)


def test_labels_carried_forward_are_never_scored(folder: Path) -> None:
    filled = json.loads((folder / "test/annotation_ds_coco.json").read_text())
    filled["images"].append(endoscapes_image(163, 150, rated=False, boxed=False, ds=[1.0, 1.0, 1.0]))
    put_json(folder / "test/annotation_ds_coco.json", filled)
    with pytest.raises(InputInvalid, match="carried forward"):
        surgvalid.evaluate("cvs", folder.parent / "scores.csv", folder)


def test_another_split_is_not_compared(folder: Path) -> None:
    scores = pl.DataFrame({"video": [121], "frame": [125], "C1": [0.9], "C2": [0.9], "C3": [0.9]})
    result = surgvalid.evaluate("cvs", scores, folder, split="val", replicates=10)
    assert any("this run is of val" in text for text in result.warnings)
    assert result.tables["board_cvs"]["source"][-1] == "this run, incomplete"
    (folder / "test_seg/annotation_coco.json").unlink()
    with pytest.raises(InputInvalid, match=r"test_seg/annotation_coco\.json is missing"):
        surgvalid.evaluate("cvs", None, folder, masks=folder.parent / "results.json")
