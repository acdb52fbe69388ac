"""Still images with boxes give FRAME questions, whichever tool exported them, and every answer is in the boxes."""

from __future__ import annotations

import json
from itertools import groupby
from math import hypot
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from still_images import CLASSES, FORMATS, Box, Scene, coco, scene, yolo
from surgvalid import score, study
from surgvalid.cli import build_app
from surgvalid.errors import ProcedureInvalid, QuestionsInvalid
from surgvalid.questions.knowledge import USE


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(build_app(), ["data", "questions", *map(str, words)])


def rows(folder: Path, name: str) -> list[dict]:
    return [row for path in sorted(folder.glob(f"*/frame/{name}.json")) for row in json.loads(path.read_text())]


def answer(template: str, slots: dict, width: int, height: int, boxes: list[Box]) -> str:
    """The answer by the boxes of the image alone, from the wording of the question."""

    def quadrant(box: Box) -> str:
        _, x, y, w, h = box
        return f"{'upper' if y + h / 2 < height / 2 else 'lower'} {'left' if x + w / 2 < width / 2 else 'right'}"

    labels = [label for label, *_ in boxes]
    named, other = slots.get("object"), slots.get("other")
    match template:
        case "visible-classes":
            return ", ".join(sorted(set(labels))) or "None"
        case "instances-seen":
            return str(labels.count(named))
        case "objects-visible":
            return str(len(boxes))
        case "classes-count":
            return str(len(set(labels)))
        case "main-use":
            [label] = labels
            return USE[label].text
        case "class-visible":
            return "yes" if named in labels else "no"
        case "only-class":
            [label] = labels
            return label
        case "together":
            return "yes" if named in labels and other in labels else "no"
        case "largest-class":
            return max(boxes, key=lambda box: box[3] * box[4])[0]
        case "nearest-centre":
            return min(boxes, key=lambda b: hypot(b[1] + b[3] / 2 - width / 2, b[2] + b[4] / 2 - height / 2))[0]
        case "quadrant-of":
            [box] = [box for box in boxes if box[0] == named]
            return quadrant(box)
        case "all-quadrants":
            return "; ".join(sorted(f"{box[0]}: {quadrant(box)}" for box in boxes))
        case "left-of":
            [one], [two] = ([box for box in boxes if box[0] == name] for name in (named, other))
            return "yes" if one[1] + one[3] / 2 < two[1] + two[3] / 2 else "no"
    raise AssertionError(f"no reading of {template}")


def image_of(images: Scene, video: str) -> str:
    [name] = [name for name in images if video.endswith(name)]
    return name


@pytest.mark.parametrize("tool", FORMATS)
def test_sixty_stills_give_a_hundred_questions_that_equal_the_boxes(tool: str, tmp_path: Path) -> None:
    images = scene()
    done = run(
        FORMATS[tool](images, tmp_path / "in"),
        "--out",
        tmp_path / "made",
        "--track",
        "frame",
        "--annotated",
        "classes",
        "--per-video",
        "10",
    )
    assert done.exit_code == 0, done.exception
    requests = {row["qID"]: row for row in rows(tmp_path / "made", "requests")}
    references = {row["qID"]: row for row in rows(tmp_path / "made", "references")}
    lines = [line for path in (tmp_path / "made").glob("*/*/proofs.jsonl") for line in path.read_text().splitlines()]
    proofs = [json.loads(line) for line in lines]
    assert len(requests) == len(references) == len(proofs) >= 100
    positive = 0
    for proof in proofs:
        request, reference = requests[proof["qID"]], references[proof["qID"]]
        width, height, boxes = images[image_of(images, request["videoID"])]
        assert reference["answer"] == answer(proof["template"], proof["slots"], width, height, boxes), proof
        positive += reference["answer"] not in ("no", "0", "None")
    assert 2 * positive >= len(proofs)


def test_images_are_asked_about_as_images_alone_and_are_called_as_their_files(tmp_path: Path) -> None:
    images = scene()
    words = (yolo(images, tmp_path / "in"), "--annotated", "classes", "--per-video", "10")
    done = run(*words, "--patient-pattern", r"(p\d+)-", "--out", tmp_path / "made")
    assert done.exit_code == 0, done.exception
    assert {path.parent.name for path in (tmp_path / "made").glob("*/*/requests.json")} == {"frame"}
    assert {row["videoID"] for row in rows(tmp_path / "made", "requests")} <= set(images)
    video_of = {row["qID"]: row["videoID"] for row in rows(tmp_path / "made", "requests")}
    references = rows(tmp_path / "made", "references")
    assert all(row["patient"] == video_of[row["qID"]].partition("-")[0] for row in references)
    card = json.loads((tmp_path / "made" / "data_card.json").read_text())
    assert not any("has no question" in defect for defect in card["defects"])
    empty = sum(not boxes for _, _, boxes in images.values())
    assert any(f"{empty} of 60 videos never show" in defect for defect in card["defects"])
    apart = {(row["track"], row["reason"]) for row in card["withheld"] if row["template"] == "every template"}
    assert {track for track, _ in apart} == {"segment", "procedure"}
    place = tmp_path / "made" / "test" / "frame"
    answers = [{"qID": row["qID"], "content": "no", "latency": 1} for row in rows(tmp_path / "made", "requests")]
    (tmp_path / "no.json").write_text(json.dumps(answers))
    scored = score(place / "requests.json", place / "references.json", tmp_path / "no.json", model="no")
    scored.to_dir(tmp_path / "no")
    held = study(tmp_path / "no" / "scores.parquet", metric="correct", missing="worst")
    assert "patients" in repr(held.findings) + held.title, held.findings


def test_boxes_without_identity_give_frame_questions_and_the_other_tracks_are_withheld(tmp_path: Path) -> None:
    images = {f"f_{n:03}": (640, 360, boxes) for n, (_, _, boxes) in enumerate(scene().values())}
    fit = {
        name: (w, h, [b for b in boxes if b[1] + b[3] <= w and b[2] + b[4] <= h])
        for name, (w, h, boxes) in images.items()
    }
    source = coco(fit, tmp_path / "in")
    words = (source, "--fps", "1", "--annotated", "classes", "--per-video", "200", "--test-share", "0")
    done = run(*words, "--out", tmp_path / "made")
    assert done.exit_code == 0, done.exception
    assert len(rows(tmp_path / "made", "requests")) >= 20
    assert {path.parent.name for path in (tmp_path / "made").glob("*/*/requests.json")} == {"frame"}
    assert "confirmed by nobody" in (tmp_path / "made" / "data_card.md").read_text()
    refused = run(*words, "--track", "segment", "--out", tmp_path / "segment")
    assert isinstance(refused.exception, ProcedureInvalid)
    assert "--with unverified" in str(refused.exception)
    assert not (tmp_path / "segment").exists()


def test_the_cause_of_an_empty_set_comes_first_and_nothing_is_left_behind(tmp_path: Path) -> None:
    images = {name: (w, h, []) for name, (w, h, _) in scene(4).items()}
    done = run(coco(images, tmp_path / "in"), "--out", tmp_path / "made", "--annotated", "classes")
    assert isinstance(done.exception, QuestionsInvalid)
    first, *others = done.exception.problems
    assert "nothing is written" in first
    assert "no foreign object is in view" in first
    assert len(others) <= 2
    assert not (tmp_path / "made").exists()


def test_images_of_one_patient_stay_on_one_side_where_the_pattern_tells_the_patient(tmp_path: Path) -> None:
    source = yolo(scene(), tmp_path / "in")
    words = (source, "--track", "frame", "--annotated", "classes", "--per-video", "10")
    assert run(*words, "--out", tmp_path / "apart").exit_code == 0
    assert "images of one patient may be in train and test" in (tmp_path / "apart" / "data_card.md").read_text()
    assert run(*words, "--patient-pattern", r"(p\d+)-", "--out", tmp_path / "grouped").exit_code == 0
    videos = json.loads((tmp_path / "grouped" / "data_card.json").read_text())["videos"]
    key = lambda row: row["patient"]  # noqa: E731
    sides = {patient: {row["split"] for row in group} for patient, group in groupby(sorted(videos, key=key), key)}
    assert len(sides) == 20
    assert all(len(split) == 1 for split in sides.values())
    assert "may be in train and test" not in (tmp_path / "grouped" / "data_card.md").read_text()


def test_labels_are_read_as_the_classes_that_they_spell_and_instruments_are_none(tmp_path: Path) -> None:
    spelled = {"Clip": "clip", "Specimen Bag": "specimen_bag", "Sponge": "SPONGE", "Needle": "hook (l)"}
    images = scene(20)
    drawn = {name: (w, h, [(spelled.get(b[0], b[0]), *b[1:]) for b in boxes]) for name, (w, h, boxes) in images.items()}
    words = (coco(drawn, tmp_path / "in", tuple(spelled.get(name, name) for name in CLASSES)), "--annotated", "classes")
    refused = run(*words, "--out", tmp_path / "made")
    assert "say --annotated instrument:'hook (l)' of an instrument" in str(refused.exception)
    done = run(*words, "--annotated", "instrument:hook (l)", "--out", tmp_path / "made", "--per-video", "8")
    assert done.exit_code == 0, done.exception
    assert "label 'specimen_bag' is read as 'Specimen Bag'" in done.stderr
    lines = [line for path in (tmp_path / "made").glob("*/*/proofs.jsonl") for line in path.read_text().splitlines()]
    proofs = {proof["qID"]: proof for proof in map(json.loads, lines)}
    requests = {row["qID"]: row for row in rows(tmp_path / "made", "requests")}
    for row in rows(tmp_path / "made", "references"):
        width, height, boxes = images[image_of(images, requests[row["qID"]]["videoID"])]
        proof, seen = proofs[row["qID"]], [box for box in boxes if box[0] != "Needle"]
        assert row["answer"] == answer(proof["template"], proof["slots"], width, height, seen), proof


def test_what_was_decided_is_said_in_one_line(tmp_path: Path) -> None:
    done = run(coco(scene(6), tmp_path / "in"), "--out", tmp_path / "made", "--annotated", "classes")
    lines = [line for line in done.stderr.splitlines() if "video of its own" in line]
    assert len(lines) == 1
    assert len(done.stderr.splitlines()) < 12
