"""What the readers of single data sets return and what they complain about."""

import json

import pytest

from data_set_files import (
    BUILDERS,
    CVS_HEADER,
    endoscapes_image,
    put,
    put_json,
    put_png,
    put_workbook,
    robust_mis,
    tracked_tool,
)
from surgvalid.datasets import leakage_table, open_data_set, shared_videos
from surgvalid.datasets.sets.avos import video_and_frame
from surgvalid.datasets.sets.cholectrack20 import VIDEOS
from surgvalid.errors import InputInvalid, Misuse


@pytest.fixture
def built(tmp_path):
    def build(name):
        BUILDERS[name](tmp_path)
        return open_data_set(name), tmp_path

    return build


def codes(report):
    return [finding.code for finding in report.findings]


def problems(data_set, root, task):
    with pytest.raises(InputInvalid) as caught:
        data_set.references(root, task=task)
    return caught.value.problems


def test_the_consensus_of_three_raters_is_their_majority(built):
    data_set, root = built("endoscapes2023")
    row = data_set.references(root, task="cvs").table.row(0, named=True)
    assert (row["two_structures"], row["hepatocystic_triangle"], row["cystic_plate"]) == (1, 1, 0)
    assert row["hepatocystic_triangle_mean"] == pytest.approx(2 / 3)
    raters = data_set.references(root, task="raters").table
    assert raters.filter(case="8_125").select("two_structures", "hepatocystic_triangle", "cystic_plate").rows() == [
        (1, 1, 0),
        (1, 1, 0),
        (1, 0, 1),
    ]


def test_a_label_that_is_not_the_mean_of_its_raters_is_a_warning(built):
    data_set, root = built("endoscapes2023")
    table = root / "all_metadata.csv"
    put(table, table.read_text().replace("[1, 0, 1]", "[0, 0, 1]"))
    findings = [f for f in data_set.check(root).findings if f.code == "raters-differ"]
    assert len(findings) == 1
    assert "two_structures" in findings[0].message


def test_endoscapes_splits_come_from_the_files_and_from_the_folders(built):
    data_set, root = built("endoscapes2023")
    parts = data_set.splits(root).filter(scheme="seg50")
    assert parts.select("split", "video").rows() == [("train", "8"), ("val", "121"), ("test", "162")]
    assert data_set.splits(root).filter(scheme="25% fold 2")["video"].to_list() == ["8"]
    assert data_set.splits().group_by("split", maintain_order=True).len().rows() == [
        ("train", 120),
        ("val", 41),
        ("test", 40),
    ]
    assert codes(data_set.check(root)).count("split-differs") == 3


def test_every_bad_image_and_box_of_a_coco_file_is_listed(built):
    data_set, root = built("endoscapes2023")
    good = endoscapes_image(8, 125, rated=True, boxed=True, ds=[1, 1, 1])
    boxes = [
        {"id": 1, "image_id": 5, "category_id": 1, "bbox": [0, 0, 1, 1]},
        {"id": 2, "image_id": good["id"], "category_id": 9, "bbox": [0, 0, 1, 1]},
        {"id": 3, "image_id": good["id"], "category_id": 1, "bbox": [0, 0, float("nan"), 1]},
        {"id": 4, "image_id": good["id"], "category_id": 1, "bbox": [0, 0, 0, 1]},
        7,
    ]
    content = {"images": [good, {"id": 1}], "annotations": boxes, "categories": [{"id": 1, "name": "tool"}, {"id": []}]}
    put_json(root / "train" / "annotation_coco.json", content)
    assert len(problems(data_set, root, "boxes")) == 6


def test_labels_that_are_no_thirds_and_ids_of_another_rule_are_noticed(built):
    data_set, root = built("endoscapes2023")
    image = endoscapes_image(8, 125, rated=True, boxed=True, ds=[0.5, 1, 0]) | {"id": 3}
    put_json(root / "train" / "annotation_ds_coco.json", {"images": [image], "annotations": [], "categories": []})
    report = data_set.check(root, tasks=["cvs"])
    assert {"image-id", "malformed"} <= set(codes(report))


def test_an_array_of_objects_is_a_pickle_and_stays_shut(built):
    data_set, root = built("endoscapes2023")
    (root / "insseg" / "8_125.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'shape': (1,)}")
    assert "which is a pickle" in problems(data_set, root, "masks")[0]


def test_a_frame_without_triplet_still_has_its_phase(built):
    data_set, root = built("cholect50")
    phases = data_set.references(root, task="phase").table
    assert phases.filter(case="VID01/0")["phase"].to_list() == [0]
    triplets = data_set.references(root, task="triplet").table
    assert triplets.filter(case="VID01/0")["triplet"].to_list() == [None]
    assert triplets.filter(case="VID01/1")["verb"].to_list() == [2, 1]
    assert triplets["x"].null_count() == triplets.height


def test_bad_vectors_frames_and_rates_are_all_listed(built):
    data_set, root = built("cholect50")
    frames = {"x": [], "0": [[1, 2]], "1": [[100] + [0] * 14], "9" * 40: [], "2": [["a"] * 15], "3": 5}
    put_json(root / "labels" / "VID01.json", {"fps": 25, "annotations": frames})
    assert len(problems(data_set, root, "triplet")) == 7


def test_validation_is_the_last_five_training_videos_in_fold_order():
    folds = open_data_set("cholect45").splits().filter(scheme="fold 1")
    assert folds.filter(split="val")["video"].to_list() == ["VID74", "VID01", "VID56", "VID04", "VID13"]
    assert folds.filter(split="test")["video"].len() == 9
    fold = open_data_set("cholect50").splits().filter(scheme="fold 1", split="val")
    assert fold["video"].to_list() == ["VID01", "VID56", "VID04", "VID13", "VID92"]


def test_a_dictionary_with_a_hole_is_a_problem(built):
    data_set, root = built("cholect45")
    path = root / "dict" / "verb.txt"
    put(path, path.read_text().replace("4:verb 4\n", "").replace("5:", "five:"))
    found = [f.message for f in data_set.check(root).findings if f.where == "dict/verb.txt"]
    assert len(found) == 2


def test_criteria_of_the_workbook_are_read_by_name_and_reversed_rows_left_out(built):
    data_set, root = built("cholec80_cvs")
    table = data_set.references(root, task="cvs").table
    assert table.select("two_structures", "hepatocystic_triangle", "cystic_plate", "critical_view").rows() == [
        (2, 2, 1, True),
        (0, 0, 1, False),
    ]
    assert table.select("video", "start_s", "end_s").row(0) == ("video01", 600.0, 630.0)
    assert codes(data_set.check(root)).count("reversed-interval") == 1


def test_every_bad_line_of_the_workbook_is_listed(built):
    data_set, root = built("cholec80_cvs")
    rows = [[1, 0, 0, 0, 9, 2, 1, 2, 4, 1], [1, 0, 0, 0, 9, 3, 1, 1, 5, 1], ["x", 0, 0, 0, 9, 0, 0, 0, 0, 0], [1, 0]]
    put_workbook(root / "surgeons_annotations.xlsx", [CVS_HEADER, *rows])
    assert len(problems(data_set, root, "cvs")) == 4
    put_workbook(root / "surgeons_annotations.xlsx", [["video", "C1", "C2", "C3"], [1, 0, 0, 0]])
    assert "criteria are read by name only" in problems(data_set, root, "cvs")[0]


def test_both_spellings_of_tracking_keys_are_read(built):
    data_set, root = built("cholectrack20")
    other = tracked_tool(category=4, intraoperative_track_id=9)
    del other["instrument"], other["intraoperative_track"]
    put_json(root / "Training" / "VID01" / "VID01.json", {"annotations": {"25": [other]}})
    row = data_set.references(root, task="tracks").table.filter(video="VID01").row(0, named=True)
    assert (row["instrument"], row["intraoperative_track"], row["split"]) == (4, 9, "train")


def test_boxes_in_pixels_and_tools_without_identity_are_listed(built):
    data_set, root = built("cholectrack20")
    bad = [tracked_tool(tool_bbox=[10, 20, 30, 40]), tracked_tool(visibility_track=None), 3]
    put_json(root / "Training" / "VID01" / "VID01.json", {"annotations": {"25": bad}})
    put_json(root / "Training" / "VID03" / "VID03.json", {"annotations": {}})
    assert len(problems(data_set, root, "tracks")) == 4


def test_the_last_dash_parts_video_and_frame_and_unknown_labels_are_skipped(built):
    data_set, root = built("avos")
    table = data_set.references(root, task="action").table
    assert table.select("video", "label").rows() == [("a-b-_c", "cutting"), ("xyz", "suturing")]
    assert video_and_frame("a-b-_c-30.jpg") == ("a-b-_c", 30)


def test_weak_labels_are_mapped_to_images_by_number(built):
    data_set, root = built("dresden")
    weak, masks = (data_set.references(root, task=task).table for task in ("presence", "organ"))
    assert set(weak["case"]) == set(masks["case"])
    assert weak.filter(case="liver/01/0", present=1)["organ"].to_list() == ["liver"]


def test_deeper_masks_and_absent_masks_are_problems(tmp_path):
    data_set, root = open_data_set("heico"), tmp_path
    robust_mis(root)
    put_png(root / "Training" / "Proctocolectomy" / "4" / "1250" / "instrument_instances.png", [b"\0\1"], depth=16)
    (root / "Stage_3" / "Sigmoid" / "4" / "1250" / "instrument_instances.png").unlink()
    assert len(problems(data_set, root, "instances")) == 2


def test_gestures_that_overlap_and_totals_that_do_not_add_up_are_noticed(built):
    data_set, root = built("jigsaws")
    put(root / "Suturing" / "transcriptions" / "Suturing_B001.txt", "80 210 G1\n200 330 G5\n9 3 G2\nnonsense\n")
    assert len(problems(data_set, root, "gesture")) == 3
    meta = root / "Suturing" / "meta_file_Suturing.txt"
    put(meta, meta.read_text().replace("\t13\t", "\t14\t"))
    assert codes(data_set.check(root)).count("total-differs") == 4
    assert "one-sided" in codes(data_set.check(root))


def test_the_folder_of_one_part_is_read_with_its_name_as_the_part(built):
    data_set, root = built("sar_rarp50")
    for part, split in (("test", "test"), ("elsewhere", None)):
        (root / "test").rename(root / part) if split is None else None
        report = data_set.check(root / part)
        assert set(report.usable) == {"action", "masks"}
        for task, rows in (("action", 21), ("masks", 3)):
            assert data_set.references(root / part, task=task).table["split"].to_list() == [split] * rows


def test_tools_that_stay_have_no_end_and_stretches_that_end_first_are_noticed(built):
    data_set, root = built("surgvu")
    tools = data_set.references(root, task="tools").table.filter(video="case_000")
    assert tools.select("tool", "arm", "start_s", "stop_part", "stop_s").rows() == [
        ("needle driver", "USM1", 10.0, 2, 100.5),
        ("clip applier", "USM2", 20.5, None, None),
    ]
    place = root / "labels" / "case_001" / "tasks.csv"
    place.write_text(place.read_text().replace("120.0", "4.0"))
    assert "1 stretches end before they begin, or have no time (first: case_001/task1)" in str(data_set.check(root))


def test_known_overlaps_agree_with_the_videos_themselves():
    t50 = sorted(set(open_data_set("cholect50").splits()["video"]))
    track20 = [f"VID{n:02}" for n in VIDEOS]
    cholec80 = [f"video{n:02}" for n in range(1, 81)]
    videos = {"cholec80": cholec80, "cholect50": t50, "cholectrack20": track20}
    told = {(a, b): n for a, b, n in leakage_table().select("data_set_a", "data_set_b", "shared_videos").rows()}
    for pair in (("cholec80", "cholect50"), ("cholec80", "cholectrack20"), ("cholect50", "cholectrack20")):
        first, second = pair
        assert len(shared_videos(first, videos[first], second, videos[second])) == told[pair]
    assert told["cholec80", "heichole"] == 0


def test_videos_with_numbers_of_their_own_are_translated():
    endoscapes, cholec80 = [str(n) for n in range(1, 202)], [f"video{n:02}" for n in range(1, 81)]
    assert shared_videos("endoscapes2023", endoscapes, "cholec80", cholec80) == ["1", "2", "3", "4", "7", "121"]
    t50 = sorted(set(open_data_set("cholect50").splits()["video"]))
    assert shared_videos("endoscapes2023", endoscapes, "cholect50", t50) == ["2", "3", "10", "33", "121", "127"]
    test = [str(n) for n in range(162, 202)]
    assert shared_videos("endoscapes2023", test, "cholec80", cholec80) == []
    tools = [f"tool_video_{n:02}" for n in range(1, 16)]
    assert len(shared_videos("m2cai16", tools, "cholec80", cholec80)) == 15
    assert shared_videos("m2cai16", ["workflow_video_01"], "cholec80", cholec80) == []


def test_overlap_is_not_guessed_from_names_that_say_nothing():
    with pytest.raises(Misuse, match="carry no Cholec80 numbers"):
        shared_videos("cholec80", ["video01"], "heichole", ["Hei-Chole1"])
    with pytest.raises(Misuse, match="ends in no number"):
        shared_videos("cholec80", ["x"], "cholect50", ["VID01"])


def test_the_contradictions_of_the_endoscapes_report_are_named(built):
    data_set, root = built("endoscapes2023")
    said = " ".join(f.message for f in data_set.check(root).findings if f.code == "published-disagreement")
    for number in ("6,960", "9,519", "422"):
        assert number in said


def test_listing_prints_every_data_set():
    from typer.testing import CliRunner

    from surgvalid.cli import build_app
    from surgvalid.datasets import DATA_SETS

    done = CliRunner().invoke(build_app(), ["tools", "list", "datasets", "--json"])
    assert list(dict.fromkeys(row["data set"] for row in json.loads(done.stdout))) == list(DATA_SETS)
