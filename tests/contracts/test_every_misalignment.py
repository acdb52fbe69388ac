"""Every fault that was once scored in silence is named by `evaluate`, and the option it proposes gives the number back.

Studies are simulated, written as tools write them, and read by the entry that users take; how often faults are seen is
measured elsewhere (`tests/slow/test_alignment_rates.py`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from docs.aligned_studies import (
    MaskStudy,
    PhaseStudy,
    box_faults,
    box_study,
    mask_faults,
    mask_study,
    phase_faults,
    phase_study,
)

import surgvalid
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.alignment.boxes import BoxStudy, LocatedBoxes

ARGUMENTS = {"boxes": "box_format", "classes": "class_numbers"}
"""Parts of `--format` that the library calls otherwise."""
LISTS = ("no_predictions",)


class Planted(NamedTuple):
    """Sound and faulty predictions of one study, as `evaluate` takes them."""

    kind: str
    sound: Any
    faulty: Any
    reference: Any
    metric: str
    named: str
    """What is told of the fault."""
    mend: str = ""
    """The part of `--format` that is proposed, where the fault can be undone."""
    within: float = 1e-9
    """How near the mended number comes: a lag loses the ends of videos."""


Build = Callable[[Path], Planted]


def coco(study: BoxStudy) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A study as a COCO data set and results."""
    images = [
        {"id": n, "video": study.videos[v], "file_name": study.files[n], "width": 854, "height": 480}
        for n, v in enumerate(study.video.tolist())
    ]

    def listed(side: LocatedBoxes) -> list[dict[str, Any]]:
        rows = zip(side.image.tolist(), side.category.tolist(), side.box.tolist(), strict=True)
        return [{"image_id": image, "category_id": label + 1, "bbox": box} for image, label, box in rows]

    annotations = [{**one, "id": place} for place, one in enumerate(listed(study.reference), 1)]
    categories = [{"id": place, "name": name} for place, name in enumerate(study.names, 1)]
    scores = np.asarray(study.prediction.score).tolist()
    results = [{**one, "score": score} for one, score in zip(listed(study.prediction), scores, strict=True)]
    return {"images": images, "annotations": annotations, "categories": categories}, results


def boxes(fault: str, named: str, mend: str = "", within: float = 1e-9) -> Build:
    def build(_: Path) -> Planted:
        study = box_study(3, "usual")[1]
        data, sound = coco(study)
        faulty = coco(box_faults(study, 3)[fault][1])[1]
        return Planted("detection", sound, faulty, data, "coco_ap50", named, mend, within)

    return build


def ids_of_another_order(_: Path) -> Planted:
    """As ultralytics counts images: names say what ids contradict, in all records but the first."""
    data, sound = coco(box_study(3, "usual")[1])
    names = {image["id"]: image["file_name"] for image in data["images"]}
    place = {name: at for at, name in enumerate(sorted(names.values()))}
    named = [{**one, "file_name": names[one["image_id"]], "image_id": place[names[one["image_id"]]]} for one in sound]
    for side in (named, sound):  # a box beyond its image is another question
        side[:] = [one for one in side if one["bbox"][1] + one["bbox"][3] < 480]
    what = "ids would name another image for"
    return Planted("detection", sound, named, data, "coco_ap50", what)


def two_videos_without(_: Path) -> Planted:
    study = box_study(3, "usual")[1]
    data, sound = coco(study)
    sizes = np.bincount(study.video)
    silent = set(np.argsort(-sizes)[:2].tolist())
    faulty = [one for one in sound if study.video[one["image_id"]] not in silent]
    return Planted("detection", sound, faulty, data, "coco_ap50", "2 of .* videos have references and no prediction",
                   "no_predictions=", 1.0)  # fmt: skip


def some_boxes(named: str, kept: Callable[[BoxStudy], np.ndarray]) -> Build:
    """Detections of some images alone."""

    def build(_: Path) -> Planted:
        study = box_study(3, "usual")[1]
        data, sound = coco(study)
        held = kept(study)
        faulty = [one for one in sound if held[one["image_id"]]]
        return Planted("detection", sound, faulty, data, "coco_ap50", named)

    return build


def one_video_mirrored(_: Path) -> Planted:
    study = box_study(3, "usual")[1]
    data, sound = coco(study)
    longest = np.bincount(study.video).argmax()
    mirrored = [{**one, "bbox": [854 - one["bbox"][0] - one["bbox"][2], *one["bbox"][1:]]} for one in sound]
    here = [study.video[one["image_id"]] == longest for one in sound]
    faulty = [other if there else one for one, other, there in zip(sound, mirrored, here, strict=True)]
    what = f"In 1 of .* videos .{study.videos[longest]}. predictions lie no nearer"
    return Planted("detection", sound, faulty, data, "coco_ap50", what)


def crossed_boxes(count: int) -> Build:
    def build(_: Path) -> Planted:
        study = box_study(3, "usual")[1]
        rng = np.random.default_rng(count)
        label = rng.integers(0, count, len(study.reference.image))
        ours = study.reference._replace(category=label)
        score = rng.uniform(0.1, 1, len(label))
        theirs = ours._replace(box=ours.box + rng.normal(0, 3, ours.box.shape), score=score)
        study = study._replace(reference=ours, prediction=theirs, names=[f"class{c}" for c in range(count)])
        swap = np.arange(count)
        swap[[0, 2]] = 2, 0
        data, sound = coco(study)
        faulty = coco(study._replace(prediction=theirs._replace(category=swap[label])))[1]
        return Planted("detection", sound, faulty, data, "coco_ap50", "Classes are crossed", "renamed=")

    return build


def labels_of(study: PhaseStudy) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {"video": [], "second": [], "reference": [], "prediction": []}
    for place, sides in enumerate(zip(study.reference, study.prediction, strict=True)):
        rows["video"] += [f"v{place}"] * len(sides[0])
        rows["second"] += list(range(len(sides[0])))
        for side, labels in zip(("reference", "prediction"), sides, strict=True):
            rows[side] += [f"phase{label}" for label in labels]
    return rows


def phases(fault: str, named: str, mend: str, within: float = 1e-9) -> Build:
    def build(_: Path) -> Planted:
        study = phase_study(3, "usual")
        sides = [labels_of(one) for one in (study, phase_faults(study)[fault][1])]
        return Planted("phases", *sides, None, "phase_accuracy", named, mend, within)

    return build


def maps_of(study: MaskStudy, side: np.ndarray) -> dict[str, np.ndarray]:
    first = np.searchsorted(study.video, study.video)
    names = [f"v{v}/{n:04}" for v, n in zip(study.video.tolist(), np.arange(len(first)) - first, strict=True)]
    return dict(zip(names, side, strict=True))


def masks(fault: str, named: str, mend: str = "", within: float = 1e-9, seed: int = 4) -> Build:
    def build(_: Path) -> Planted:
        study = mask_study(seed, "fast")
        faulty = mask_faults(study, seed)[fault][1]
        sides = [maps_of(study, one) for one in (study.prediction, faulty.prediction, study.reference)]
        return Planted("segmentation", *sides, "dsc_classes", named, mend, within)

    return build


def some_masks(named: str, change: Callable[[MaskStudy], np.ndarray], mend: str = "", seed: int = 4) -> Build:
    def build(_: Path) -> Planted:
        study = mask_study(seed, "usual")
        sides = [maps_of(study, one) for one in (study.prediction, change(study), study.reference)]
        return Planted("segmentation", *sides, "dsc_classes", named, mend)

    return build


def place_of(study: BoxStudy | MaskStudy) -> np.ndarray:
    """Of every image in its video."""
    return np.arange(len(study.video)) - np.searchsorted(study.video, study.video)


def mirrored_in_one(study: MaskStudy) -> np.ndarray:
    here = study.video == np.bincount(study.video).argmax()
    return np.where(here[:, None, None], study.prediction[:, :, ::-1], study.prediction)


def frames_from_0(folder: Path) -> Planted:
    """MOT text counts frames from 1."""
    rng = np.random.default_rng(0)
    for side in ("ours", "sound", "faulty"):
        (folder / side).mkdir(parents=True)
    for video in range(6):
        lines: dict[str, list[str]] = {"ours": [], "sound": [], "faulty": []}
        for track in (1, 2):
            at, step = rng.uniform(0, 300, 2), rng.uniform(-14, 14, 2)
            for frame in range(1, 41):
                at = at + step
                x, y = at + rng.normal(0, 2, 2)
                lines["ours"].append(f"{frame},{track},{at[0]},{at[1]},90,70,1,1,1")
                lines["sound"].append(f"{frame},{track},{x},{y},90,70,1,1,1")
                lines["faulty"].append(f"{frame - 1},{track},{x},{y},90,70,1,1,1")
        for side, one in lines.items():
            (folder / side / f"v{video}.txt").write_text("\n".join(one))
    return Planted("tracking", folder / "sound", folder / "faulty", folder / "ours", "hota",
                   "count from 0", "lag=")  # fmt: skip


FAULTS: dict[str, Build] = {
    "1 ids that names contradict": ids_of_another_order,
    "1 ids one on": boxes("ids one on", "late|another order", "lag=|join=", 0.03),
    "1 ids in the order of text": boxes("text order", "in another order", "join=text-order"),
    "2 detections a frame late": boxes("1 frame late", "1 image late in", "lag=-1", 0.03),
    "2 masks a frame late": masks("1 frame late", "1 image late in", "lag=-1", 0.03),
    "2 masks of one video late": masks("one video 4 late", "alone are 4 images late", "lag=", 0.05, seed=1),
    "2 phases 25 s late": phases("25 s late", "on average .* s late in", "lag_s=", 0.02),
    "2 phases of one video late": phases("one video 30 s late", "'v1' alone are", "lag_s=v1:", 0.02),
    "2 frames of tracks from 0": frames_from_0,
    "3 two videos without detections": two_videos_without,
    "3 results cut by score": boxes("scores cut at 0.6", "results were cut by score"),
    "3 mirrored": boxes("mirrored", "mirrored left to right", "boxes_from=mirror:x"),
    "3 offset of 60 px": boxes("offset 60 px", "px right", "boxes_from=offset:", 0.02),
    "3 letterbox": boxes("letterbox 640", "padded to a square of 640 px", "boxes_from=letterbox:640"),
    "3 corners as sizes": boxes("corners as sizes", "two corners", "boxes=xyxy"),
    "4 two classes of five": crossed_boxes(5),
    "4 two classes of seven": crossed_boxes(7),
    "4 two classes of ten": crossed_boxes(10),
    "4 two phases": phases("two swapped", "Classes are crossed", "renamed="),
    "4 another order of phases": phases("another order", "Classes are crossed|1 place", "renamed="),
    "4 two classes of masks": masks("two classes swapped", "Classes are crossed", "renamed="),
    "4 classes of masks times 40": some_masks(
        "No predicted class is one of the references'", lambda study: study.prediction * np.uint8(40), "renamed="
    ),
    "3 one video mirrored": one_video_mirrored,
    "3 one video of masks mirrored": some_masks("In 1 of .* predictions lie no nearer", mirrored_in_one, seed=0),
    "3 masks moved": some_masks("better moved by", lambda study: np.roll(study.prediction, 12, axis=2)),
    "3 every second image alone": some_boxes("Only every 2nd image of", lambda study: place_of(study) % 2 == 0),
    "3 every second mask alone": some_masks(
        "Only every 2nd image of", lambda study: study.prediction * (place_of(study) % 2 == 0)[:, None, None]
    ),
    "3 videos cut short": some_boxes("no predictions from image 13 on", lambda study: place_of(study) < 12),
    "5 every instrument called one": masks("all called one", "never predicted|crossed"),
}
"""Every fault that files had in silence, by its number in a list of them."""


def told(planted: Planted) -> str:
    """What is said of the faulty predictions, whether a number is refused or not."""
    try:
        result = surgvalid.evaluate(planted.kind, planted.faulty, planted.reference, metrics=[planted.metric])
    except (InputInvalid, Misuse) as error:
        return str(error)
    return " ".join(finding.message for finding in result.findings)


def proposed(text: str, mend: str) -> dict[str, Any]:
    """The option that a text proposes, as the library takes it."""
    pattern = rf"--format (?='?(?:{mend}))('[^']+'|\S+)"
    held = re.search(pattern, text)
    assert held, text
    name, _, value = shlex.split(held[1].rstrip(".,;"))[0].partition("=")
    return {ARGUMENTS.get(name, name): value.split("+") if name in LISTS else value}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_silent_is_named_and_its_mend_gives_the_number(fault: str, tmp_path: Path) -> None:
    planted = FAULTS[fault](tmp_path)
    text = told(planted)
    assert re.search(planted.named, text), text

    def value(predictions: Any, **options: Any) -> float:
        made = surgvalid.evaluate(planted.kind, predictions, planted.reference, metrics=[planted.metric], **options)
        return made.value(planted.metric)

    right = value(planted.sound)
    if planted.mend:
        assert value(planted.faulty, **proposed(text, planted.mend)) == pytest.approx(right, abs=planted.within)
    elif "ids that names contradict" in fault:
        assert value(planted.faulty) == right
    else:
        assert value(planted.faulty, as_read=True) < right


def test_one_dsc_of_several_classes_is_asked_about() -> None:
    """Every instrument called class 1 has a foreground DSC of 1."""
    study = mask_study(4, "usual")
    ours, theirs = (maps_of(study, one) for one in (study.reference, (study.reference > 0).astype(np.uint8)))
    with pytest.raises(Misuse, match="dsc_classes"):
        surgvalid.evaluate("segmentation", theirs, ours, metrics=["dsc"])
