"""References from the folder of a data set: which videos, which moments, which identity, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from data_set_files import BUILDERS, endoscapes_image, put_json, robust_mis, tracked_tool
from surgvalid.cli import build_app
from surgvalid.datasets import open_data_set
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.predictions.label_maps import read_label_map


@pytest.fixture
def built(tmp_path: Path) -> Any:
    def build(name: str) -> Path:
        root = tmp_path / name
        root.mkdir()
        {**BUILDERS, "robust_mis": robust_mis}[name](root)
        return root

    return build


def phases_at(seconds: list[float], **videos: list[Any]) -> pl.DataFrame:
    rows = [(v, second, label) for v, own in videos.items() for second, label in zip(seconds, own, strict=False)]
    return pl.DataFrame(rows, schema=["video", "second", "prediction"], orient="row")


def test_a_part_of_a_split_is_evaluated_alone(built: Any) -> None:
    frames = {"frame": [0, 25, 50], "prediction": ["Preparation"] * 3}
    one, two = ({"video": [video] * 3, **frames} for video in ("video01", "video41"))
    options = {"data_set": "cholec80", "rate_hz": 1.0, "replicates": 10}
    root = built("cholec80")
    result = surgvalid.evaluate("phases", one, root, split="camma 40/8/32:TRAIN", **options)
    assert result.value("phase_accuracy") == pytest.approx(2 / 3)
    said = result.conventions["phase_accuracy"]["conventions"]
    assert said["videos"].startswith(
        "camma 40/8/32:TRAIN, 1 of 40; without video02, video03, video04, video05, video06 and 34 more"
    )
    assert said["sampling"] == "1 references per second"
    assert "those of Cholec80 (Twinanda et al., EndoNet, IEEE" in result.prose
    named = surgvalid.evaluate("phases", two, root, split="camma 40/8/32:val", **options)
    assert named.value("phase_accuracy") == pytest.approx(2 / 3)
    listed = surgvalid.evaluate("phases", two, root, videos=["video41"], **options)
    assert listed.conventions["phase_accuracy"]["conventions"]["videos"] == "video41"
    with pytest.raises(InputInvalid, match="'video41' has references but no predictions"):
        surgvalid.evaluate("phases", one, root, **options)
    with pytest.raises(InputInvalid, match=r"1 of 1 videos have no references here \(video02\)"):
        surgvalid.evaluate("phases", one, root, videos=["video02"], **options)
    with pytest.raises(InputInvalid, match="32 of 32 videos have no references here"):
        surgvalid.evaluate("phases", one, root, split="camma 40/8/32:test", **options)
    with pytest.raises(
        Misuse, match=r"states no split 'endonet:test'; it states endonet 40/40:train, .* with --videos"
    ):
        surgvalid.evaluate("phases", one, root, split="endonet:test", **options)
    with pytest.raises(Misuse, match="--split and --videos"):
        surgvalid.evaluate("phases", one, root, split="train", videos=["video01"], **options)


def test_a_part_that_several_splits_have_must_be_named_in_full(built: Any) -> None:
    with pytest.raises(Misuse, match=r"7 splits have a part 'test'; say fold 1:test, fold 2:test"):
        surgvalid.evaluate("triplets", {"video": ["VID111"]}, built("cholect50"), data_set="cholect50", split="test")


def test_a_split_that_nobody_states_names_what_is_there(built: Any) -> None:
    for name, kind, stated in (
        ("multibypass140", "phases", "none"),
        ("robust_mis", "segmentation", "Stage_3, Training"),
        ("cholectrack20", "tracking", "test, train, folders:test, folders:train"),
    ):
        known = "heico" if name == "robust_mis" else name
        with pytest.raises(Misuse, match=f"{known} states no split 'final'; it states {stated}. List"):
            surgvalid.evaluate(kind, {}, built(name), data_set=known, split="final")


def test_numbering_by_seconds_under_the_name_of_frames_is_explained(built: Any) -> None:
    root, options = built("cholec80"), {"data_set": "cholec80", "replicates": 10}
    guess = {"video": ["video01"] * 3, "frame": [0, 1, 2], "prediction": ["Preparation"] * 3}
    with pytest.raises(InputInvalid, match="call their column 'second'"):
        surgvalid.evaluate("phases", guess, root, rate_hz=1.0, videos=["video01"], **options)
    with pytest.raises(FileUnreadable, match=r"in a folder .*; .* name a public data set with --data-set"):
        surgvalid.evaluate("phases", guess, root)


def test_every_second_of_videos_at_25_and_at_50_fps_is_joined_by_its_second(built: Any) -> None:
    predictions = phases_at([0, 1, 2, 3, 4], **{"Hei-Chole1": [0, 0, 0, 1, 1], "Hei-Chole16": [0, 0, 1]})
    options = {"data_set": "heichole", "task": "phase", "replicates": 10}
    root = built("heichole")
    result = surgvalid.evaluate("phases", predictions, root, rate_hz=1.0, **options)
    assert result.value("phase_accuracy") == 1.0
    assert result.notes[0] == "Labels per second: 1."
    with pytest.raises(InputInvalid, match="thinned with --rate-hz"):
        surgvalid.evaluate("phases", predictions, root, **options)


def test_frames_that_count_from_1_give_their_seconds_from_0(built: Any) -> None:
    seconds = [(frame - 1) / 30 for frame in range(80, 331)]
    root, trials, whole = built("jigsaws"), {}, {}
    for task, last in {"Suturing": "G5", "Knot_Tying": "G11", "Needle_Passing": "G5"}.items():
        for trial in ("B001", "B002", "C001"):
            trials[f"{task}_{trial}"] = ["G1"] * 131 + [last] * 120
            whole[f"{task}_{trial}"] = ["G1"] * 4 + [last] * 4
    result = surgvalid.evaluate("phases", phases_at(seconds, **trials), root, data_set="jigsaws", by=["surgery"])
    assert result.value("phase_accuracy") == 1.0
    assert result.per_stratum.filter(metric="phase_accuracy").height == 3
    seen = phases_at([3, 4, 5, 6, 7, 8, 9, 10], **whole)
    thinned = surgvalid.evaluate("phases", seen, root, data_set="jigsaws", rate_hz=1.0)
    assert thinned.value("phase_accuracy") == 1.0
    assert thinned.notes[0] == "9 videos of 2 surgeons: intervals leave out one surgeon at a time."


def mot(folder: Path, **videos: list[tuple[int, int, list[float]]]) -> Path:
    folder.mkdir(exist_ok=True)
    for video, rows in videos.items():
        lines = [f"{frame},{identity},{','.join(map(str, box))},1,0" for frame, identity, box in rows]
        (folder / f"{video}.txt").write_text("\n".join(lines))
    return folder


def track20(root: Path) -> Path:
    """One tool that leaves the body halfway, and comes back."""
    frames = {
        str(25 * n): [tracked_tool(intraoperative_track=1, intracorporeal_track=1 + n // 6, visibility_track=n // 3)]
        for n in range(12)
    }
    put_json(root / "testing" / "VID92" / "VID92.json", {"video": {"width": 854, "height": 480}, "annotations": frames})
    return root


@pytest.mark.parametrize(("perspective", "switches"), [("intraoperative", 3), ("intracorporeal", 2), ("visibility", 0)])
def test_an_identity_is_what_the_perspective_says(perspective: str, switches: int, tmp_path: Path) -> None:
    """A tracker that gives a new identity whenever the tool comes into view is right in one perspective only."""
    root = track20(tmp_path / "data")
    box = [0.1 * 854, 0.2 * 480, 0.3 * 854, 0.4 * 480]
    finest = mot(tmp_path / "finest", VID92=[(25 * n, n // 3, box) for n in range(12)])
    options = {"data_set": "cholectrack20", "perspective": perspective, "replicates": 10}
    result = surgvalid.evaluate("tracking", finest, root, **options)
    assert result.value("id_switches") == switches
    assert (result.value("hota") == pytest.approx(1.0)) is (perspective == "visibility")
    assert result.conventions["hota"]["conventions"]["identity"] == perspective
    assert result.value("deta") == pytest.approx(1.0), "pixels and shares of the image are one scale"


def test_tracks_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    root, options = track20(tmp_path / "data"), {"data_set": "cholectrack20", "perspective": "visibility"}
    pixels, every = [85.4, 96.0, 256.2, 192.0], range(300)
    theirs = mot(tmp_path / "theirs", VID92=[(n, 1, pixels) for n in every])
    with pytest.raises(InputInvalid, match="every 25th frame"):
        surgvalid.evaluate("tracking", theirs, root, **options)
    mot(theirs, VID92=[(0, 1, pixels)])
    with pytest.raises(Misuse, match="say which one counts with --perspective intraoperative or"):
        surgvalid.evaluate("tracking", theirs, root, data_set="cholectrack20")
    with pytest.raises(UnknownName, match="visibility"):
        surgvalid.evaluate("tracking", theirs, root, data_set="cholectrack20", perspective="visible")
    frames = {"annotations": {"0": [tracked_tool(), tracked_tool()]}}
    put_json(root / "testing" / "VID92" / "VID92.json", frames)
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("tracking", theirs, root, **options)
    text = "\n".join(caught.value.problems)
    assert "references of 'VID92': 1 identities twice in a frame (first: 3 in frame 0)" in text
    assert "boxes are in pixels, but the data set states no size" in text


def test_instances_are_no_classes(built: Any, tmp_path: Path) -> None:
    root, name = built("robust_mis"), "Stage_3/Sigmoid/4/1250/instrument_instances"
    guess = {name: read_label_map(root / f"{name}.png")}
    result = surgvalid.evaluate("segmentation", guess, root, data_set="heico", split="Stage_3", by=["surgery_type"])
    assert result.metrics["metric"].to_list() == ["mi_dsc", "dsc"]
    assert result.per_class.is_empty()
    assert not [note for note in result.notes if "Classes were taken" in note]
    assert result.per_stratum["stratum_value"].unique().to_list() == ["Sigmoid"]


def test_masks_of_endoscapes_belong_to_the_part_of_their_video(built: Any) -> None:
    root = built("endoscapes2023")
    guess = {"semseg/8_125": read_label_map(root / "semseg" / "8_125.png")}
    result = surgvalid.evaluate("segmentation", guess, root, data_set="endoscapes2023", split="train")
    assert result.value("dsc") == 1.0
    report = open_data_set("endoscapes2023").check(root, tasks=["masks"])
    assert report.counts.filter(what="cases in train").row(0) == ("masks", "cases in train", 1, 343)
    (root / "insseg" / "8_125.npy").rename(root / "insseg" / "999_125.npy")
    (root / "insseg" / "8_125.csv").rename(root / "insseg" / "999_125.csv")
    (root / "semseg" / "8_125.png").rename(root / "semseg" / "999_125.png")
    with pytest.raises(Misuse, match="endoscapes2023 states no split 'last'; it states official:train"):
        surgvalid.evaluate("segmentation", guess, root, data_set="endoscapes2023", split="last")


def test_codes_of_the_data_set_are_read_on_both_sides(built: Any, tmp_path: Path) -> None:
    root = built("cholecseg8k")
    names = [path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*watershed_mask.png")]
    for background in (50, 0):
        guess = {name: np.array([[background, 31]], np.uint8) for name in names}
        assert surgvalid.evaluate("segmentation", guess, root, data_set="cholecseg8k").value("miou_pooled") == 1.0
    with pytest.raises(InputInvalid, match=r"labels \[7\] are not among the classes \[5, 11"):
        surgvalid.evaluate("segmentation", {n: np.array([[7, 31]]) for n in names}, root, data_set="cholecseg8k")


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("phases", {"data_set": "cholec8O"}, "did you mean 'cholec80'"),
        (
            "phases",
            {"data_set": "cholec80", "task": "tool"},
            "no tool to evaluate as phases; it offers phase as phases",
        ),
        ("phases", {"data_set": "cholec80", "task": "steps"}, "unknown task of cholec80 'steps'"),
        ("phases", {"data_set": "cholec80", "perspective": "visibility"}, "--perspective is for tracking"),
        ("phases", {"split": "test", "rate_hz": 1.0}, "--split, --rate-hz: choose from a public data set"),
        ("phases", {"data_set": "cholec80", "rate_hz": 3.0}, "rate_hz must divide 25 fps"),
        ("classification", {"data_set": "heichole"}, "several tasks .* --task instrument or --task action"),
        ("detection", {"data_set": "cholectrack20"}, "cholectrack20 has no task to evaluate as detection"),
        ("cvs", {"data_set": "endoscapes2023"}, "takes the folder of Endoscapes2023 as references"),
    ],
)
def test_options_that_do_not_fit_are_refused(kind: str, options: dict, said: str, built: Any) -> None:
    root = built(options.get("data_set", "cholec80").replace("O", "0"))
    with pytest.raises((Misuse, UnknownName), match=said):
        surgvalid.evaluate(kind, {"video": ["video01"]}, root, **options)


def test_a_data_set_needs_its_folder() -> None:
    with pytest.raises(Misuse, match="--data-set cholec80 needs --references, the folder"):
        surgvalid.evaluate("phases", {"video": ["a"]}, data_set="cholec80")


def test_the_command_line_takes_a_folder(built: Any, tmp_path: Path) -> None:
    frames = pl.DataFrame({"video": ["video01"] * 3, "second": [0, 1, 2], "prediction": ["Preparation"] * 3})
    frames.write_csv(tmp_path / "p.csv")
    folder, out = built("cholec80"), tmp_path / "out"
    words = [
        "evaluate",
        "phases",
        "--predictions",
        tmp_path / "p.csv",
        "--references",
        folder,
        "--data-set",
        "cholec80",
    ]
    words += ["--only", "video01", "--rate-hz", 1, "--resamples", 10, "--out", out]
    result = CliRunner().invoke(build_app(), [str(word) for word in words])
    assert result.exit_code == 0, result.output
    assert "0.667" in result.stdout
    manifest = json.loads((out / "manifest.json").read_text())
    assert [entry["file"] for entry in manifest["inputs"]] == ["p.csv", "video01-phase.txt", "video41-phase.txt"]
    assert manifest["options"]["videos"] == ["video01"]


def test_the_benchmark_of_endoscapes_hashes_only_what_it_read(built: Any, tmp_path: Path) -> None:
    root = built("endoscapes2023")
    (root / "test" / "162_125.jpg").write_bytes(b"one of 58,813 images")
    images = [endoscapes_image(162, 125 * n, rated=True, boxed=True, ds=[n % 2, n % 2, n % 2]) for n in range(1, 5)]
    labels = {"categories": [{"id": 1, "name": "tool"}], "annotations": []}
    put_json(root / "test" / "annotation_ds_coco.json", {**labels, "images": images})
    scores = {
        "video": ["162"] * 4,
        "frame": [125, 250, 375, 500],
        **{code: [0.9, 0.1] * 2 for code in ("C1", "C2", "C3")},
    }
    pl.DataFrame(scores).write_csv(tmp_path / "scores.csv")
    put_json(tmp_path / "boxes.json", [])
    result = surgvalid.evaluate("cvs", tmp_path / "scores.csv", root, boxes=tmp_path / "boxes.json", replicates=10)
    result.to_dir(tmp_path / "out")
    inputs = json.loads((tmp_path / "out" / "manifest.json").read_text())["inputs"]
    coco = ["annotation_ds_coco.json"] * 3
    assert sorted(entry["file"] for entry in inputs) == ["annotation_coco.json", *coco, "boxes.json", "scores.csv"]
