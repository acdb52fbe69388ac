"""Data sets in the layout in which they are downloaded, with random labels, and what a plain reading of these says.

Every function writes the label files of one data set and returns its procedures, put together from the random labels
and not from the files: the oracle of questions that are made from the files.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from data_set_files import CHOLEC80_TOOLS, put, put_json
from surgvalid.schema.procedures.tracks import (
    CRITERION,
    AttributeChange,
    Phase,
    Procedure,
    Track,
    Visibility,
    track_from_points,
)

SECONDS = 200
PHASES = {
    "Preparation": "Preparation",
    "CalotTriangleDissection": "Calot Triangle Dissection",
    "ClippingCutting": "Clipping Cutting",
    "GallbladderDissection": "Gallbladder Dissection",
    "GallbladderPackaging": "Gallbladder Packaging",
    "CleaningCoagulation": "Cleaning Coagulation",
    "GallbladderRetraction": "Gallbladder Retraction",
}
INSTRUMENTS = ("grasper", "bipolar", "hook", "scissors", "clipper", "irrigator")
VERBS = ("grasp", "retract", "dissect", "coagulate", "clip", "cut", "aspirate", "irrigate", "pack", None)
TARGETS = (
    *("gallbladder", "cystic plate", "cystic duct", "cystic artery", "cystic pedicle", "blood vessel", "fluid"),
    *("abdominal wall or cavity", "liver", "adhesion", "omentum", "peritoneum", "gut", "specimen bag", None),
)
ACTIONS = (
    None,
    *("picking up the needle", "positioning the needle tip", "pushing the needle through the tissue"),
    *("pulling the needle out of the tissue", "tying a knot", "cutting the suture", "returning or dropping the needle"),
)
STRUCTURES = ("cystic_plate", "calot_triangle", "cystic_artery", "cystic_duct", "gallbladder", "tool")
CRITERIA = {
    "two_structures": "two tubular structures, and only two, are seen to enter the gallbladder",
    "hepatocystic_triangle": "the hepatocystic triangle is cleared so that the structures in it are seen",
    "cystic_plate": "the lower part of the gallbladder is separated from the cystic plate",
}


def parts(draw: random.Random, count: int, seconds: int = SECONDS) -> list[int]:
    """By second, which of `count` parts it belongs to, in order."""
    cuts = sorted(draw.sample(range(12, seconds - 12, 8), count - 1))
    return [sum(second >= cut for cut in cuts) for second in range(seconds)]


def phases_of(names: list[str | None]) -> tuple[Phase, ...]:
    """The phases that names by second are."""
    found, start = [], 0
    for second in range(1, len(names) + 1):
        if second == len(names) or names[second] != names[start]:
            found += [Phase(names[start], start, second)] if names[start] else []
            start = second
    return tuple(found)


def shown(draw: random.Random, seconds: int = SECONDS) -> list[bool]:
    """By second, whether something is in view."""
    on, listed = False, []
    for _ in range(seconds):
        on = on != (draw.random() < 0.05)
        listed.append(on)
    return listed


def plain(video: str, tracks=(), phases=(), instruments=(), size=(100, 100), seconds: int = SECONDS) -> Procedure:
    return Procedure(video, "x", "A", seconds, *size, tuple(tracks), (), tuple(phases), tuple(instruments))


def cholec80(root: Path) -> dict[str, Procedure]:
    procedures = {}
    for number in (1, 2, 3, 41, 42):
        video, draw = f"video{number:02}", random.Random(number)
        names = [list(PHASES)[part] for part in parts(draw, 7)]
        rows = [f"{25 * s + f}\t{names[s]}\n" for s in range(SECONDS) for f in range(25)]
        put(root / "phase_annotations" / f"{video}-phase.txt", "Frame\tPhase\n" + "".join(rows))
        tools = {name: shown(draw) for name in CHOLEC80_TOOLS}
        rows = ["\t".join([str(25 * s), *(str(int(on[s])) for on in tools.values())]) + "\n" for s in range(SECONDS)]
        put(root / "tool_annotations" / f"{video}-tool.txt", "\t".join(("Frame", *tools)) + "\n" + "".join(rows))
        spelled = {"SpecimenBag": "Specimen Bag"}
        tracks = [
            track_from_points(name, spelled.get(name, name), [(s, (0, 0, 9, 9)) for s in range(SECONDS) if on[s]])
            for name, on in tools.items()
        ]
        procedures[video] = plain(video, tracks, phases_of([PHASES[name] for name in names]))
    return procedures


def cholect50(root: Path) -> dict[str, Procedure]:
    """Some seconds have no key, which is not an empty frame; two graspers are nobody's 'the grasper'."""
    procedures = {}
    for number in (1, 2, 4, 6, 51):
        video, draw = f"VID{number:02}", random.Random(number)
        phase = parts(draw, 7)
        on = {place: shown(draw) for place in range(6)}
        doing = {place: (draw.randrange(9), draw.randrange(14)) for place in range(6)}
        frames: dict[str, list[list[int]]] = {}
        points: dict[str, list] = {}
        changes: dict[str, list[AttributeChange]] = {}
        missing = set(range(90, 100)) if number == 1 else set()
        for second in range(SECONDS):
            listed = []
            for place in range(6):
                if draw.random() < 0.08:
                    doing[place] = draw.randrange(10), draw.randrange(15)
                for copy in range(2 if place == 0 and second % 50 > 40 else 1) if on[place][second] else ():
                    verb, target = doing[place]
                    listed.append([0, place, 1, -1, -1, -1, -1, verb, target, -1, -1, -1, -1, -1, phase[second]])
                    if second not in missing:
                        name = f"{INSTRUMENTS[place]} {copy}"
                        points.setdefault(name, []).append((second, (0, 0, 9, 9)))
                        told = {"action": VERBS[verb] or "", "target": TARGETS[target] or ""}
                        changes.setdefault(name, []).extend(AttributeChange(second, k, v) for k, v in told.items())
            if second not in missing:
                frames[str(second)] = listed or [[*([-1] * 14), phase[second]]]
        content = {"video": number, "fps": 1, "num_frames": SECONDS, "categories": {}, "annotations": frames}
        put_json(root / "labels" / f"{video}.json", content)
        tracks = [
            track_from_points(name, name[:-2], seen, attributes={"action": "", "target": ""}, changes=changes[name])
            for name, seen in points.items()
        ]
        names = ["preparation", "Calot triangle dissection", "clipping and cutting", "gallbladder dissection",
                 "gallbladder packaging", "cleaning and coagulation", "gallbladder extraction"]  # fmt: skip
        by_second = [None if s in missing else names[phase[s]] for s in range(SECONDS)]
        procedures[video] = plain(video, tracks, phases_of(by_second))
    return procedures


def endoscapes2023(root: Path) -> dict[str, Procedure]:
    """Boxes and criteria on every fifth second; where raters differ, nothing is known of a criterion."""
    categories = [{"id": n, "name": name} for n, name in enumerate(STRUCTURES, start=1)]
    procedures = {}
    for part, videos in (("train", (8, 9, 10)), ("val", (121,)), ("test", (162, 163))):
        images, boxes = [], []
        for video in videos:
            draw, points, votes = random.Random(video), [], {name: [] for name in CRITERIA}
            for second in range(5, 125, 5):
                number = video * 1_000_000 + 25 * second
                means = [draw.choice((0.0, 1 / 3, 2 / 3, 1.0, 1.0)) for _ in CRITERIA]
                image = {"id": number, "file_name": f"{video}_{25 * second}.jpg", "width": 854, "height": 480}
                images.append(
                    {**image, "video_id": video, "is_ds_keyframe": True, "is_det_keyframe": True, "ds": means}
                )
                for name, mean in zip(CRITERIA, means, strict=True):
                    votes[name] += [(second, int(mean))] if mean in (0.0, 1.0) else []
                for place in draw.sample(range(6), draw.randrange(5)):
                    for _ in range(draw.choice((1, 1, 2))):
                        box = [
                            draw.randrange(700),
                            draw.randrange(380),
                            draw.randrange(20, 150),
                            draw.randrange(20, 99),
                        ]
                        about = {"id": len(boxes) + 1, "image_id": number, "category_id": place + 1, "iscrowd": 0}
                        boxes.append({**about, "bbox": box})
                        points.append((second, STRUCTURES[place].replace("_", " "), box))
            tracks = [track_from_points(str(n), name, [(s, box)]) for n, (s, name, box) in enumerate(points)]
            rated = [
                Track(CRITERIA[name], CRITERION, np.array([s for s, _ in told]), np.zeros((len(told), 4)),
                      np.array([Visibility.VISIBLE if met else Visibility.OUTSIDE for _, met in told]))
                for name, told in votes.items()
            ]  # fmt: skip
            procedures[str(video)] = plain(str(video), tracks, (), rated, (854, 480), 121)
        labels = {"categories": categories, "images": images}
        put_json(root / part / "annotation_ds_coco.json", {**labels, "annotations": []})
        put_json(root / part / "annotation_coco.json", {**labels, "annotations": boxes})
    return procedures


def sar_rarp50(root: Path) -> dict[str, Procedure]:
    procedures = {}
    for number in (1, 2, 3, 41, 42):
        video, draw, by_second = f"video_{number:02}", random.Random(number), []
        while len(by_second) < SECONDS:
            by_second += [draw.randrange(8)] * draw.randrange(8, 25)
        part = "test" if number > 40 else "train1"
        rows = [f"{60 * s + 6 * f:09},{by_second[s]}\n" for s in range(SECONDS) for f in range(10)]
        put(root / part / video / "action_discrete.txt", "".join(rows))
        procedures[video] = plain(video, phases=phases_of([ACTIONS[n] for n in by_second[:SECONDS]]))
    return procedures


def heico(root: Path) -> dict[str, Procedure]:
    names = ["preparation and orientation in the abdomen", "dissection of lymph nodes and vessels",
             "retroperitoneal preparation towards the pancreas",
             "retroperitoneal preparation of duodenum and pancreatic head"]  # fmt: skip
    procedures = {}
    for surgery in ("Proctocolectomy", "Rectal Resection"):
        for number in (1, 2):
            draw = random.Random(f"{surgery} {number}")
            by_second = parts(draw, 4)
            rows = [f"{25 * s + f},{by_second[s]}\n" for s in range(SECONDS) for f in range(25)]
            place = root / surgery / str(number) / f"{surgery.replace(' ', '')}_{number}_Phase.csv"
            put(place, "".join(rows))
            video = f"{surgery}/{number}"
            procedures[video] = plain(video, phases=phases_of([names[n] for n in by_second]))
    return procedures


LABELLED: dict[str, Callable[[Path], dict[str, Procedure]]] = {
    "cholec80": cholec80,
    "cholect50": cholect50,
    "endoscapes2023": endoscapes2023,
    "sar_rarp50": sar_rarp50,
    "heico": heico,
}
