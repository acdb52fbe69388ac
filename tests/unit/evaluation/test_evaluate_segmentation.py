"""Segmentation: hand-checked masks, scikit-learn, all formats, and bad input."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import surgvalid
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.mask_walk import masks_walked
from surgvalid.evaluation.predictions import mask_files
from surgvalid.evaluation.predictions.label_maps import read_label_map
from surgvalid.video.images import write_png

REFERENCE = {"u/0": [[1, 1, 0]], "u/1": [[0, 0, 0]], "v/0": [[1, 0, 0]]}
PREDICTION = {"u/0": [[0, 1, 1]], "u/1": [[0, 0, 0]], "v/0": [[1, 0, 0]]}


def maps(seed: int, labels: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"v{n % 2}/{n}": rng.integers(0, labels, (8, 9)).astype(np.uint8) for n in range(6)}


def test_overlap_of_binary_masks_is_as_counted_by_hand() -> None:
    result = surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, replicates=50)
    assert result.value("dsc") == pytest.approx((0.5 + 1 + 1) / 3)
    assert result.value("iou") == pytest.approx((1 / 3 + 1 + 1) / 3)
    strict = surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, empty="robust-mis", replicates=50)
    assert strict.value("dsc") == pytest.approx(0.75)
    assert strict.conventions["dsc"]["conventions"]["both masks empty"] == "not scored"
    assert result.scores is not None
    found = result.scores.frame.filter(pl.col("metric") == "dsc")
    assert found.select("case", "video", "value").rows() == [("u/0", "u", 0.5), ("u/1", "u", 1.0), ("v/0", "v", 1.0)]


def test_pooled_values_equal_scikit_learn() -> None:
    ours, theirs = maps(1), maps(2)
    result = surgvalid.evaluate("segmentation", theirs, ours, classes=[1, 2], replicates=20)
    left, right = (np.concatenate([side[name].ravel() for name in ours]) for side in (ours, theirs))
    expected = sk.jaccard_score(left, right, labels=[1, 2], average=None)
    assert result.value("miou_pooled") == pytest.approx(expected.mean())
    pooled = result.per_class.filter(pl.col("metric") == "iou_pooled")
    assert pooled["value"].to_list() == pytest.approx(expected.tolist())
    each = [sk.jaccard_score(ours[n].ravel(), theirs[n].ravel(), labels=[1, 2], average="macro") for n in ours]
    assert result.value("miou_per_image") == pytest.approx(np.mean(each))


def test_png_npz_and_rle_give_the_same_numbers(tmp_path: Path) -> None:
    ours, theirs = maps(3), maps(4)
    for side, own in (("ours", ours), ("theirs", theirs)):
        for name, labels in own.items():
            (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
            write_png(np.repeat(labels[..., None], 3, axis=2), tmp_path / side / f"{name}.png")
    np.savez(tmp_path / "theirs.npz", **theirs)
    records = []
    for name, labels in ours.items():
        for label in (1, 2):
            flat = (labels == label).T.ravel().astype(int).tolist()
            counts, state = [0], 0
            for bit in flat:
                if bit != state:
                    counts.append(0)
                    state = bit
                counts[-1] += 1
            records.append({"case": name, "class": label, "segmentation": {"size": [8, 9], "counts": counts}})
    (tmp_path / "ours.json").write_text(json.dumps(records))
    plain = surgvalid.evaluate("segmentation", theirs, ours, replicates=10).metrics
    assert surgvalid.evaluate("segmentation", tmp_path / "theirs", tmp_path / "ours", replicates=10).metrics.equals(
        plain
    )
    mixed = surgvalid.evaluate("segmentation", tmp_path / "theirs.npz", tmp_path / "ours.json", replicates=10)
    assert mixed.metrics.equals(plain)


def test_ignored_pixels_do_not_count() -> None:
    ours = {"u/0": [[1, 2, 255]], "v/0": [[1, 2, 255]]}
    theirs = {"u/0": [[1, 2, 1]], "v/0": [[1, 2, 2]]}
    result = surgvalid.evaluate("segmentation", theirs, ours, ignore=255, replicates=10)
    assert result.value("miou_pooled") == 1.0
    with pytest.raises(UnknownName, match="leave pixels out"):
        surgvalid.evaluate("segmentation", theirs, ours, ignore=255, metrics=["dsc_foreground"])


def test_strata_come_from_a_table_of_properties() -> None:
    table = {"case": list(REFERENCE), "smoke": ["yes", "no", "no"]}
    options = {"metrics": ["dsc"], "by": ["smoke"], "replicates": 10}
    result = surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, properties=table, **options)
    assert dict(result.per_stratum.select("stratum_value", "value").rows()) == {"yes": 0.5, "no": 1.0}
    with pytest.raises(Misuse, match="cannot report by video"):
        surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, by=["video"])
    framed = surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, properties=pl.DataFrame(table), **options)
    assert framed.per_stratum.equals(result.per_stratum)
    assert framed.request.options["properties"] == {"in memory": "DataFrame"}
    with pytest.raises(Misuse, match="--properties"):
        surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, **options)
    short = {"case": ["u/0"], "smoke": ["yes"]}
    with pytest.raises(InputInvalid, match="2 cases have no row"):
        surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, properties=short, **options)


def test_nsd_asks_for_its_tolerance() -> None:
    with pytest.raises(Misuse, match="tolerance_px"):
        surgvalid.evaluate("segmentation", PREDICTION, REFERENCE, metrics=["nsd_border"])
    found = surgvalid.evaluate(
        "segmentation", REFERENCE, REFERENCE, metrics=["nsd_border"], tolerance_px=1, replicates=10
    )
    assert found.value("nsd_border") == 1.0


def test_every_pair_that_does_not_fit_is_named() -> None:
    ours = {"u/0": np.zeros((2, 2), int), "u/1": np.zeros((2, 2), int), "u/2": np.full((2, 2), 9), "u/3": [[0]]}
    theirs = {"u/0": np.zeros((2, 3), int), "u/1": np.zeros((2, 2)), "u/2": np.zeros((2, 2), int), "u/4": [[0]]}
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("segmentation", theirs, ours, classes=[1])
    assert len(caught.value.problems) == 5


def test_masks_must_say_their_video() -> None:
    flat = {"8_25": [[1]], "9_50": [[1]]}
    with pytest.raises(InputInvalid, match="--patient-pattern"):
        surgvalid.evaluate("segmentation", flat, flat)
    result = surgvalid.evaluate("segmentation", flat, flat, video_pattern="^[0-9]+", replicates=10)
    assert result.per_video["video"].unique().sort().to_list() == ["8", "9"]


def test_bad_records_and_sources_are_refused(tmp_path: Path) -> None:
    square = {"size": [1, 2], "counts": [0, 2]}
    records = [3, {"segmentation": square}, {"case": "u/0", "class": 0, "segmentation": square}, {"case": "u/0"}]
    records += [{"video": "u", "frame": 1, "segmentation": square}] * 2
    (tmp_path / "bad.json").write_text(json.dumps(records))
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("segmentation", tmp_path / "bad.json", REFERENCE)
    assert len(caught.value.problems) == 5
    with pytest.raises(FileUnreadable, match="folder of PNG"):
        surgvalid.evaluate("segmentation", tmp_path / "masks.tif", REFERENCE)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputInvalid, match="no masks"):
        surgvalid.evaluate("segmentation", tmp_path / "empty", REFERENCE)
    with pytest.raises(Misuse, match="--references"):
        surgvalid.evaluate("segmentation", PREDICTION)


def test_polygons_state_the_size_of_their_image(tmp_path: Path) -> None:
    square = {"case": "u/0", "segmentation": [[1, 1, 3, 1, 3, 3, 1, 3]], "height": 4, "width": 5}
    (tmp_path / "p.json").write_text(json.dumps([square]))
    drawn = np.zeros((4, 5), np.uint8)
    drawn[1:3, 1:3] = 1
    result = surgvalid.evaluate("segmentation", tmp_path / "p.json", {"u/0": drawn}, replicates=10)
    assert result.value("dsc") == 1.0
    del square["height"]
    (tmp_path / "p.json").write_text(json.dumps([square, {**square, "segmentation": {"size": [9999, 99999]}}]))
    with pytest.raises(InputInvalid, match="polygons need the width and height") as caught:
        surgvalid.evaluate("segmentation", tmp_path / "p.json", {"u/0": drawn})
    assert len(caught.value.problems) == 2


def test_an_image_too_large_for_memory_is_refused(tmp_path: Path) -> None:
    runs = {"size": [90_000, 90_000], "counts": [90_000 * 90_000]}
    (tmp_path / "p.json").write_text(json.dumps([{"case": "u/0", "segmentation": runs}]))
    with pytest.raises(InputInvalid, match="larger than can be compared"):
        surgvalid.evaluate("segmentation", tmp_path / "p.json", {"u/0": np.zeros((2, 2), np.uint8)})


def test_pixels_of_every_instance_are_there_for_failure_analysis(tmp_path: Path) -> None:
    ours = {"u/0": np.array([[1, 1, 0, 2]]), "v/0": np.array([[0, 0, 0, 0]])}
    theirs = {"u/0": np.array([[7, 0, 0, 0]]), "v/0": np.array([[3, 3, 0, 0]])}
    result = surgvalid.evaluate("segmentation", theirs, ours, metrics=["mi_dsc"], replicates=10)
    assert result.tables["instances"].drop("conventions").rows() == [
        ("u/0", "u", 1, 7, 1, 1, 2),
        ("u/0", "u", 2, None, 0, 0, 1),
        ("v/0", "v", None, 3, 0, 2, 0),
    ]
    result.to_dir(tmp_path)
    assert (tmp_path / "instances.csv").is_file()
    assert (
        "instances"
        not in surgvalid.evaluate("segmentation", theirs, ours, metrics=["miou_pooled"], replicates=10).tables
    )


def test_how_often_a_rule_for_empty_masks_decided_is_said() -> None:
    result = surgvalid.evaluate(
        "segmentation", PREDICTION, REFERENCE, metrics=["dsc"], empty="robust-mis", replicates=10
    )
    assert any("Of 3 images: both masks empty in 1, only the reference empty in 0" in note for note in result.notes)
    assert "dsc: 1 of 3 images are not scored and in no mean." in result.notes


def test_strata_do_not_read_the_masks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, labels in maps(1).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_png(np.repeat(labels[..., None], 3, axis=2), tmp_path / f"{name}.png")
    reads: list[Path] = []

    def counted(path: Path, colours: object = None) -> np.ndarray:
        reads.append(path)
        return read_label_map(path)

    monkeypatch.setattr(mask_files, "read_label_map", counted)
    properties = {"case": list(maps(1)), "smoke": list("aabbcc"), "center": list("xyxyxy")}
    found = []
    for by in ([], ["smoke", "center"]):
        reads.clear()
        options = {"properties": properties, "by": by, "metrics": ["dsc_classes", "miou_per_image"], "classes": [1, 2]}
        surgvalid.evaluate("segmentation", tmp_path, tmp_path, replicates=10, **options)
        found.append(len(reads))
    assert found[0] == found[1] > 0


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.array([[10**12, 1]]), "'v/0': labels [1000000000000] are not within 0 and 65535"),
        (np.array([[2**63 + 5, 1]], dtype=np.uint64), "'v/0': labels [9223372036854775813] are not within"),
        (np.array([[-3, 1]]), "'v/0': labels [-3] are not within"),
        (np.zeros((0, 4), np.uint8), "'v/0': the reference is (0, 4) and has no pixels"),
    ],
)
def test_labels_that_no_picture_can_hold_are_named(labels: np.ndarray, said: str) -> None:
    side = {"u/0": np.array([[1, 0]]), "v/0": labels}
    for metrics in ([], ["mi_dsc"]):
        with pytest.raises(InputInvalid) as caught:
            surgvalid.evaluate("segmentation", side, side, metrics=metrics, replicates=10)
        assert said in "\n".join(caught.value.problems)


@pytest.mark.parametrize("stretch", [1, 20])
@pytest.mark.parametrize("ignore", [None, 3, 200])
def test_maps_of_8_bits_are_counted_as_larger_ones(ignore: int | None, stretch: int) -> None:
    rng, classes = np.random.default_rng(0), [1, 4, 2]
    ours = {f"v/{n}": rng.choice([0, 1, 2, 4] + [3] * (ignore == 3), (7, 9)) for n in range(20)}
    theirs = {name: rng.choice([0, 1, 2, 4], (7, 9)) for name in ours}
    small, large = (
        masks_walked(*({name: mask.astype(kind).repeat(stretch, axis=1) for name, mask in side.items()}
                       for side in (ours, theirs)), classes, ignore, {})
        for kind in (np.uint8, np.int32)
    )  # fmt: skip
    assert small.problems == large.problems == []
    for name in ("counts", "binary", "pixels"):
        assert np.array_equal(getattr(small, name), getattr(large, name))


def test_a_predicted_label_that_only_references_may_ignore_is_refused_in_8_bits_too() -> None:
    for kind in (np.uint8, np.int32):
        with pytest.raises(InputInvalid, match=r"undeclared labels \[3\]"):
            masks_walked({"v/0": np.ones((2, 2), kind)}, {"v/0": np.full((2, 2), 3, kind)}, [1], 3, {})


def several(seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    ours = {f"v{n % 6}/{n}": rng.integers(0, 4, (12, 16)).astype(np.uint8) for n in range(24)}
    theirs = {n: np.where(rng.random(m.shape) < 0.8, m, rng.integers(0, 4, m.shape)) for n, m in ours.items()}
    return ours, theirs


@pytest.mark.parametrize("name", ["dsc", "iou", "hd95_px"])
def test_a_metric_of_one_mask_asks_what_it_means_of_several_classes(name: str) -> None:
    ours, theirs = several()
    with pytest.raises(Misuse, match="say --metric"):
        surgvalid.evaluate("segmentation", theirs, ours, classes=[1, 2, 3], metrics=[name])


def test_means_over_classes_are_those_of_their_classes_and_of_shards() -> None:
    ours, theirs = several()
    options = {"classes": [1, 2, 3], "metrics": ["dsc_classes", "nsd_classes", "assd_classes_px"], "tolerance_px": 1}
    result = surgvalid.evaluate("segmentation", theirs, ours, **options)
    for name in options["metrics"]:
        classes = result.per_class.filter(pl.col("metric") == name)["value"]
        assert result.value(name) == pytest.approx(classes.mean())
    assert result.metrics["low"].null_count() == 0


def test_every_instrument_called_class_1_reaches_no_high_dsc_of_classes() -> None:
    ours, _ = several()
    merged = {name: (mask > 0).astype(np.uint8) for name, mask in ours.items()}
    with pytest.raises(InputInvalid, match="2, 3 are never predicted"):
        surgvalid.evaluate("segmentation", merged, ours, classes=[1, 2, 3], metrics=["dsc_classes"])
    read = surgvalid.evaluate("segmentation", merged, ours, classes=[1, 2, 3], metrics=["dsc_classes"], as_read=True)
    assert read.value("dsc_classes") < 0.4


def panoptic_maps() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Two objects of class 1 and one of class 2 in each of six images; one is missed in every second image."""
    ours, theirs = {}, {}
    for number in range(6):
        labels = np.zeros((12, 12), np.uint16)
        labels[1:5, 1:5], labels[1:5, 7:11], labels[7:11, 1:5] = 1001, 1002, 2001
        guess = np.roll(labels, 1, axis=1)
        guess[guess == 1002] = 1007 if number % 2 else 0
        ours[f"v{number % 3}/{number}"], theirs[f"v{number % 3}/{number}"] = labels, guess
    return ours, theirs


def test_panoptic_quality_of_coded_objects_and_of_classes() -> None:
    ours, theirs = panoptic_maps()
    result = surgvalid.evaluate(
        "segmentation", theirs, ours, instances=True, metrics=["panoptic_quality", "recognition_quality"]
    )
    iou = 12 / 20
    assert result.value("recognition_quality") == pytest.approx((9 / (9 + 3 / 2) + 1) / 2)
    assert result.value("panoptic_quality") == pytest.approx(iou * (9 / (9 + 3 / 2) + 1) / 2)
    assert result.records["conventions"]["panoptic_quality"]["conventions"]["class of a segment"] == "label // 1000"
    flat = [{name: one // 1000 for name, one in side.items()} for side in (theirs, ours)]
    of_classes = surgvalid.evaluate("segmentation", *flat, classes=[1, 2], metrics=["panoptic_quality"])
    classes = of_classes.tables["per_class"].filter(pl.col("metric") == "panoptic_quality")
    assert classes["value"].to_list() == pytest.approx([24 / 40 * 3 / 6, iou])  # of half the images 12 of 36 pixels


def test_distances_in_millimetres_need_the_size_of_a_pixel() -> None:
    ours, theirs = ({name: (one > 0).astype(np.uint8) for name, one in side.items()} for side in panoptic_maps())
    options = {"classes": [1], "metrics": ["hd95_classes_px", "hd95_classes_mm", "assd_classes_mm"]}
    with pytest.raises(Misuse, match="mm_per_px"):
        surgvalid.evaluate("segmentation", theirs, ours, **options)
    result = surgvalid.evaluate("segmentation", theirs, ours, mm_per_px=0.25, **options)
    assert result.value("hd95_classes_mm") == pytest.approx(result.value("hd95_classes_px") / 4)


@pytest.mark.parametrize(("labelled", "predicted"), [(255, 1), (1, 255), (255, 255)])
@pytest.mark.parametrize("declared", [[], [1], [255]])
def test_foreground_of_one_class_is_called_1_or_255(labelled: int, predicted: int, declared: list[int]) -> None:
    rng = np.random.default_rng(0)
    sides = [{f"{v}/{n}": (rng.random((9, 9)) < 0.4).astype(np.uint8) for v in "uvw" for n in range(4)} for _ in "ab"]
    plain = surgvalid.evaluate("segmentation", sides[1], sides[0], classes=[1], metrics=["dsc"]).value("dsc")
    ours, theirs = (
        {name: mask * n for name, mask in side.items()} for side, n in zip(sides, (labelled, predicted), strict=True)
    )
    result = surgvalid.evaluate("segmentation", theirs, ours, classes=declared, metrics=["dsc"])
    assert result.value("dsc") == plain
    changed = {labelled, predicted} - set(declared or [labelled])
    assert [one for one in result.notes if "the only one there is" in one] != [] or not changed


def test_numbers_of_predicted_masks_are_recoded_where_that_is_said() -> None:
    ours = {f"{v}/0": np.array([[0, 1, 2, 2]], np.uint8) for v in "uv"}
    theirs = {name: mask * 50 for name, mask in ours.items()}
    options = {"classes": [1, 2], "metrics": ["dsc_classes"]}
    with pytest.raises(InputInvalid, match=r"labels \[50, 100\] are not among .*: --format renamed=A:B"):
        surgvalid.evaluate("segmentation", theirs, ours, **options)
    assert surgvalid.evaluate("segmentation", theirs, ours, renamed="50:1+100:2", **options).value("dsc_classes") == 1.0
    with pytest.raises(Misuse, match="labels of masks are whole numbers, got tool"):
        surgvalid.evaluate("segmentation", theirs, ours, renamed="50:tool", **options)


@pytest.mark.parametrize(("name", "classes"), [("hd95_px", [1]), ("assd_classes_px", [1, 2])])
def test_distances_that_there_are_not_are_counted_and_the_mean_of_the_others_is_said(
    name: str, classes: list[int]
) -> None:
    whole = np.zeros((9, 12), np.uint8)
    whole[2:6, 2:6] = 1
    whole[7:, 8:] = classes[-1]
    ours = {f"v{n}/{n}": whole for n in range(6)}
    theirs = {case: whole if n else np.where(whole == classes[-1], 0, whole) for n, case in enumerate(ours)}
    result = surgvalid.evaluate("segmentation", theirs, ours, metrics=[name], classes=classes)
    said = " ".join(result.notes)
    missed, held = (1, 6) if len(classes) == 1 else (1, 12)
    assert f"{name}: {missed} of {held} have no distance, since one mask is empty" in said
    assert "the mean of the others is 0." in said
    assert result.value(name) > 1
    full = surgvalid.evaluate("segmentation", ours, ours, metrics=[name], classes=classes)
    assert "no distance" not in " ".join(full.notes)
