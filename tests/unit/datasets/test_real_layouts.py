"""Data sets as they are downloaded: real files that lie beside the checkout, and miniatures of what went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from data_set_files import BUILDERS, put, put_colours, put_json, put_png, robust_mis, tracked_tool
from shared_data import shared
from surgvalid.cli import build_app
from surgvalid.datasets import DATA_SETS, open_data_set
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import question_rows
from surgvalid.datasets.sets.cholec80_cvs import last_frames
from surgvalid.errors import InputInvalid
from surgvalid.schema.findings import Severity


def real(place: str) -> Path:
    return shared("data", "real_formats", "surgical", place)


@pytest.fixture
def built(tmp_path):
    def build(name):
        BUILDERS[name](tmp_path)
        return open_data_set(name), tmp_path

    return build


def codes(report):
    return [finding.code for finding in report.findings]


def scheme(name: str, wanted: str, root: Path | None = None) -> dict[str, list[str]]:
    rows = open_data_set(name).splits(root).filter(scheme=wanted)
    return {part: own["video"].to_list() for (part,), own in rows.group_by("split", maintain_order=True)}


@pytest.mark.parametrize(
    ("name", "place", "usable"),
    [
        ("autolaparo", "lookalike/autolaparo", {"phase", "motion"}),
        ("avos", "lookalike/avos", {"action", "hands", "tools"}),
        ("cholec80", "lookalike/cholec80", {"phase", "tool"}),
        ("cholecinstanceseg", "cholec_instance_seg", {"instruments"}),
        ("cholect50", "cholect50_challenge_val", {"triplet", "phase"}),
        ("cholectrack20", "lookalike/cholectrack20", {"tracks"}),
        ("dresden", "lookalike/dresden", {"presence"}),
        ("endoscapes2023", "lookalike/endoscapes", {"raters"}),
        ("endovis18_vqa", "lookalike/endovis18_vqa", {"answers"}),
        ("endovis18_vqa", "lookalike/endovis18_vqla", {"located answers"}),
        ("heichole", "lookalike/heichole", {"phase", "skill"}),
        ("heico", "lookalike/heico", {"phase"}),
        ("jigsaws", "lookalike/jigsaws", {"gesture", "gesture clip", "skill", "rating"}),
        ("m2cai16", "lookalike/m2cai16", {"phase"}),
        ("multibypass140", "multibypass140", {"phase", "overlay", "step"}),
        ("pitvqa", "lookalike/pitvqa", {"answers"}),
        ("psi_ava", "psi_ava", {"phase", "step", "instruments"}),
        ("ssg_vqa", "lookalike/ssg_vqa", {"answers"}),
        ("surgvu", "lookalike/surgvu", {"task", "tools"}),
    ],
)
def test_real_files_are_usable_for_what_is_there(name, place, usable):
    report = open_data_set(name).check(real(place))
    assert set(report.usable) == usable
    assert report.ok
    assert not [finding for finding in report.findings if finding.severity is Severity.ERROR]


def test_a_folder_with_one_of_several_tasks_is_usable_and_says_what_is_missing_for_which(built):
    data_set, root = built("cholec80")
    for path in (root / "tool_annotations").iterdir():
        path.unlink()
    report = data_set.check(root)
    assert report.ok
    assert report.usable == ("phase",)
    assert report.verdict == "usable for phase; not for tool (tool_annotations/*.txt: no such file)"
    done = CliRunner().invoke(build_app(), ["data", "check", "cholec80", str(root)])
    assert "not usable" not in done.stdout
    assert "usable for phase; not for tool" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("name", "removed", "task", "kept"),
    [
        ("jigsaws", ("Knot_Tying", "Needle_Passing"), "gesture", {"Suturing_B001", "Suturing_B002", "Suturing_C001"}),
        ("multibypass140", ("labels/strasbourg",), "phase", {"BBP01"}),
        ("endoscapes2023", ("train", "val"), "cvs", {"162"}),
        ("endoscapes2023", ("train", "val"), "boxes", {"162"}),
        ("grasp", ("GraSP_1fps/annotations/grasp_long-term_train.json",), "phase", {"CASE041"}),
    ],
)
def test_an_incomplete_download_is_read_for_what_is_there(built, name, removed, task, kept):
    data_set, root = built(name)
    for place in removed:
        whole = root / place
        for path in [whole, *whole.rglob("*")] if whole.is_dir() else [whole]:
            if path.is_file():
                path.unlink()
    assert set(data_set.references(root, task=task).table["video"]) == kept
    report = data_set.check(root, tasks=[task])
    assert report.ok
    assert "absent" in codes(report)


def test_lists_of_endoscapes_videos_in_scientific_notation_are_read(built):
    data_set, root = built("endoscapes2023")
    put(root / "train_vids.txt", "1.000000000000000000e+00\n1.200000000000000000e+02\n")
    assert scheme("endoscapes2023", "files", root)["train"] == ["1", "120"]
    put(root / "train_vids.txt", "1.5e+00\n")
    with pytest.raises(InputInvalid, match=r"no video number: '1\.5e\+00'"):
        data_set.splits(root)


def test_the_published_counts_of_endoscapes_are_those_of_a_correct_copy():
    tasks = open_data_set("endoscapes2023").tasks
    parts = ("cases in train", "cases in val", "cases in test")
    assert [tasks["cvs"].published[part] for part in parts] == [6_960, 2_331, 1_799]
    for task in ("cvs", "frames"):
        assert sum(tasks[task].published[part] for part in parts) == tasks[task].published["cases"]


def test_a_link_that_unpacking_made_a_file_is_named(built):
    data_set, root = built("endoscapes2023")
    (root / "train_seg").rename(root / "kept")
    put(root / "train_seg", "25/train_2")
    found = [finding for finding in data_set.check(root).findings if finding.code == "link-as-file"]
    assert [finding.where for finding in found] == ["train_seg"]


def test_folds_of_cholec80_cvs_are_sixteen_validation_parts_of_five():
    root = real("cholec80_cvs")
    folds = [scheme("cholec80_cvs", f"fold {number}", root) for number in range(1, 17)]
    assert folds[0]["val"] == ["video03", "video34", "video63", "video07", "video30"]
    assert [(len(fold["train"]), len(fold["val"])) for fold in folds] == [(75, 5)] * 16
    assert {video for fold in folds for video in fold["val"]} == {f"video{n:02}" for n in range(1, 81)}
    assert len(last_frames(DataFolder(root))) == 80


def test_the_fixed_split_of_cholec80_cvs_is_50_15_15():
    fixed = scheme("cholec80_cvs", "fixed 50/15/15")
    assert {part: len(videos) for part, videos in fixed.items()} == {"train": 50, "val": 15, "test": 15}
    assert {"video05", "video61"} <= set(fixed["test"])


def test_criteria_are_compared_in_the_last_share_before_the_cut(built):
    _, root = built("cholec80_cvs")  # cuts at 630 s and 550 s; kept from 535 s and 467 s on
    seconds = {"video01": range(600, 631), "video02": range(540, 546)}
    rows = [
        {"video": video, "frame": 25 * second, "two": int(video == "video01"), "one": 1}
        for video, own in seconds.items()
        for second in own
    ]
    guess = pl.DataFrame(rows).select(
        "video", "frame",
        pl.col("two").alias("prediction:two_structures"),
        pl.col("two").alias("prediction:hepatocystic_triangle"),
        pl.col("one").alias("prediction:cystic_plate"),
    )  # fmt: skip
    result = surgvalid.evaluate("classification", guess, root, data_set="cholec80_cvs", metrics=["label_accuracy"])
    assert result.value("label_accuracy") == 1.0


def test_rendezvous_is_35_5_10_and_the_challenge_splits_are_named_apart():
    rendezvous = scheme("cholect50", "rendezvous")
    assert {part: len(videos) for part, videos in rendezvous.items()} == {"train": 35, "val": 5, "test": 10}
    assert rendezvous["val"] == ["VID08", "VID12", "VID29", "VID50", "VID78"]
    assert scheme("cholect50", "challenge loader")["val"] == ["VID05", "VID18", "VID36", "VID65", "VID74"]
    assert scheme("cholect50", "challenge validation")["val"] == ["VID68", "VID70", "VID73", "VID74", "VID75"]


def test_the_three_splits_of_cholec80_are_known():
    sizes = {
        name: {part: len(videos) for part, videos in scheme("cholec80", name).items()}
        for name in ("endonet 40/40", "32/8/40", "camma 40/8/32")
    }
    assert sizes == {
        "endonet 40/40": {"train": 40, "test": 40},
        "32/8/40": {"train": 32, "val": 8, "test": 40},
        "camma 40/8/32": {"train": 40, "val": 8, "test": 32},
    }
    assert scheme("cholec80", "32/8/40")["val"][0] == "video33"


def test_sparse_keys_of_the_challenge_set_are_cases_of_their_own_and_can_be_compared():
    root = real("cholect50_challenge_val")
    phases = open_data_set("cholect50").references(root, task="phase").table
    assert phases["frame"].diff().max() > 1
    guess = phases.select("video", "frame", pl.col("phase").alias("prediction"))
    result = surgvalid.evaluate("classification", guess, root, data_set="cholect50", task="phase")
    assert result.value("accuracy") == 1.0


def test_predictions_by_autolaparos_own_seconds_are_accepted(built):
    _, root = built("autolaparo")
    guess = {
        "video": ["01"] * 3 + ["15"] * 3,
        "frame": [1, 2, 3] * 2,
        "prediction": [1, 1, 2] * 2,
    }
    assert surgvalid.evaluate("phases", guess, root, data_set="autolaparo").value("phase_accuracy") == 1.0
    shifted = {**guess, "frame": [0, 1, 2] * 2}
    with pytest.raises(InputInvalid, match=r"1 frames without prediction \(first: 3\)"):
        surgvalid.evaluate("phases", shifted, root, data_set="autolaparo")


def test_clips_of_autolaparo_have_their_part_and_their_phase(built):
    data_set, root = built("autolaparo")
    motions = data_set.references(root, task="motion").table
    assert motions.select("video", "split", "phase").rows() == [
        ("clip1", "train", 2), ("clip227", "val", 2), ("clip228", "test", 2)
    ]  # fmt: skip
    masks = data_set.references(root, task="masks").table
    assert masks.select("video", "frame", "split").rows() == [
        ("clip1", 1, "train"), ("clip1", 25, "train"), ("clip228", 125, "test")
    ]  # fmt: skip


def test_procedure_1_of_two_surgery_types_is_two_videos(built):
    data_set, root = built("heico")
    for task in ("instances", "phase"):
        assert set(data_set.references(root, task=task).table["video"]) == {"Proctocolectomy/1", "Rectal Resection/1"}


def test_the_layout_of_robust_mis_is_read_too(tmp_path):
    robust_mis(tmp_path)
    table = open_data_set("heico").references(tmp_path, task="instances").table
    assert table.select("video", "split").sort("video").rows() == [
        ("Proctocolectomy/4", "Training"), ("Sigmoid/4", "Stage_3")
    ]  # fmt: skip


def test_weak_labels_without_a_header_keep_their_first_image_and_name_their_organs():
    table = open_data_set("dresden").references(real("lookalike/dresden"), task="presence").table
    assert set(table["case"]) == {"colon/01/0", "colon/01/1"}
    assert table.filter(case="colon/01/0", present=1)["organ"].to_list() == ["colon", "small_intestine"]


def test_weak_labels_with_a_header_are_read_by_it(built):
    data_set, root = built("dresden")
    put(root / "liver" / "01" / "weak_labels.csv", "name,liver,gall,\nimages00,1,0,\n")
    rows = data_set.references(root, task="presence").table.filter(case="liver/01/0")
    assert rows.select("organ", "present").rows() == [("liver", 1), ("gall", 0)]
    put(root / "liver" / "01" / "weak_labels.csv", "images00,1,0,\n")
    with pytest.raises(InputInvalid, match="no header, and 2 labels instead of 12"):
        data_set.references(root, task="presence")


def test_keys_of_cholectrack20_count_from_1_and_small_letters_are_found(built):
    data_set, root = built("cholectrack20")
    (root / "Training" / "VID01").rename(root / "Training" / "vid01")
    (root / "Training" / "vid01" / "VID01.json").rename(root / "Training" / "vid01" / "vid01.json")
    table = data_set.references(root, task="tracks").table
    assert table.filter(video="VID01")["frame"].to_list() == [1, 26, 26]
    assert "from 1" in data_set.tasks["tracks"].clock


def test_the_swapped_videos_of_cholectrack20_count_only_where_they_are_named(built):
    data_set, root = built("cholectrack20")
    put_json(root / "Validation" / "VID30" / "VID30.json", {"annotations": {"1": [tracked_tool()]}})
    assert "doubtful-video" in codes(data_set.check(root))
    folder = root / "guesses"
    folder.mkdir()
    for video in ("VID01", "VID92"):
        lines = ["1,1,0.1,0.2,0.3,0.4,1,0", "26,1,0.1,0.2,0.3,0.4,1,0"]
        put(folder / f"{video}.txt", "\n".join(lines))
    options = {"data_set": "cholectrack20", "perspective": "visibility"}
    result = surgvalid.evaluate("tracking", folder, root, **options)
    assert "VID30" not in result.per_video["video"].to_list()
    assert [finding for finding in result.findings if "VID30 is left out" in finding.message]
    put(folder / "VID30.txt", "1,1,0.1,0.2,0.3,0.4,1,0")
    for video in ("VID01", "VID92"):
        (folder / f"{video}.txt").unlink()
    named = surgvalid.evaluate("tracking", folder, root, videos=["vid30"], **options)
    assert named.per_video["video"].unique().to_list() == ["VID30"]
    assert [finding for finding in named.findings if "VID30 counts since it was asked for" in finding.message]


def test_a_doubtful_video_of_another_part_is_not_spoken_of(built):
    _, root = built("cholectrack20")  # VID92 is the only one of the test part
    put_json(root / "Training" / "VID31" / "VID31.json", {"annotations": {"1": [tracked_tool()]}})
    put(root / "guesses" / "VID92.txt", "1,1,0.1,0.2,0.3,0.4,1,0\n26,1,0.1,0.2,0.3,0.4,1,0")
    options = {"data_set": "cholectrack20", "perspective": "visibility", "split": "test"}
    result = surgvalid.evaluate("tracking", root / "guesses", root, **options)
    assert not [finding for finding in result.findings if "VID31" in finding.message]


def test_skill_of_heichole_is_rated_with_mean_absolute_error_and_quadratic_kappa():
    root = real("lookalike/heichole")
    table = open_data_set("heichole").references(root, task="skill").table
    assert set(table["part"]) == {"whole video", "Calot", "dissection"}
    guess = table.select("video", "case", (pl.col("rating") - 1).clip(1).alias("prediction"))
    result = surgvalid.evaluate("classification", guess, root, data_set="heichole", task="skill", by=["item"])
    assert result.value("expected_cost") == 1.0  # every rating is 2 or more and guessed one too low
    assert result.metrics["metric"].to_list()[-1] == "quadratic_kappa"


def test_trials_of_one_surgeon_stand_and_fall_together(built):
    data_set, root = built("jigsaws")
    table = data_set.references(root, task="skill").table
    assert dict(table.select("video", "surgeon").rows())["Suturing_C001"] == "C"
    wrong = table["video"].str.ends_with("B001")
    guess = table.select("video", "case", pl.when(wrong).then(pl.lit("I")).otherwise("skill").alias("prediction"))
    result = surgvalid.evaluate("classification", guess, root, data_set="jigsaws", task="skill", metrics=["accuracy"])
    row = result.metrics.row(0, named=True)
    assert row["videos"] == 2  # surgeons B and C, although there are twelve trials
    assert result.conventions["accuracy"]["conventions"]["independent unit"] == "surgeon"
    assert set(result.scores.frame["video"]) == {"B", "C"}


def test_ratings_of_jigsaws_have_the_names_of_the_readme(built):
    data_set, root = built("jigsaws")
    items = data_set.references(root, task="rating").table["item"].unique().to_list()
    assert {"respect for tissue", "quality of final product"} <= set(items)
    clips = data_set.references(root, task="gesture clip").table
    assert clips.filter(case="Suturing_B001/gesture2")["gesture"].to_list() == ["G5"]


def test_frame_rates_of_avos_follow_from_frames_and_seconds_and_boxes_are_read(built):
    data_set, root = built("avos")
    actions = data_set.references(root, task="action").table
    assert dict(actions.select("video", "fps").rows()) == {"a-b-_c": 30.0, "xyz": 20.0}
    hands = data_set.references(root, task="hands").table
    assert hands.select("video", "frame", "width_px").rows() == [("a-b-_c", 30, 100.0), ("xyz", 40, 2.0)]
    tools = data_set.references(root, task="tools").table
    assert tools.select("case", "category").rows() == [("a-b-_c/30", "needledriver"), ("xyz/40", None)]


def test_actions_of_avos_are_compared_once_a_second(built):
    _, root = built("avos")
    seconds = {"a-b-_c": [0, 30, 60], "xyz": [20, 40, 60]}
    labels = {"a-b-_c": "cutting", "xyz": "suturing"}
    rows = [
        {"video": video, "frame": frame, "prediction": labels[video]} for video, own in seconds.items() for frame in own
    ]
    result = surgvalid.evaluate("classification", pl.DataFrame(rows), root, data_set="avos", rate_hz=1.0)
    assert result.value("accuracy") == 1.0


@pytest.mark.parametrize("wanted", ["TEST", "Testing", "official:Test", "OFFICIAL:test"])
def test_names_of_splits_are_compared_in_either_case(built, wanted):
    _, root = built("grasp")
    guess = {"video": ["CASE041"] * 2, "frame": [1, 36], "prediction": ["3", "3"]}
    result = surgvalid.evaluate("classification", guess, root, data_set="grasp", task="phase", split=wanted)
    assert result.value("accuracy") == 1.0


def test_boxes_of_a_data_set_are_compared_from_its_folder_on_the_command_line(built, tmp_path):
    _, root = built("endoscapes2023")
    results = [{"image_id": 162_000_125, "category_id": 3, "bbox": [10, 20, 30, 40], "score": 0.5}]
    put_json(root / "found.json", results)
    command = ["evaluate", "detection", "--data-set", "endoscapes2023", "--references", str(root), "--split", "test"]
    done = CliRunner().invoke(build_app(), [*command, "--predictions", str(root / "found.json"), "--json"])
    assert done.exit_code == 0, done.output
    rows = {row["metric"]: row["value"] for row in json.loads(done.stdout)["metrics"]}
    assert rows["coco_ap"] == 1.0


def test_polygons_of_one_group_are_one_instance(built):
    data_set, root = built("cholecinstanceseg")
    table = data_set.references(root, task="instruments").table.filter(video="VID01")
    assert table.select("category", "x_px", "width_px").rows() == [("grasper", 1.0, 29.0), ("hook", 40.0, 10.0)]
    assert len(json.loads(table["segmentation"][0])) == 2


def test_a_colour_outside_the_table_of_endovis_2018_is_refused(built, tmp_path_factory):
    (_, root), guess = built("endovis2018"), tmp_path_factory.mktemp("guess")
    place = "miccai_challenge_2018_release_1/seq_1/labels/frame000"
    put_colours(root / f"{place}.png", [[(0, 0, 0), (1, 2, 3), (255, 55, 0)]])
    for number in (1, 2):
        for frame in (0, 1):
            name = f"miccai_challenge_2018_release_1/seq_{number}/labels/frame{frame:03}.png"
            put_png(guess / name, [bytes([0, 1, 4]) if frame == 0 else bytes([0, 6])])
    with pytest.raises(InputInvalid, match=r"1 colours are not in the table \(first: \(1, 2, 3\)\)"):
        surgvalid.evaluate("segmentation", guess, root, data_set="endovis2018")
    put_colours(root / f"{place}.png", [[(0, 0, 0), (0, 255, 0), (255, 55, 0)]])
    result = surgvalid.evaluate("segmentation", guess, root, data_set="endovis2018")
    assert result.value("miou_pooled") == 1.0


def test_questions_become_the_files_that_score_reads(built):
    data_set, root = built("ssg_vqa")
    references = data_set.references(root, task="answers")
    assert references.table["type"].to_list() == ["count", "exist"] * 2
    requests, answers = question_rows(references, capability="object_recognition")
    assert requests[0]["question"] == "How many tools are there?"
    assert [row["format"] for row in answers[:2]] == ["number", "binary"]


def test_answers_that_the_makers_of_pitvqa_drop_are_dropped(built):
    data_set, root = built("pitvqa")
    assert set(data_set.references(root, task="answers").table["answer"]) == {"nasal_sphenoid", "one"}


def test_every_data_set_says_where_to_get_it_and_what_each_task_is_measured_by():
    done = CliRunner().invoke(build_app(), ["tools", "list", "datasets", "--json"])
    rows = json.loads(done.stdout)
    assert {row["data set"] for row in rows} == set(DATA_SETS)
    for row in rows:
        assert {"task", "metrics", "splits", "licence", "where to get it"} <= set(row)
    phase = next(row for row in rows if (row["data set"], row["task"]) == ("cholec80", "phase"))
    assert "phases" in phase["metrics"]
    assert "32/8/40" in phase["splits"]
