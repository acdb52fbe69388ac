"""Simulated studies of boxes and phases whose predictions lie where they belong, and faults to plant in them.

Kinds of studies: usual, weak (few, shaky and confused detections), slow and fast scenes, a rare class; models of phases
that are usual, weak, late by nature, wrong in smooth stretches, or meet a rare phase.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from surgvalid.evaluation.alignment.boxes import BoxStudy, LocatedBoxes

WIDTH, HEIGHT = 854.0, 480.0
BOX_KINDS = ("usual", "weak", "slow", "fast", "rare")
PHASE_KINDS = ("usual", "weak", "late", "smooth", "rare")


def box_study(seed: int, kind: str | None = None) -> tuple[str, BoxStudy]:
    """The kind of a study drawn by a seed, and the study."""
    rng = np.random.default_rng(seed)
    kind = kind or str(rng.choice(BOX_KINDS))
    videos, classes = int(rng.integers(5, 13)), int(rng.integers(3, 8))
    speed = {"slow": rng.uniform(0, 3), "fast": rng.uniform(20, 45)}.get(kind, rng.uniform(4, 15))
    rate, jitter = (
        (rng.uniform(0.2, 0.5), rng.uniform(12, 30)) if kind == "weak" else (rng.uniform(0.7, 0.95), rng.uniform(3, 10))
    )
    confused = rng.uniform(0.3, 0.7) if kind == "weak" else rng.uniform(0.02, 0.15)
    prior = np.ones(classes)
    if kind == "rare":
        prior[0] = 0.02 * classes
    prior /= prior.sum()
    skewed = rng.random() < 0.3
    ours: list[list[float]] = []
    theirs: list[list[float]] = []
    video, place = [], []
    image = 0
    for v in range(videos):
        length, objects = int(rng.integers(20, 61)), int(rng.integers(1, 4))
        label = rng.choice(classes, objects, p=prior)
        size = rng.uniform(70, 180, (objects, 2))
        at = rng.uniform(0, [WIDTH - 180, HEIGHT - 180], (objects, 2))
        angle = rng.uniform(0, 2 * np.pi, objects)
        step = speed * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        offset = rng.normal(0, jitter / np.sqrt(2), 2)
        for frame in range(length):
            step += rng.normal(0, 0.2 * speed + 0.1, step.shape)
            step *= speed / np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-9)
            at = at + step
            limit = np.array([WIDTH, HEIGHT]) - size
            step = np.where((at < 0) | (at > limit), -step, step)
            at = np.clip(at, 0, limit)
            if rng.random() < 0.02:
                label = rng.choice(classes, objects, p=prior)
            for o in range(objects):
                ours.append([image, *at[o], *size[o], float(label[o]), 1.0])
                if rng.random() < rate:
                    name = label[o]
                    if rng.random() < confused:
                        name = (name + 1) % classes if skewed else rng.integers(0, classes)
                    moved = at[o] + offset + rng.normal(0, jitter / np.sqrt(2), 2)
                    theirs.append(
                        [image, *moved, *(size[o] * rng.normal(1, 0.05, 2)), float(name), rng.uniform(0.02, 1)]
                    )
            if rng.random() < 0.2:
                theirs.append(
                    [image, *rng.uniform(0, [700, 350]), 90, 90, rng.integers(0, classes), rng.uniform(0.01, 0.5)]
                )
            video.append(v)
            place.append(frame)
            image += 1
    sides = [_located(np.array(side)) for side in (ours, theirs)]
    names = [f"class{c}" for c in range(classes)]
    files = [f"video{v + 1}_{f}.jpg" for v, f in zip(video, place, strict=True)]
    size = np.tile([WIDTH, HEIGHT], (image, 1))
    moments = np.array(video, dtype=np.intp), np.array(place, dtype=np.intp)
    study = BoxStudy(sides[0], sides[1], *moments, size, names, [f"video{v + 1}" for v in range(videos)], files)
    return kind, study


def _located(rows: np.ndarray) -> LocatedBoxes:
    return LocatedBoxes(rows[:, 0].astype(np.intp), rows[:, 1:5], rows[:, 5].astype(np.intp), rows[:, 6])


def box_faults(study: BoxStudy, seed: int) -> dict[str, tuple[str, BoxStudy]]:
    """Every fault of boxes planted in a study, with the check that must speak."""
    rng = np.random.default_rng(seed)
    given, images, classes = study.prediction, len(study.video), len(study.names)
    size = study.size[given.image]

    def with_boxes(box: np.ndarray) -> BoxStudy:
        return study._replace(prediction=given._replace(box=box))

    def with_image(image: np.ndarray) -> BoxStudy:
        kept = np.flatnonzero((image >= 0) & (image < images))
        return study._replace(prediction=given.of(kept)._replace(image=image[kept]))

    def shifted(lag: int, only: int | None = None) -> BoxStudy:
        moved = given.image + lag
        inside = (moved >= 0) & (moved < images)
        same = inside & (study.video[np.clip(moved, 0, images - 1)] == study.video[given.image])
        here = np.ones(len(moved), bool) if only is None else study.video[given.image] == only
        return with_image(np.where(here, np.where(same, moved, -1), given.image))

    def with_classes(order: np.ndarray) -> BoxStudy:
        category = order[given.category]
        kept = np.flatnonzero(category >= 0)
        return study._replace(prediction=given.of(kept)._replace(category=category[kept]))

    counts = np.bincount(study.reference.category, minlength=classes)
    first, second = np.argsort(-counts)[:2]
    swap = np.arange(classes)
    swap[[first, second]] = second, first
    text = np.array(sorted(range(images), key=lambda i: study.files[i]))
    ratio = 640 / WIDTH
    boxed = np.hstack([given.box[:, :2] * ratio + [0, (640 - HEIGHT * ratio) / 2], given.box[:, 2:] * ratio])
    mirrored = np.column_stack([size[:, 0] - given.box[:, 0] - given.box[:, 2], given.box[:, 1:]])
    corners = np.hstack([given.box[:, :2], given.box[:, :2] + given.box[:, 2:]])
    longest = int(np.bincount(study.video).argmax())
    score = np.ones(len(given.image)) if given.score is None else given.score
    silent = given.of(np.flatnonzero(study.video[given.image] != longest))
    return {
        "1 frame late": ("predictions-shifted", shifted(1)),
        "3 frames early": ("predictions-shifted", shifted(-3)),
        "one video 4 late": ("predictions-shifted", shifted(4, longest)),
        "ids one on": ("predictions-shifted images-exchanged", with_image(given.image + 1)),
        "text order": ("images-exchanged", with_image(np.argsort(text)[given.image])),
        "at random": ("images-exchanged", with_image(rng.permutation(images)[given.image])),
        "two classes swapped": ("labels-renamed", with_classes(swap)),
        "shifted, end lost": ("labels-renamed", with_classes(np.append(np.arange(1, classes), -1))),
        "all called one": ("classes-merged", with_classes(np.zeros(classes, dtype=np.intp))),
        "mirrored": ("boxes-elsewhere", with_boxes(mirrored)),
        "offset 60 px": ("boxes-elsewhere", with_boxes(given.box + np.array([60.0, 0, 0, 0]))),
        "letterbox 640": ("boxes-elsewhere", with_boxes(boxed)),
        "corners as sizes": ("boxes-elsewhere", with_boxes(corners)),
        "one video silent": ("videos-without-predictions", study._replace(prediction=silent)),
        "scores cut at 0.6": ("scores-cut", study._replace(prediction=given.of(np.flatnonzero(score >= 0.6)))),
    }


@dataclass(frozen=True)
class PhaseStudy:
    """Labels of every second of every video."""

    kind: str
    classes: int
    reference: list[np.ndarray]
    prediction: list[np.ndarray]


def phase_study(seed: int, kind: str | None = None) -> PhaseStudy:
    """A study of phases drawn by a seed."""
    rng = np.random.default_rng(seed)
    kind = kind or str(rng.choice(PHASE_KINDS))
    classes = int(rng.integers(4, 9))
    right = rng.uniform(0.35, 0.6) if kind == "weak" else rng.uniform(0.8, 0.97)
    ours, theirs = [], []
    for _ in range(int(rng.integers(5, 21))):
        order = [c for c in range(classes) if not (kind == "rare" and c == 1 and rng.random() < 0.9)]
        lengths = rng.integers(40, 200, len(order))
        truth = np.repeat(order, lengths)
        ends = np.cumsum(lengths)[:-1]
        delay = rng.exponential(12, ends.size) if kind == "late" else rng.normal(0, 6, ends.size)
        moved = np.clip(np.round(ends + delay), 1, truth.size - 1).astype(int)
        guess = np.asarray(order)[np.searchsorted(np.sort(moved), np.arange(truth.size), side="right")]
        noise = rng.random(truth.size) > right
        if kind == "smooth":
            noise = np.repeat(rng.random(truth.size // 20 + 1) > right, 20)[: truth.size]
            values = np.repeat(rng.integers(0, classes, truth.size // 20 + 1), 20)[: truth.size]
        else:
            values = rng.integers(0, classes, truth.size)
        ours.append(truth)
        theirs.append(np.where(noise, values, guess))
    return PhaseStudy(kind, classes, ours, theirs)


def phase_faults(study: PhaseStudy) -> dict[str, tuple[str, PhaseStudy]]:
    """Every fault of phases planted in a study, with the check that must speak."""

    def late(seconds: int, only: int | None = None) -> PhaseStudy:
        moved = [
            np.concatenate([np.full(max(seconds, 0), p[0]), p, np.full(max(-seconds, 0), p[-1])])
            for p in study.prediction
        ]
        cut = [m[: len(p)] if seconds > 0 else m[-len(p) :] for m, p in zip(moved, study.prediction, strict=True)]
        sides = enumerate(zip(cut, study.prediction, strict=True))
        return replace(study, prediction=[one if only in (None, at) else other for at, (one, other) in sides])

    swap = np.arange(study.classes)
    swap[[0, 2]] = 2, 0
    roll = np.roll(np.arange(study.classes), 1)
    return {
        "3 s late": ("predictions-shifted", late(3)),
        "8 s late": ("predictions-shifted", late(8)),
        "8 s early": ("predictions-shifted", late(-8)),
        "25 s late": ("predictions-shifted", late(25)),
        "one video 30 s late": ("predictions-shifted", late(30, 1)),
        "two swapped": ("labels-renamed", replace(study, prediction=[swap[p] for p in study.prediction])),
        "another order": ("labels-renamed", replace(study, prediction=[roll[p] for p in study.prediction])),
    }


MASK_ROWS, MASK_COLUMNS = 90, 120


@dataclass(frozen=True)
class MaskStudy:
    """Label maps of neighbouring frames, and the video of each."""

    kind: str
    classes: int
    reference: np.ndarray
    """`[frame, row, column]`."""
    prediction: np.ndarray
    video: np.ndarray


def mask_study(seed: int, kind: str | None = None) -> MaskStudy:
    """A study of label maps drawn by a seed: ellipses that move, of one class each."""
    rng = np.random.default_rng(seed)
    kind = kind or str(rng.choice(BOX_KINDS))
    videos, classes = int(rng.integers(5, 11)), int(rng.integers(3, 7))
    speed = {"slow": rng.uniform(0, 0.5), "fast": rng.uniform(4, 8)}.get(kind, rng.uniform(1, 3))
    rate, jitter = (rng.uniform(0.3, 0.6), rng.uniform(3, 6)) if kind == "weak" else (rng.uniform(0.8, 1), 1.5)
    confused = rng.uniform(0.3, 0.6) if kind == "weak" else rng.uniform(0.0, 0.15)
    rows, columns = np.mgrid[:MASK_ROWS, :MASK_COLUMNS]
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    video = []
    for v in range(videos):
        objects = int(rng.integers(1, 4))
        label = rng.integers(1, classes + 1, objects)
        if kind == "rare":
            label = np.where(rng.random(objects) < 0.95, np.maximum(label, 2), 1)
        size, at = rng.uniform(6, 18, (objects, 2)), rng.uniform(15, 75, (objects, 2)) * [1, 1.3]
        angle, offset = rng.uniform(0, 2 * np.pi, objects), rng.normal(0, jitter / np.sqrt(2), 2)
        step = speed * np.stack([np.sin(angle), np.cos(angle)], axis=1)
        for _ in range(int(rng.integers(15, 41))):
            step = np.where((at + step < 8) | (at + step > [MASK_ROWS - 8, MASK_COLUMNS - 8]), -step, step)
            at = at + step
            ours, theirs = np.zeros((2, MASK_ROWS, MASK_COLUMNS), np.uint8)
            for o in range(objects):
                moved = at[o] + offset + rng.normal(0, jitter / np.sqrt(2), 2)
                named = int(rng.integers(1, classes + 1)) if rng.random() < confused else label[o]
                for side, (y, x), name in ((ours, at[o], label[o]), (theirs, moved, named)):
                    if side is ours or rng.random() < rate:
                        side[((rows - y) / size[o, 0]) ** 2 + ((columns - x) / size[o, 1]) ** 2 <= 1] = name
            sides[0].append(ours)
            sides[1].append(theirs)
            video.append(v)
    return MaskStudy(kind, classes, np.array(sides[0]), np.array(sides[1]), np.array(video, dtype=np.intp))


def mask_faults(study: MaskStudy, seed: int) -> dict[str, tuple[str, MaskStudy]]:
    """Every fault of label maps planted in a study, with the check that must speak."""
    rng, given, frames = np.random.default_rng(seed), study.prediction, np.arange(len(study.video))
    first = np.searchsorted(study.video, study.video)
    last = np.searchsorted(study.video, study.video, side="right") - 1
    counts = np.bincount(study.reference.ravel(), minlength=study.classes + 1)[1:]
    swap = np.arange(study.classes + 1)
    swap[1 + np.argsort(-counts)[:2]] = swap[1 + np.argsort(-counts)[:2][::-1]]

    longest = np.bincount(study.video).argmax()
    alone = np.where(study.video == longest, np.maximum(frames - 4, first), frames)

    def of(maps: np.ndarray) -> MaskStudy:
        return replace(study, prediction=maps)

    return {
        "1 frame late": ("predictions-shifted", of(given[np.maximum(frames - 1, first)])),
        "3 frames early": ("predictions-shifted", of(given[np.minimum(frames + 3, last)])),
        "one video 4 late": ("predictions-shifted", of(given[alone])),
        "at random": ("images-exchanged", of(given[rng.permutation(len(frames))])),
        "mirrored": ("masks-elsewhere", of(given[:, :, ::-1])),
        "two classes swapped": ("labels-renamed", of(swap[given].astype(np.uint8))),
        "all called one": ("classes-merged labels-renamed", of((given > 0).astype(np.uint8))),
    }
