"""Every reference of simulated questions, derived again from the exported pixels alone, without the ledger.

The masks of `simulate --with masks` are decoded; boxes and times in view are read from them. Whether something lies in
front of an object, events, phases and attributes are counted as annotated. The answers are those of the plain readings,
and stay the same when everything doubtful is taken for seen.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from brute_force_answers import ANSWERS
from brute_force_ledger import PlainReading
from surgvalid.metrics.detection.masks import mask_of_coco
from surgvalid.questions.catalogue import TEMPLATES, templates_for
from surgvalid.questions.drafts import DraftTally, drafts_of
from surgvalid.questions.make import make_questions
from surgvalid.questions.template import QuestionTrack
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.procedure_files import read_procedure
from surgvalid.schema.procedures.tracks import Procedure, Track, Visibility
from surgvalid.simulation import simulate

pytest.importorskip("numba")

SIMULATION = {"seed": 62, "minutes": (3, 4), "width_px": 240, "height_px": 136}


def pixels_of(row: dict) -> np.ndarray:
    """The pixels of an annotation, height x width."""
    mask = mask_of_coco(row["segmentation"])
    flat = np.zeros(mask.height * mask.width, dtype=bool)
    for start, stop in zip(mask.edges[0::2], mask.edges[1::2], strict=True):
        flat[start:stop] = True
    return flat.reshape(mask.width, mask.height).T


def from_pixels(procedure: Procedure, document: dict, *, doubtful: bool) -> Procedure:
    """The procedure with tracks that were read from its masks; with what is doubtful among what is seen, or without."""
    rows: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    for row in document["annotations"]:
        ys, xs = np.nonzero(pixels_of(row))
        box = (xs.min(), ys.min(), xs.max() - xs.min() + 1, ys.max() - ys.min() + 1)
        rows.setdefault(row["instance"], []).append((row["image_id"], box))
    tracks = []
    for track in procedure.tracks:
        points = dict(rows.get(track.instance, []))
        if doubtful:
            points |= dict(zip(track.seconds[track.doubtful].tolist(), track.boxes[track.doubtful], strict=True))
        told = [track.point_at(second).visibility for second in sorted(points)]
        codes = [Visibility.VISIBLE if code is Visibility.OUTSIDE else code for code in told]
        boxes = np.array([points[second] for second in sorted(points)], float)
        tracks.append(Track(
            track.instance, track.class_name, np.array(sorted(points)), boxes, np.array(codes), track.attributes,
            track.changes,
        ))  # fmt: skip
    return replace(procedure, tracks=tuple(tracks))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pixels") / "set"
    simulate(6, **SIMULATION).to_dir(folder, masks=True)
    procedures = [read_procedure(path) for path in sorted((folder / "procedures").glob("*.json"))]
    readings = {}
    for procedure in procedures:
        document = json.loads((folder / "masks" / f"{procedure.video}.json").read_text())
        both = (from_pixels(procedure, document, doubtful=doubtful) for doubtful in (False, True))
        readings[procedure.video] = tuple(map(PlainReading, both))
    return procedures, readings


@pytest.mark.long
def test_every_reference_follows_from_the_pixels(worlds):
    procedures, readings = worlds
    made = make_questions(procedures, per_video=120, test_share=0, matching=True, blind_share=1.0)
    assert all(question.reference.answer == question.draft.answer for question in made.questions)
    drafts = [question.draft for question in made.questions]
    for procedure, track in product(procedures, QuestionTrack):  # what selection leaves out is derived again as well
        ledger, draw = Ledger(procedure), np.random.default_rng(0)
        drafts += drafts_of(ledger, track, templates_for(track, matching=True), 100, draw, DraftTally())
    asked, moved = Counter[str](), 0
    for draft in drafts:
        sure, generous = (
            ANSWERS[draft.template.name](reading, *draft.window, dict(draft.slots)) for reading in readings[draft.video]
        )
        assert sure == draft.answer, (draft.template.name, draft.video, draft.window, draft.slots)
        moved += generous != draft.answer and draft.template.format not in ("time", "percentage")
        asked[draft.template.name] += 1
    print(f"\n{asked.total()} questions of {len(asked)} templates")
    assert moved == 0, "no answer rests on what can hardly be made out"
    assert set(asked) == {template.name for template in TEMPLATES if not template.of_data_sets}


def first_as_worded(text: str, pictures: dict[str, np.ndarray]) -> str:
    """The instance that is largest or nearest to the middle: by its pixels, unless the words name a box or a centre."""

    def measure(name):
        rows, columns = np.nonzero(pictures[name])
        height, width = pictures[name].shape
        if "largest" in text or "most" in text:
            return -np.ptp(rows) * np.ptp(columns) if "bounding box" in text else -len(rows)
        if "whose centre" in text:
            rows, columns = rows.mean(keepdims=True), columns.mean(keepdims=True)
        return np.hypot(rows + 0.5 - height / 2, columns + 0.5 - width / 2).min()

    return min(pictures, key=measure)


@pytest.fixture(scope="module")
def seen_pictures(tmp_path_factory):
    """Procedures, and of each what is seen of every object: by second and instance."""
    folder = tmp_path_factory.mktemp("places") / "set"
    simulation = simulate(3, seed=103, minutes=(3, 3), width_px=284, height_px=160)
    simulation.to_dir(folder, masks=True)
    pairs = []
    for procedure in simulation.procedures():
        seen: dict[int, dict[str, np.ndarray]] = {}
        for row in json.loads((folder / "masks" / f"{procedure.video}.json").read_text())["annotations"]:
            seen.setdefault(row["image_id"], {})[row["instance"]] = pixels_of(row)
        pairs.append((procedure, seen))
    return pairs


@pytest.mark.parametrize("name", ["largest-class", "nearest-centre"])
def test_words_on_size_and_place_name_what_the_answer_was_read_from(name, seen_pictures):
    template, asked = next(one for one in TEMPLATES if one.name == name), 0
    for procedure, seen in seen_pictures:
        classes = {track.instance: track.class_name for track in procedure.tracks}
        draw = np.random.default_rng(0)
        for draft in drafts_of(Ledger(procedure), QuestionTrack.FRAME, [template], 100, draw, DraftTally()):
            for text in template.phrasings:
                meant = first_as_worded(text, seen[draft.window[1]])
                assert classes[meant] == draft.answer, (text, draft.video, draft.window)
            asked += 1
    assert asked > 20
