"""Every reference of simulated questions, derived again from the exported pixels alone, without the ledger.

The masks of `simulate --with masks` are decoded, boxes and times in view are read from them, and whether something
lies in front of an object is decided by comparing its pixels with those of the same scene in which nothing can. Events,
phases and attributes are told, not seen, and are counted as annotated. The answers are those of the plain readings.
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
from surgvalid.schema.procedures.tracks import Procedure, Track, Visibility
from surgvalid.simulation import Renderer, simulate
from surgvalid.simulation.sighting import PARTLY_HIDDEN, sights

SIMULATION = {"seed": 61, "minutes": (3, 4), "width_px": 240, "height_px": 136}


def pixels_of(row: dict) -> np.ndarray:
    """The pixels of an annotation, height x width."""
    mask = mask_of_coco(row["segmentation"])
    flat = np.zeros(mask.height * mask.width, dtype=bool)
    for start, stop in zip(mask.edges[0::2], mask.edges[1::2], strict=True):
        flat[start:stop] = True
    return flat.reshape(mask.width, mask.height).T


def alone_in_view(scene, monkeypatch) -> dict[tuple[int, str], int]:
    """By second and object, how many of its pixels would be seen if nothing were before it and the light were good.

    Instruments are there and bend what is soft, but are not painted.
    """
    counts = {}
    bare = replace(scene, episodes=())
    monkeypatch.setattr(Renderer, "instrument_layers", lambda *_: iter(()))
    for life in scene.lives:
        single = replace(bare, lives=(replace(life, covered=(), hidden=()),))

        def keep(silhouette):
            counts[silhouette.at, silhouette.instance] = int(silhouette.seen.sum())

        sights(single, np.arange(scene.duration_s, dtype=float), keep=keep)
    monkeypatch.undo()
    return counts


def from_pixels(scene, procedure: Procedure, document: dict, monkeypatch) -> Procedure:
    """The procedure with tracks that were read from its masks."""
    whole, rows = alone_in_view(scene, monkeypatch), {}
    for row in document["annotations"]:
        seen = pixels_of(row)
        ys, xs = np.nonzero(seen)
        box = (xs.min(), ys.min(), xs.max() - xs.min() + 1, ys.max() - ys.min() + 1)
        rows.setdefault(row["instance"], []).append((row["image_id"], box, int(seen.sum())))
    tracks = []
    for track in procedure.tracks:
        points = sorted(rows.get(track.instance, []))
        codes = []
        for second, _, count in points:
            clear = whole.get((second, track.instance), count)
            told = track.point_at(second)
            near = abs((clear - count) / clear - PARTLY_HIDDEN) < 0.12 or dimmed(scene, second)
            hidden = (clear - count) / clear >= PARTLY_HIDDEN
            codes.append(told.visibility if near else Visibility(int(hidden)))
        tracks.append(Track(
            track.instance, track.class_name, np.array([p[0] for p in points]), np.array([p[1] for p in points], float),
            np.array(codes), track.attributes, track.changes,
        ))  # fmt: skip
    return replace(procedure, tracks=tuple(tracks))


def dimmed(scene, second: int) -> bool:
    """Whether light, smoke or reflections take pixels away: then the count tells nothing about what lies before."""
    levels = scene.conditions(np.array([float(second)]))
    kinds = ("background_smoke", "image_too_dark", "image_too_bright", "background_reflections", "image_lens_dirty",
             "image_lens_fog")  # fmt: skip
    return any(levels[kind][0] > 0.02 for kind in kinds if kind in levels)


@pytest.fixture(scope="module", params=[(), ("all",)], ids=["plain", "every look"])
def worlds(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pixels") / "set"
    simulation, monkeypatch = simulate(6, **SIMULATION, looks=request.param), pytest.MonkeyPatch()
    simulation.to_dir(folder, masks=True)
    procedures = list(simulation.procedures())
    readings = {}
    for scene, procedure in zip(simulation.scenes(), procedures, strict=True):
        document = json.loads((folder / "masks" / f"{procedure.video}.json").read_text())
        readings[procedure.video] = PlainReading(from_pixels(scene, procedure, document, monkeypatch))
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
    asked: Counter[str] = Counter()
    for draft in drafts:
        answer = ANSWERS[draft.template.name](readings[draft.video], *draft.window, dict(draft.slots))
        assert answer == draft.answer, (draft.template.name, draft.video, draft.window, draft.slots)
        asked[draft.template.name] += 1
    assert set(asked) == {template.name for template in TEMPLATES}


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
    simulation = simulate(3, seed=103, minutes=(3, 3), width_px=284, height_px=160, looks=("all",))
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
