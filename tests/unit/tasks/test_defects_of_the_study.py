"""What the study's released code gets wrong, and what this harness does instead: one test per defect.

`DEFECTS` says which test stands for which defect, those in other files among them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from repository import REPOSITORY
from scripted_model import ScriptedModel, words_of
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.models import Outcome, PromptImage
from surgvalid.schema.outcomes import Status
from surgvalid.tasks import open_task, run_task
from surgvalid.tasks.cases import cases_of
from surgvalid.tasks.media import FrameCache, Plan
from surgvalid.tasks.prompts import prompts_of
from surgvalid.tasks.task import Media
from surgvalid.video.images import image_size
from task_folders import build, right_answer, tiny_video
from timecode_videos import read_stamp

READ, MODELS = "unit/tasks/test_answers_are_read.py", "models/test_local_models.py"
HERE, RUNNER = "unit/tasks/test_defects_of_the_study.py", "unit/models/test_runner.py"
DEFECTS = {
    "text from the first brace to the last; True and False replaced inside texts": (
        READ, "test_words_inside_texts_stay_as_they_are"),
    "a failure is stored as a finished output and never asked again": (
        RUNNER, "test_an_answer_is_never_asked_again_and_a_failure_is"),
    "keys are ignored: values count by their order": (READ, "test_every_order_of_the_keys_gives_the_same_labels"),
    "another number of keys makes the whole case a default": (
        READ, "test_a_class_that_is_not_mentioned_has_no_answer_and_is_not_absent"),
    "what cannot be read is class 0": (READ, "test_no_unread_answer_is_ever_the_first_class"),
    "class 0 where labels begin at 1: a class that there is not": (
        HERE, "test_a_stray_class_of_the_study_changes_only_the_study_policy"),
    "a lost interval is (0, 0); one video answer that is no JSON ends the run": (
        HERE, "test_an_unreadable_answer_about_a_video_costs_its_clip_and_is_no_interval"),
    "a refusal counts as a class": (HERE, "test_a_refusal_is_no_class"),
    "any other word than yes and no makes all classes negative": (
        HERE, "test_a_word_that_is_neither_yes_nor_no_costs_its_class_and_no_other"),
    "names count where they are part of others; one null instrument ends the reading": (
        READ, "test_lists_of_names_under_a_key"),
    "G1 is found in G10, and the last match wins": (READ, "test_no_gesture_is_read_out_of_a_longer_one"),
    "of two classes the last counts": (READ, "test_two_classes_are_no_answer"),
    "every clip is asked about the first clip's error": (
        HERE, "test_every_clip_is_asked_about_its_own_error_unless_the_faithful_prompt_is_wanted"),
    "frames in the order in which a folder lists them": (
        HERE, "test_frames_are_in_the_order_of_time_however_the_folder_lists_them"),
    "images reach CLIP without rescaling": (MODELS, "test_pictures_reach_clip_rescaled"),
    "cosines pass through a sigmoid, once times 100 and once not": (
        MODELS, "test_scores_are_the_cosines_that_the_model_itself_gives"),
    "boxes in another scale than the model's, or in pixels of a resized image": (
        READ, "test_one_box_in_every_convention"),
    "images without a predicted box are left out": (HERE, "test_images_without_a_predicted_box_count"),
    "an unknown name takes the box of the one before": (
        READ, "test_boxes_are_cut_to_the_picture_and_need_an_area_and_a_convention"),
    "frames 5 s apart are said to be 51 s apart": (
        HERE, "test_the_times_of_frames_are_real_and_the_false_ones_stay_in_the_faithful_prompt"),
    "references and scores are exchanged in one of two calls": (HERE, "test_references_and_scores_keep_their_places"),
    "a bench trial is described as a cholecystectomy": (
        HERE, "test_the_bench_trial_is_not_described_as_a_cholecystectomy"),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_has_its_test(defect: str) -> None:
    file, name = DEFECTS[defect]
    assert f"def {name}(" in (REPOSITORY / "tests" / file).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(open_task("e-det-im"), tmp_path_factory.mktemp("clips"))


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frames")


def asked(task: str, root: Path, frames: Path, version: str, **can: bool) -> list[str]:
    model = ScriptedModel(lambda _: "{}", **can)
    run_task(task, model=model, root=root, frames=frames, prompts=version)
    return [words_of(prompt) for prompt in model.asked]


def test_every_clip_is_asked_about_its_own_error_unless_the_faithful_prompt_is_wanted(
    clips: Path, frames: Path
) -> None:
    errors = cases_of(open_task("e-det-im"), clips).table["error_type"].to_list()
    assert len(set(errors)) == 2
    mended = asked("e-det-im", clips, frames, "mended")
    assert all(f"Detect when {error} occurs" in text for error, text in zip(errors, mended, strict=True))
    faithful = asked("e-det-im", clips, frames, "faithful")
    assert all(f"Detect when {errors[0]} occurs" in text for text in faithful)
    assert "<ERROR_TYPE>" not in "".join(faithful)


def test_the_times_of_frames_are_real_and_the_false_ones_stay_in_the_faithful_prompt(clips: Path, frames: Path) -> None:
    model = ScriptedModel(lambda _: "{}")
    run_task("e-det-im", model=model, root=clips, frames=frames)
    first = model.asked[0]
    pictures = [piece for piece in first.parts if isinstance(piece, PromptImage)]
    assert len(pictures) == 35
    assert f"{len(pictures)} frames are shown" in words_of(first)
    spacing = pictures[1].at_s - pictures[0].at_s
    assert spacing == pytest.approx((10 - 0.04) / 34, abs=2e-3)
    assert "Frame 1: 00:00.3" in words_of(first)
    video = next(
        one for one in prompts_of(open_task("e-det-im")) if one.family == "video" and one.version == "faithful"
    )
    assert "Frame 1: 00:51" in video.text
    assert any("5 s apart" in fault for fault in video.faults)


def test_the_bench_trial_is_not_described_as_a_cholecystectomy(tmp_path: Path, frames: Path) -> None:
    root = build(open_task("knot-ski-js"), tmp_path)
    mended, faithful = (asked("knot-ski-js", root, frames, version) for version in ("mended", "faithful"))
    assert not any("cholecystectomy" in text for text in mended)
    assert all("Knot Tying" in text for text in mended)
    assert all("cholecystectomy" in text for text in faithful)


def test_frames_are_in_the_order_of_time_however_the_folder_lists_them(tmp_path: Path) -> None:
    shelf, video = FrameCache(tmp_path), tiny_video()
    shelf.cut(video, [7.0, 0.4, 3.2])
    shelf.cut(video, [10.0, 2.0])
    times = [0.4, 2.0, 3.2, 7.0, 10.0]
    pictures = shelf.pictures(video, times)
    assert [one.at_s for one in pictures] == times
    assert [stamp(one.path) for one in pictures] == [400, 2000, 3200, 7000, 10000]
    names = [one.path.name for one in pictures]
    shelf.cut(video, times)
    assert [one.path.name for one in shelf.pictures(video, times)] == names
    assert not list(tmp_path.rglob("*.writing"))


def stamp(path: Path) -> int:
    """The time that is written into a stored frame."""
    import av

    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        return read_stamp(frame.to_ndarray(format="rgb24"))


def test_images_without_a_predicted_box_count(tmp_path: Path, frames: Path) -> None:
    root = build(open_task("tool-es"), tmp_path)
    cases = cases_of(open_task("tool-es"), root)
    boxed = {one["image_id"] for one in cases.boxes["annotations"]}
    hit = {row["case"] for row in cases.table.to_dicts() if row["image_key"] in boxed}
    box = '{"tool1": [1, 1, 5, 4]}'
    first = min(hit)
    every = run_task("tool-es", model=ScriptedModel(lambda p: box if p.id in hit else "{}"), root=root, frames=frames)
    one = run_task("tool-es", model=ScriptedModel(lambda p: box if p.id == first else "{}"), root=root, frames=frames)
    assert every.value("detection_f1") == 1.0
    assert one.value("detection_f1") == pytest.approx(2 / 3)
    assert every.value("coco_ap") == pytest.approx(1.0)
    assert one.value("coco_ap") < 0.6


def test_boxes_count_in_the_convention_of_the_model_and_the_size_of_the_image(tmp_path: Path, frames: Path) -> None:
    root = build(open_task("tool-es"), tmp_path)
    assert image_size(next((root / "test").glob("*.jpg"))) == (8, 6)
    thousandths = '{"tool1": [167, 125, 667, 625]}'
    model = ScriptedModel(lambda _: thousandths, boxes="yxyx-1000")
    result = run_task("tool-es", model=model, root=root, frames=frames)
    answers = result.answers.filter(pl.col("reading") == "ok")["answer"].to_list()
    assert '["tool", 1.0, 1.00' in answers[0]
    assert "in thousandths of height and width" in words_of(model.asked[0])
    with pytest.raises(InputInvalid, match="how it writes boxes"):
        run_task("tool-es", model=ScriptedModel(lambda _: "{}", boxes=None), root=root, frames=frames)


def test_a_stray_class_of_the_study_changes_only_the_study_policy(tmp_path: Path, frames: Path) -> None:
    task = open_task("e-clf-im")
    root = build(task, tmp_path)
    rows = {row["case"]: row for row in cases_of(task, root).table.to_dicts()}
    lost = min(rows)
    model = ScriptedModel(lambda p: "no idea" if p.id == lost else right_answer(task, rows[p.id]))
    result = run_task("e-clf-im", model=model, root=root, frames=frames)
    assert result.value("accuracy") == pytest.approx(3 / 4)
    f1 = {
        (row["policy"], row["labels"]): row["value"]
        for row in result.policies.to_dicts()
        if row["metric"] == "macro_f1"
    }
    assert f1["excluded", "supported"] == pytest.approx(1.0)
    assert f1["study", "union"] < f1["wrong", "supported"]


def test_a_refusal_is_no_class(tmp_path: Path, frames: Path) -> None:
    root = build(open_task("phase-c80"), tmp_path)
    sorry = ScriptedModel(lambda _: "I'm sorry, I can't assist with that.")
    result = run_task("phase-c80", model=sorry, root=root, frames=frames)
    assert set(result.answers["reading"]) == {"refused"}
    assert result.value("accuracy") == 0.0
    assert result.nothing_came


def test_numbers_of_a_contrastive_model_are_kept_apart_from_decisions(tmp_path: Path, frames: Path) -> None:
    root = build(open_task("tool-c80"), tmp_path)
    classes = open_task("tool-c80").answer.classes
    scores = {name: 0.1 * place for place, name in enumerate(classes)}
    model = ScriptedModel(lambda _: Outcome(Status.ANSWERED, "", scores), text=False, scores=True)
    result = run_task("tool-c80", model=model, root=root, frames=frames)
    assert result.headline == "f1_max"
    assert {"f1_max", "f1_max_all_positive", "f1_max_global"} <= set(result.metrics["metric"])
    assert model.asked[0].label_texts[0] == "A surgical scene containing a grasper."
    assert "macro_f1" not in set(result.metrics["metric"])


def test_a_word_that_is_neither_yes_nor_no_costs_its_class_and_no_other(tmp_path: Path, frames: Path) -> None:
    root = build(open_task("tool-c80"), tmp_path)
    said = {"Grasper": "Perhaps.", "Hook": "Yes, there is."}
    names = {name.casefold(): words for name, words in said.items()}
    model = ScriptedModel(
        lambda p: next((words for name, words in names.items() if name in words_of(p).casefold()), "no")
    )
    result = run_task("tool-c80", model=model, root=root, frames=frames, family="yes-no")
    first = json.loads(result.answers["answer"][0])
    assert first.pop("Grasper") is None
    assert first.pop("Hook") is True
    assert set(first.values()) == {False}
    assert "neither yes nor no for Grasper" in result.answers["notes"][0]


def test_references_and_scores_keep_their_places(tmp_path: Path, frames: Path) -> None:
    from sklearn.metrics import average_precision_score

    root = build(open_task("tool-c80"), tmp_path)
    classes = open_task("tool-c80").answer.classes
    rows = {row["case"]: row for row in cases_of(open_task("tool-c80"), root).table.to_dicts()}
    draw = random.Random(5)
    given = {case: {name: draw.random() for name in classes} for case in rows}
    model = ScriptedModel(lambda p: Outcome(Status.ANSWERED, "", given[p.id]), text=False, scores=True)
    result = run_task("tool-c80", model=model, root=root, frames=frames)
    pairs = {name: ([row[f"reference:{name}"] for row in rows.values()], [given[case][name] for case in rows])
             for name in classes}  # fmt: skip
    expected = [average_precision_score(*pair) for pair in pairs.values() if any(pair[0])]
    assert len(rows) > len(set(expected)) > 1
    assert result.value("mean_ap") == pytest.approx(sum(expected) / len(expected))


def test_an_unreadable_answer_about_a_video_costs_its_clip_and_is_no_interval(clips: Path, frames: Path) -> None:
    task = open_task("e-det-im")
    rows = {row["case"]: row for row in cases_of(task, clips).table.to_dicts()}
    lost = min(rows)
    model = ScriptedModel(lambda p: '{"start": 1, "end"' if p.id == lost else right_answer(task, rows[p.id]))
    result = run_task("e-det-im", model=model, root=clips, frames=frames)
    answers = {row["case"]: row for row in result.answers.to_dicts()}
    assert (answers[lost]["reading"], answers[lost]["answer"]) == ("failed", None)
    assert {row["reading"] for case, row in answers.items() if case != lost} <= {"ok", "repaired"}
    assert result.value("temporal_iou") == pytest.approx((len(rows) - 1) / len(rows), abs=0.02)


def test_a_window_a_rate_and_a_budget_give_times_within_the_clip() -> None:
    def times(**media: object) -> Sequence[float]:
        return Plan(Media(kind="video", **media)).times_s(10.0, 20.0, fps=25.0)  # type: ignore[arg-type]

    assert times(uniform=3) == (10.0, 14.98, 19.96)
    assert times(uniform=1) == (14.98,)
    assert times(rate_hz=0.5) == (10.0, 12.0, 14.0, 16.0, 18.0)
    assert times(every=50) == (10.0, 12.0, 14.0, 16.0, 18.0)
    assert times(rate_hz=2.0, most_frames=3) == (10.0, 15.0, 19.5)
    assert len(times(rate_hz=2.0, token_budget=1100)) == 4
    assert Plan(Media(kind="video", uniform=3)).digest != Plan(Media(kind="video", uniform=4)).digest
    with pytest.raises(Misuse, match="no length"):
        Plan(Media(kind="video", uniform=3)).times_s(5.0, 5.0)
