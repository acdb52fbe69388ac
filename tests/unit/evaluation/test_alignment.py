"""Faults planted in simulated studies are named with what mends them, and sound studies are left alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.aligned_studies import (
    PhaseStudy,
    box_faults,
    box_study,
    mask_faults,
    mask_study,
    phase_faults,
    phase_study,
)
from docs.validate_alignment import alarms, looked_at, looked_at_masks

import surgvalid
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.alignment.boxes import BoxStudy, box_alignment, lags_of, orders
from surgvalid.evaluation.run import check


@pytest.mark.parametrize("kind", ["usual", "fast"])
def test_every_planted_fault_of_boxes_is_named(kind: str) -> None:
    seen: Counter[str] = Counter()
    for seed in (11, 12):
        _, study = box_study(seed, kind)
        assert alarms(box_alignment(study, scored=True)) == []
        for name, (codes, wrong) in box_faults(study, seed).items():
            looked = box_alignment(wrong, scored=True)
            seen[name] += any(looked.get(code) for code in codes.split())
    missed = {name for name in box_faults(study, 0) if not seen[name]}
    assert missed <= {"one video 4 late"}, "one video carries little evidence"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_steady_delay_of_phases_is_a_warning_and_crossed_phases_an_error(seed: int) -> None:
    study = phase_study(seed, "usual")
    assert alarms(looked_at(study)) == []
    faults = phase_faults(study)
    for name in ("25 s late", "two swapped", "another order"):
        code, wrong = faults[name]
        assert code in alarms(looked_at(wrong)), name
    doubt = looked_at(faults["25 s late"][1])["predictions-shifted"]
    assert doubt is not None
    assert "--format lag_s=-2" in doubt.hint


def rows_of_phases(study: PhaseStudy, videos: int) -> dict[str, list[Any]]:
    """The first videos as a table of labels."""
    rows: dict[str, list[Any]] = {"video": [], "second": [], "reference": [], "prediction": []}
    for place, sides in enumerate(zip(study.reference[:videos], study.prediction, strict=False)):
        rows["video"] += [f"v{place}"] * len(sides[0])
        rows["second"] += list(range(len(sides[0])))
        for side, labels in zip(("reference", "prediction"), sides, strict=True):
            rows[side] += [f"phase{label}" for label in labels]
    return rows


def test_one_video_of_phases_that_is_late_is_named_and_its_mend_mends_it() -> None:
    study = phase_study(3, "usual")
    late = phase_faults(study)["one video 30 s late"][1]
    sound, shifted = (rows_of_phases(one, 10) for one in (study, late))
    doubts = [one for one in check("phases", shifted).findings if one.code == "predictions-shifted"]
    assert [one.severity.value for one in doubts] == ["warning"]
    assert "video 'v1' alone are" in doubts[0].message
    assert (mend := re.search(r"--format lag_s=(v1:-\d+)", doubts[0].message))
    assert 20 <= -float(mend[1].partition(":")[2]) <= 40
    values = [
        surgvalid.evaluate("phases", rows, metrics=["phase_accuracy"], lag_s=lag).value("phase_accuracy")
        for rows, lag in ((sound, None), (shifted, None), (shifted, "v1:-30"))
    ]
    assert values[2] == pytest.approx(values[0], abs=0.005)
    assert values[1] < values[0] - 0.01
    with pytest.raises(Misuse, match=r"lag_s=v1:soon: 'soon' is no number of seconds"):
        surgvalid.evaluate("phases", shifted, lag_s="v1:soon")


def test_a_frame_late_is_seen_by_motion_where_overlaps_hardly_change() -> None:
    seen = 0
    for seed in range(30, 36):
        _, study = box_study(seed, "weak")
        assert alarms(box_alignment(study, scored=True)) == []
        late = box_alignment(box_faults(study, seed)["1 frame late"][1], scored=True)["predictions-shifted"]
        seen += late is not None and "1 image late" in late.evidence
    assert seen >= 3


def test_images_in_the_order_of_text_are_no_lag_and_boxes_at_random_no_order() -> None:
    for seed in (330033, 330035):
        looked = box_alignment(box_faults(box_study(seed)[1], seed)["text order"][1], scored=True)
        assert "join=text-order" in str(looked["images-exchanged"])
    for seed in (330001, 330050):
        looked = box_alignment(box_faults(box_study(seed)[1], seed)["at random"][1], scored=True)
        assert "no nearer to their own images" in str(looked["images-exchanged"])


def test_classes_shifted_by_one_are_told_from_a_model_that_confuses_neighbours() -> None:
    for seed in (330046, 330053):  # weak: half of the names are wrong anyhow
        looked = box_alignment(box_faults(box_study(seed)[1], seed)["shifted, end lost"][1], scored=True)
        assert looked["labels-renamed"] is not None
    for seed in (350106, 350257):  # two thirds of every class are called by the name of the next
        assert box_alignment(box_study(seed)[1], scored=True)["labels-renamed"] is None


def test_mirrored_boxes_are_seen_though_some_videos_lie_in_the_middle() -> None:
    looked = box_alignment(box_faults(box_study(95005)[1], 95005)["mirrored"][1], scored=True)
    assert "mirrored left to right" in str(looked["boxes-elsewhere"])


def few_videos(study: BoxStudy, videos: int, frames: int) -> BoxStudy:
    """The first frames of the first videos."""
    kept = np.flatnonzero((study.video < videos) & (study.place < frames))
    place = np.full(len(study.video), -1)
    place[kept] = np.arange(len(kept))
    sides = [one.of(np.flatnonzero(place[one.image] >= 0)) for one in (study.reference, study.prediction)]
    located = [one._replace(image=place[one.image]) for one in sides]
    files = [study.files[at] for at in kept]
    of_images = {name: getattr(study, name)[kept] for name in ("video", "place", "size")}
    return study._replace(
        reference=located[0], prediction=located[1], **of_images, videos=study.videos[:videos], files=files
    )


@pytest.mark.parametrize("videos", [2, 3, 4])
def test_images_at_random_are_named_in_few_videos_too(videos: int) -> None:
    seen = 0
    for seed in range(20):
        sound = few_videos(box_study(seed)[1], videos, 12)
        assert alarms(box_alignment(sound, scored=True)) == []
        seen += "images-exchanged" in alarms(box_alignment(box_faults(sound, seed)["at random"][1], scored=True))
    assert seen >= 17


def test_a_lag_that_too_few_frames_could_show_is_said_to_be_untold() -> None:
    study = few_videos(box_study(12, "usual")[1], 2, 12)
    note = box_alignment(study, scored=True)["predictions-shifted"]
    assert note is not None
    assert note.severity.value == "note"
    assert "cannot be told from 2 blocks of 10 frames: 5 videos are needed, or 8 such pieces" in note.evidence
    enough = few_videos(box_study(12, "usual")[1], 5, 12)
    assert box_alignment(enough, scored=True)["predictions-shifted"] is None


@pytest.mark.parametrize("frames", [3, 8])
def test_a_single_short_video_is_said_to_be_too_little_for_any_kind(frames: int, tmp_path: Path) -> None:
    images = [{"id": n, "video": "v", "file_name": f"v_{n}.jpg"} for n in range(frames)]
    boxes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [9 * n, 5, 40, 30]} for n in range(frames)]
    data = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "hook"}]}
    maps = {f"v/{n}": np.eye(8, dtype=np.uint8) for n in range(frames)}
    labels = {side: list("aab" + "b" * (frames - 3)) for side in ("reference", "prediction")}
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        lines = [f"{n},1,{9 * n},5,40,30,1,1,1" for n in range(1, frames + 1)]
        (tmp_path / side / "v.txt").write_text("\n".join(lines))
    results = [{**one, "score": 0.5 + one["id"] / 100} for one in boxes]  # type: ignore[operator]
    given = {
        "detection": (results, data),
        "segmentation": (maps, maps),
        "phases": ({"video": ["v"] * frames, "second": range(frames), **labels}, None),
        "tracking": (tmp_path / "theirs", tmp_path / "ours"),
    }
    for kind, sides in given.items():
        spoken = [one.message for one in check(kind, *sides).findings if one.code == "predictions-shifted"]
        assert len(spoken) == 1, kind
        assert "late or early cannot be told" in spoken[0]


def test_one_video_of_masks_that_is_late_is_named() -> None:
    named = 0
    for seed in range(4):
        study = mask_study(seed, "fast")
        assert alarms(looked_at_masks(study)) == []
        late = looked_at_masks(mask_faults(study, seed)["one video 4 late"][1])["predictions-shifted"]
        named += late is not None and bool(re.search(r"video '\d\d' alone are 4 images late", late.evidence))
    assert named >= 2


def test_phases_that_are_late_in_few_videos_are_noted_and_never_called_a_clock() -> None:
    seen = 0
    for seed in range(8):
        study = phase_study(seed, "usual")
        for fault, one in (("", study), ("25 s late", phase_faults(study)["25 s late"][1])):
            few = replace(one, reference=one.reference[:3], prediction=one.prediction[:3])
            doubt = looked_at(few)["predictions-shifted"]
            assert doubt is None or doubt.severity.value == "note"
            assert fault or doubt is None
            seen += doubt is not None and "stretches of one label: agreement" in doubt.evidence
    assert seen >= 4
    brief = replace(study, reference=[one[:100] for one in study.reference[:2]],
                    prediction=[one[:100] for one in study.prediction[:2]])  # fmt: skip
    assert "cannot be told from" in str(looked_at(brief)["predictions-shifted"])


def test_what_a_lag_proposes_undoes_it() -> None:
    _, study = box_study(11, "fast")
    doubt = box_alignment(box_faults(study, 0)["3 frames early"][1], scored=True)["predictions-shifted"]
    assert doubt is not None
    assert "with --format lag=3." in doubt.evidence
    assert lags_of("3", ["a"]) == [3]
    assert lags_of("b:-2+a:1", ["a", "b", "c"]) == [1, -2, 0]


NAMES = ["grasper", "hook", "clipper"]
CROSSED = [1, 2, 0]


def crossed(folder: Path) -> Iterator[tuple[str, Any, Any, Any, dict[str, Any]]]:
    """What several tools write where two classes are crossed: kind, file, right file, references, options."""
    rng = np.random.default_rng(0)
    images = [
        {"id": n, "file_name": f"u{n % 8}_{n}.jpg", "video": n % 8, "width": 100, "height": 100} for n in range(96)
    ]
    drawn, corner = rng.integers(0, 3, 96).tolist(), rng.integers(0, 50, (96, 2)).tolist()
    rows = [
        {"image_id": n, "category_id": c + 1, "bbox": [*at, 40, 30]}
        for n, (c, at) in enumerate(zip(drawn, corner, strict=True))
    ]
    data = {
        "images": images,
        "categories": [{"id": n, "name": name} for n, name in enumerate(NAMES, start=1)],
        "annotations": [{**row, "id": n, "area": 1200, "iscrowd": 0} for n, row in enumerate(rows, start=1)],
    }
    scored = [{**row, "score": round(rng.random(), 3) / 2 + 0.4} for row in rows]
    two = [[{**one, "category_id": to[one["category_id"] - 1] + 1} for one in scored] for to in (CROSSED, range(3))]
    yield "detection", two[0], two[1], data, {}
    by_name = [[{**one, "category_id": NAMES[one["category_id"] - 1]} for one in side] for side in two]
    yield "detection", *by_name, data, {}
    for side, names in (("yolo", [NAMES[c] for c in CROSSED]), ("right", NAMES)):
        (folder / side).mkdir()
        (folder / side / "data.yaml").write_text(f"names: {json.dumps(names)}\n")
        for one in scored:
            (x, y, w, h), name = one["bbox"], images[one["image_id"]]["file_name"][:-4]
            line = (
                f"{one['category_id'] - 1} {(x + w / 2) / 100} {(y + h / 2) / 100} {w / 100} {h / 100} {one['score']}"
            )
            (folder / side / f"{name}.txt").write_text(line)
    yield "detection", folder / "yolo", folder / "right", data, {}
    at = {"video": np.repeat(list("abcdefgh"), 12), "frame": np.tile(np.arange(12), 8)}
    truth = {**at, "reference": [NAMES[c] for c in drawn]}
    labels = [{**at, "prediction": [NAMES[to[c]] for c in drawn]} for to in (CROSSED, range(3))]
    yield "phases", *labels, truth, {}
    numbers = [{**at, "prediction": [to[c] for c in drawn]} for to in (CROSSED, range(3))]
    yield "classification", *numbers, truth, {"prediction_labels": NAMES}
    scores = np.eye(3)[drawn] + rng.random((96, 3)) / 2
    wide = [{**at, **{f"score:{NAMES[to[c]]}": scores[:, c] for c in range(3)}} for to in (CROSSED, range(3))]
    yield "classification", *wide, truth, {}
    maps = [
        {f"{v}/{f}": np.full((4, 4), to[c] + 1) for v, f, c in zip(at["video"], at["frame"], drawn, strict=True)}
        for to in (CROSSED, range(3), range(3))
    ]
    yield "segmentation", *maps, {}


@pytest.mark.parametrize("place", range(7))
def test_what_crossed_classes_propose_mends_them_however_the_file_was_read(place: int, tmp_path: Path) -> None:
    kind, wrong, right, references, options = list(crossed(tmp_path))[place]
    with pytest.raises(InputInvalid, match="are crossed") as refused:
        surgvalid.evaluate(kind, wrong, references, **options)
    (said,) = re.findall(r"--format renamed=(\S+)\.", str(refused.value))
    mended, plain = (
        surgvalid.evaluate(kind, side, references, **options, **more)
        for side, more in ((wrong, {"renamed": said}), (right, {}))
    )
    assert mended.metrics["value"].to_list() == plain.metrics["value"].to_list()
    assert f"renamed {said}" in " ".join(map(str, mended.findings))


def test_names_that_the_predictions_do_not_have_are_no_mend() -> None:
    rows = {"video": list("uuvv"), "frame": [0, 1, 0, 1], "reference": list("abab"), "prediction": list("abaa")}
    for stated in ("x:a", "a", "a:", "a:b:c"):
        with pytest.raises(Misuse, match=r"must pair names of the predictions \(a, b\)"):
            surgvalid.evaluate("classification", rows, renamed=stated)


def test_check_gives_every_check_and_no_number() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 400)
    rows = {"video": np.repeat(list("abcdefgh"), 50), "frame": np.tile(np.arange(50), 8)}
    named = {side: [f"class {c}" for c in codes] for side, codes in (("reference", truth), ("prediction", 3 - truth))}
    result = check("classification", {**rows, **named})
    assert set(result.tables) == {"sanity"}
    outcomes = dict(result.tables["sanity"].select("check", "outcome").rows())
    assert outcomes["labels-renamed"] == "error"
    assert outcomes["constant-predictions"] == "ok"


@pytest.mark.parametrize("videos", [(0, 2, 3), (0, 2), (3,)])
@pytest.mark.parametrize("join", ["text-order", "text-order-undone"])
def test_an_order_of_names_is_proposed_though_it_moves_images_of_few_videos_alone(
    join: str, videos: tuple[int, ...]
) -> None:
    _, study = box_study(12, "usual")
    moments = zip(study.video.tolist(), study.place.tolist(), strict=True)
    files = [f"video{v}_{place if v in videos else f'{place:06}'}.jpg" for v, place in moments]
    assert alarms(box_alignment(study._replace(files=files), scored=True)) == []
    given = study.prediction
    wrong = given._replace(image=np.argsort(orders(files)[join])[given.image])
    looked = box_alignment(study._replace(prediction=wrong, files=files), scored=True)
    assert f"--format join={join}." in str(looked["images-exchanged"])


def test_boxes_at_random_that_lie_a_little_nearer_by_chance_are_unrelated() -> None:
    wrong = box_faults(box_study(940036)[1], 940036)["at random"][1]
    assert "no nearer to their own images" in str(box_alignment(wrong, scored=True)["images-exchanged"])


def test_frames_of_several_videos_under_one_number_are_named() -> None:
    _, study = box_study(12, "usual")
    given = study.prediction
    wrong = study._replace(prediction=given._replace(image=study.place[given.image]))  # images of the first videos
    assert "Do several images share a name" in str(box_alignment(wrong, scored=True)["images-without-predictions"])
    weak = [box_study(seed, "weak")[1] for seed in range(40, 50)]
    assert not any(box_alignment(one, scored=True)["images-without-predictions"] for one in weak)


@pytest.mark.parametrize(("seed", "kind"), [(21, "slow"), (22, "slow"), (10, "weak"), (12, "weak")])
def test_ids_one_on_are_told_by_classes_where_overlaps_hardly_change(seed: int, kind: str) -> None:
    _, study = box_study(seed, kind)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(study.names), len(study.video))  # one class in each image, on both sides
    reference, given = (side._replace(category=drawn[side.image]) for side in (study.reference, study.prediction))
    sound = study._replace(reference=reference, prediction=given)
    assert box_alignment(sound, scored=True)["images-exchanged"] is None
    late = given.of(np.flatnonzero(given.image > 0))
    looked = box_alignment(sound._replace(prediction=late._replace(image=late.image - 1)), scored=True)
    assert looked["images-exchanged"] or looked["predictions-shifted"]
