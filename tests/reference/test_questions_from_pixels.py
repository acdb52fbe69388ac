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

import av
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
    made = make_questions(procedures, per_video=120, test_share=0, blind_share=1.0)
    assert all(question.reference.answer == question.draft.answer for question in made.questions)
    drafts = [question.draft for question in made.questions]
    for procedure, track in product(procedures, QuestionTrack):  # what selection leaves out is derived again as well
        ledger, draw = Ledger(procedure), np.random.default_rng(0)
        drafts += drafts_of(ledger, track, templates_for(track), 100, draw, DraftTally())
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


def image_of(path) -> np.ndarray:
    with av.open(str(path)) as file:
        return next(file.decode(video=0)).to_ndarray(format="rgb24").astype(int)


class Buffers:
    """What the exported passes of one second say of how things stand to each other; written from the rules in words."""

    def __init__(self, stem):
        with np.load(f"{stem}_passes.npz") as kept:
            self.thing, self.foil, self.depth = kept["instance"].astype(int), kept["foil"], kept["depth_cm"]
            arrives = kept["arrives"] * np.where(self.foil >= 0, 0.66, 1.0)
        colour = image_of(stem.with_suffix(".png"))
        self.clear = (arrives >= 0.25) & ~(colour > 250).all(axis=-1) & ~(colour < 5).all(axis=-1)
        told = json.loads(stem.with_name(f"{stem.name}_things.json").read_text())
        self.name = {thing["number"]: thing["instance"] for thing in told["things"]}
        self.kind = {thing["number"]: thing["kind"] for thing in told["things"]}
        self.scale = 480 * 270 / self.thing.size

    def called(self, name: str, classes: dict[str, str]) -> set[int]:
        """The numbers of what a question calls so."""
        return {
            n
            for n, one in self.name.items()
            if name in (classes.get(one, "").lower(), one, one.split("_hand")[0].replace("_", " "))
        }

    def seen_px(self, numbers: set[int]) -> float:
        return self.scale * np.count_nonzero(np.isin(self.thing, list(numbers)) & self.clear)

    def the_one(self, class_name: str, classes: dict[str, str]) -> set[int]:
        """The visible object of a class: what lies before it may be foil."""
        seen = {
            n: ((self.thing == n) | (self.foil == n)) & self.clear
            for n, one in self.name.items()
            if classes.get(one) == class_name
        }
        return {n for n, pixels in seen.items() if self.scale * np.count_nonzero(pixels) >= 40}

    def steps(self, ones: set[int], others: set[int]) -> np.ndarray:
        """How much deeper the others are wherever a pixel of one lies beside, above or below one of theirs."""
        steps = []
        for axis, shift in ((0, 1), (0, -1), (1, 1), (1, -1)):
            beside, deep = np.roll(self.thing, shift, axis), np.roll(self.depth, shift, axis)
            met = np.isin(self.thing, list(ones)) & np.isin(beside, list(others))
            edge = [slice(None)] * 2
            edge[axis] = 0 if shift == 1 else -1
            met[tuple(edge)] = False
            steps += (deep - self.depth)[met].tolist()
        return np.array(steps)

    def answer(self, name: str, slots: dict, classes: dict[str, str]) -> str:
        width = self.thing.shape[1]
        if name == "structure-visible":
            return "yes" if self.seen_px(self.called(slots["structure"], {})) >= 40 else "no"
        if name == "in-front":
            mine, theirs = self.the_one(slots["object"], classes), self.called(slots["structure"], {})
            gaps = [self.steps(mine, {one}) for one in theirs]
            ways = {
                np.sign(np.median(gap)) for gap in gaps if len(gap) >= 6 * width / 480 and abs(np.median(gap)) >= 0.4
            }
            return {1.0: slots["object"].lower(), -1.0: slots["structure"]}[ways.pop()]
        organs = {
            n for n, kind in self.kind.items() if kind == "organ" and self.seen_px(self.called(self.name[n], {})) >= 40
        }
        if name == "touched":
            tool = {n for n in self.called(slots["tool"], {}) if self.seen_px({n}) >= 40}
            names = {self.name[n] for n in organs}
            close = {one: np.abs(self.steps(tool, self.called(one, {}))) for one in names}
            met = [one for one, gap in close.items() if (gap < 0.1).sum() >= 6 * width / 480]
            return met[0] if met else "none of them"
        mine = self.the_one(slots["object"], classes)
        close = {
            one: (np.abs(self.steps(mine, {n for n in self.name if self.name[n] == one})) < 0.5).sum()
            for one in set(self.name.values()) - {self.name[n] for n in mine}
        }
        under = max(close, key=lambda one: close[one])
        return classes[under].lower() if under in classes else under


def test_relations_follow_from_the_exported_passes_alone(tmp_path):
    """Which of two is in front, what is touched, what is visible, and beside what an object lies that rests on it."""
    simulation = simulate(6, seed=63, minutes=(3, 3), width_px=240, height_px=136)
    simulation.to_dir(tmp_path / "set", passes=True)
    asked, said, differing = Counter[str](), Counter[tuple[str, str]](), []
    templates = [template for template in TEMPLATES if template.needs.relations]
    for path in sorted((tmp_path / "set" / "procedures").glob("*.json")):
        procedure = read_procedure(path)
        classes, seen = {track.instance: track.class_name for track in procedure.tracks}, {}
        for draft in drafts_of(
            Ledger(procedure), QuestionTrack.FRAME, templates, 400, np.random.default_rng(0), DraftTally()
        ):
            stem = tmp_path / "set" / "passes" / f"{procedure.video}_{draft.window.end_s:06d}"
            buffers = seen.setdefault(stem, Buffers(stem)) if stem not in seen else seen[stem]
            answer = buffers.answer(draft.template.name, dict(draft.slots), classes)
            differing += (
                [] if answer == draft.answer else [(draft.template.name, stem.name, draft.slots, draft.answer, answer)]
            )
            asked[draft.template.name] += 1
            said[draft.template.name, draft.answer] += 1
    print(f"\n{asked.total()} questions: {dict(asked)}")
    assert not differing, f"{len(differing)} differ: {differing[:5]}"
    assert min(asked[template.name] for template in templates) > 40
    assert all(len({answer for name, answer in said if name == template.name}) > 1 for template in templates)


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
