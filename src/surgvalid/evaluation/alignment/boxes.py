"""Boxes beside the wrong image, moment or class, in another format, cut by score, or lacking in whole videos.

The statistic is the mean over references of the best overlap (IoU) with a prediction in their image, classes left
aside. Each alternative is compared with the file as read by `evidence`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.evaluation.alignment.box_readings import centres, readings, typical_scale, typical_shift
from surgvalid.evaluation.alignment.classes import class_checks
from surgvalid.evaluation.alignment.evidence import (
    FEWEST_VIDEOS,
    LEAST_SHARE,
    NO_GAIN,
    EvidenceUnits,
    Followed,
    Gain,
    followed,
    gain_between,
    runs,
    unit_means,
    units_of_frames,
)
from surgvalid.evaluation.sanity.sanity_finding import Looked, SanityFinding
from surgvalid.evaluation.video_names import first_few
from surgvalid.metrics.detection.matching import box_iou, pairs
from surgvalid.metrics.metric import Floats, Indices
from surgvalid.schema.findings import Severity

LAGS = tuple(lag for step in range(1, 11) for lag in (step, -step))
ON, FEWEST, MOST_IN_IMAGE = 0.5, 10, 10
NOTHING = 0.02
NEARER = (2, 0.15), (6, 0.03)
"""Least t, and least gain of overlap over other images as a share of what so many detections could gain."""
NEIGHBOURS = "next", "previous"
FEWEST_MOVED = 8
"""So many images an order by names must move, each a piece of evidence: a wrong order leaps further than scenes are
alike, and of 550 sound studies none reached t of 0.3."""
FOLLOWED_LAGS = 6
"""So many of the least lags are looked for in the motion of boxes too."""
DRAWS = 5
CUT, CUT_NOTE, FEWEST_SCORED = 0.3, 0.05, 100
SILENT_FRAMES, SILENT_CHANCE = 5, 0.001


STEPS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 50)
_ENDINGS = {2: "nd", 3: "rd"}
STRANGE, FEWEST_IN_VIDEO = 0.07, 10
"""In a strange video predictions are nearer to their own images by this share of what they are in most."""
TWIN_IOU, TWINS = 0.95, 0.2
FEWEST_DETECTIONS = 10
"""Below which nothing is said of copies."""


Tried = Mapping[int, tuple[Floats, np.ndarray]]
"""The statistic of every reference under some lags, and which references each can be told of."""


class LocatedBoxes(NamedTuple):
    """The boxes of one side: x, y, width and height as they were read."""

    image: Indices
    box: Floats
    category: Indices
    score: Floats | None = None

    def of(self, rows: Indices) -> LocatedBoxes:
        """Some of them."""
        score = None if self.score is None else self.score[rows]
        return LocatedBoxes(self.image[rows], self.box[rows], self.category[rows], score)


class BoxStudy(NamedTuple):
    """Boxes of both sides, and where their images stand."""

    reference: LocatedBoxes
    prediction: LocatedBoxes
    video: Indices
    """Of every image, a number from 0."""
    place: Indices
    """Of every image in its video, from 0."""
    size: Floats
    """Width and height of every image; NaN where unknown."""
    names: Sequence[str]
    """Of the classes; none where classes play no role."""
    videos: Sequence[str]
    files: Sequence[str] = ()
    """Names of the images in the order of their ids, where such an order means anything."""
    moment: str = "image"
    """What a place in a video is called."""


def best_overlaps(box: Floats, image: Indices, others: Floats, other_image: Indices) -> Floats:
    """The largest overlap of every box with another one of the same image; 0 where there is none."""
    order = np.argsort(other_image, kind="stable")
    left, right = pairs(image, other_image[order])
    return _largest(box, others[order], left, right)


def _nearest(box: Floats, image: Indices, others: Floats, other_image: Indices) -> Indices:
    """Which of the others overlaps every box most in its image; -1 where none does."""
    order = np.argsort(other_image, kind="stable")
    left, right = pairs(image, other_image[order])
    right = order[right]
    near = box_iou(box, others, left, right)
    ranked = np.lexsort((-near, left))
    ranked = ranked[near[ranked] > 0]
    at, first = np.unique(left[ranked], return_index=True)
    nearest = np.full(len(box), -1)
    nearest[at] = right[ranked[first]]
    return nearest


def _largest(box: Floats, others: Floats, left: Indices, right: Indices) -> Floats:
    best = np.zeros(len(box))
    np.maximum.at(best, left, box_iou(box, others, left, right))
    return best


def most_certain(boxes: LocatedBoxes) -> LocatedBoxes:
    """At most ten of every image, those of the highest scores, in order of the images."""
    score = np.zeros(len(boxes.image)) if boxes.score is None else boxes.score
    order = np.lexsort((-score, boxes.image))
    image = boxes.image[order]
    start = np.searchsorted(image, image)
    return boxes.of(order[np.arange(len(order)) - start < MOST_IN_IMAGE])


class _Look(NamedTuple):
    """References in runs of frames, the predictions beside them, and what is a piece of evidence."""

    study: BoxStudy
    reference: LocatedBoxes
    prediction: LocatedBoxes
    units: EvidenceUnits
    code: Indices
    """The unit of every reference."""
    as_read: Floats
    """The best overlap of every reference."""

    def under(self, image: Indices, *, of_class: bool = False) -> Floats:
        """The best overlap of every reference with predictions in these images, or with those of its class."""
        count, ours, given = len(self.study.names) + 1, self.reference, self.prediction
        keys = ours.image * count + of_class * ours.category, image * count + of_class * given.category
        return best_overlaps(ours.box, keys[0], given.box, keys[1])

    def gain(self, other: Floats, kept: np.ndarray | bool = True) -> Gain:
        return gain_between(self.as_read, other, np.where(kept, self.code, -1), self.units)

    def followed(self, ours: Indices, theirs: Indices) -> Followed:
        """Whether predictions follow the motion of references under another reading: a slow scene overlaps anyhow.

        Args:
            ours: What the image of a reference is called under the other reading; of all references of the study.
            theirs: The same of every prediction.
        """
        reference, given = self.study.reference, self.prediction
        here = _nearest(given.box, given.image, reference.box, reference.image)
        there = _nearest(given.box, theirs, reference.box, ours)
        both = np.flatnonzero((here >= 0) & (there >= 0))
        middle = [centres(side) for side in (given.box[both], reference.box[here[both]], reference.box[there[both]])]
        scale = reference.box[here[both], 2:]
        away, other = ((middle[0] - one) / scale for one in middle[1:])
        return followed(away, other, self.units.code[given.image[both]], self.units)


def _look(study: BoxStudy, prediction: LocatedBoxes) -> _Look:
    chosen = runs(study.video, study.place)
    reference = study.reference.of(np.flatnonzero(chosen[study.reference.image]))
    reference = reference.of(np.argsort(reference.image, kind="stable"))
    units = units_of_frames(study.video, study.place)
    code = units.code[reference.image]
    as_read = best_overlaps(reference.box, reference.image, prediction.box, prediction.image)
    return _Look(study, reference, prediction, units, code, as_read)


def box_alignment(study: BoxStudy, *, scored: bool, silent: Sequence[str] = ()) -> Looked:
    """Every check of where boxes lie.

    Args:
        study: The boxes of both sides.
        scored: Whether metrics rank detections by their scores.
        silent: Videos of which the caller says that they have no detections.
    """
    certain = most_certain(study.prediction)
    looked: dict[str, SanityFinding | None] = {
        **_without(study, silent),
        "detections-doubled": detections_doubled(certain),
    }
    if study.names:
        looked["constant-predictions"] = same_everywhere(study.prediction, len(study.video))
    if scored:
        looked["scores-cut"] = scores_cut(study.prediction.score)
    if len(study.reference.image) < FEWEST or not len(study.prediction.image):
        return looked | {"predictions-shifted": too_few(units_of_frames(study.video, study.place))}
    look = _look(study, certain)
    strange, some = unrelated(look)
    tried = another_reading(look), lagging(look, moving=not strange), another_order(look, moving=not strange)
    doubts = [doubt for doubt in tried if doubt]
    best = max(doubts, key=lambda doubt: doubt.fit, default=None)
    code = best.finding.code if best else ""
    others = dict.fromkeys(("boxes-elsewhere", "images-exchanged", "predictions-shifted"))
    looked |= others | ({code: best.finding} if best else {})
    if best is None:
        looked["images-exchanged"] = strange
        looked["boxes-elsewhere"] = None if strange else nowhere_near(look) or some
        looked["predictions-shifted"] = None if strange else too_few(look.units)
    elif code == "predictions-shifted":
        looked["boxes-elsewhere"] = some
    if study.names:
        looked |= {"labels-renamed": None, "classes-merged": None}
        if code in ("", "predictions-shifted"):
            looked |= class_checks(_confusion(study, certain), study.names)
    return looked


class _Doubt(NamedTuple):
    """Another reading that fits better, and how well it would."""

    fit: float
    finding: SanityFinding


def another_reading(look: _Look) -> _Doubt | None:
    """Whether the four numbers of the detections would lie on the references under another reading."""
    given, study = look.prediction, look.study
    given = given.of(np.flatnonzero(np.isin(given.image, look.reference.image)))
    if not len(given.image):
        return None
    left, right = pairs(look.reference.image, given.image)
    alike = look.reference.category[left] == given.category[right]
    sides = look.reference.box[left[alike]], given.box[right[alike]]
    tried = []
    for reading in readings(given.box, study.size[given.image], typical_shift(*sides), typical_scale(*sides)):
        best = _largest(look.reference.box, reading.boxes, left, right)
        tried.append((_boxes_gain(look, best), reading))
    speaking = [(gain, one) for gain, one in tried if _speaks(gain)]
    if not speaking:
        return None
    most = max(gain.other for gain, _ in speaking)
    gain, reading = next((gain, one) for gain, one in speaking if gain.other >= most - 0.02)
    evidence = (
        f"The detections lie elsewhere than the references: their mean overlap is {gain.as_read:.2f}, and "
        f"{gain.other:.2f} with the four numbers as {reading.what}{_in(gain, look.units)}."
    )
    finding = SanityFinding("boxes-elsewhere", Severity.ERROR, evidence, f"Say --format {reading.option}.")
    return _Doubt(gain.other, finding)


def nowhere_near(look: _Look) -> SanityFinding | None:
    """Whether hardly any reference is overlapped, and nothing that was tried mends it."""
    covered = float((look.as_read >= ON).mean())
    if covered >= NOTHING:
        return None
    evidence = (
        f"The detections lie elsewhere than the references: {covered:.1%} of {len(look.as_read):,} references are "
        "overlapped by half."
    )
    hint = "No other reading mends it (formats, mirrors, offsets, scales and sizes of input were tried)."
    return SanityFinding("boxes-elsewhere", Severity.WARNING, evidence, hint)


def _boxes_gain(look: _Look, best: Floats) -> Gain:
    gain = look.gain(best)
    if gain.units:
        return gain
    return Gain(float(look.as_read.mean()), float(best.mean()), 0.0, 0, 0)


def _speaks(gain: Gain) -> bool:
    """A gain of 0.05 and 1.3 times with t of 5; or a gross one, where videos that lie in the middle blur a t."""
    if gain.speaks(0.05, 5) and gain.units and gain.other >= 1.3 * gain.as_read:
        return True
    return gain.better >= LEAST_SHARE * gain.units and gain.other >= 0.3 and gain.other > 2 * gain.as_read + 0.1


def _in(gain: Gain, units: EvidenceUnits) -> str:
    return f" (better in {gain.better} of {gain.units} {units.what})" if gain.units else ""


def lagging(look: _Look, *, moving: bool) -> _Doubt | None:
    """Whether predictions lie on the references of an earlier or later moment, by how many, and in which videos.

    Args:
        look: Both sides.
        moving: Whether to look at the motion of boxes too, which says nothing of unrelated ones.
    """
    study = look.study
    span = int(study.place.max(initial=0)) + 1 + 2 * max(LAGS)
    ours = study.video * span + study.place + max(LAGS)
    last = np.bincount(study.video, minlength=len(study.videos))[study.video[look.reference.image]] - 1
    at = study.place[look.reference.image]
    tried: dict[int, tuple[Floats, np.ndarray]] = {}
    for lag in LAGS:
        kept = (at + lag >= 0) & (at + lag <= last)
        if kept.any():
            tried[lag] = _at(look, ours, lag), kept
    lag, gain = best_lag(look.as_read, tried, look.units, look.code, 0.02, 4)
    if not lag:
        gains = {one: look.gain(*tried[one]) for one in LAGS[:FOLLOWED_LAGS] if moving and one in tried}
        hopeful = [one for one, made in gains.items() if made.mean > 0]
        moved = {lag: look.followed(ours[study.reference.image] + lag, ours[look.prediction.image]) for lag in hopeful}
        following = {lag: one for lag, one in moved.items() if one.speaks}
        lag = min(following, key=lambda one: abs(following[one].share - 1), default=0)
        gain = gains[lag]._replace(better=following[lag].better, units=following[lag].units) if lag else gain
    if lag:
        return _Doubt(_fit(look, lag, *tried[lag]), late_finding(lag, gain, look.units, study.moment))
    video = study.video[look.reference.image]
    single = late_alone(look.as_read, tried, (video, at), study.videos, study.moment)
    return None if single is None else _Doubt(0.0, single)


def _fit(look: _Look, lag: int, best: Floats, kept: np.ndarray) -> float:
    """Beside an order of images that fits alike a lag of one is the simpler reading, a large one is not."""
    return float(np.where(kept, best, look.as_read).mean()) + (0.01 if abs(lag) == 1 else -0.01)


def _at(look: _Look, ours: Indices, lag: int) -> Floats:
    """The best overlaps with the predictions of so many moments later."""
    return best_overlaps(
        look.reference.box, ours[look.reference.image] + lag, look.prediction.box, ours[look.prediction.image]
    )


def late_by(lag: int, moment: str) -> str:
    """In words."""
    return f"{abs(lag)} {moment}{'s' if abs(lag) > 1 else ''} {'late' if lag > 0 else 'early'}"


def late_finding(lag: int, gain: Gain, units: EvidenceUnits, moment: str, what: str = "overlap") -> SanityFinding:
    """What is said of a lag that all videos share."""
    evidence = (
        f"The predictions are {late_by(lag, moment)} in {gain.better} of {gain.units} {units.what}: mean {what} "
        f"{gain.as_read:.2f}, and {gain.other:.2f} with --format lag={-lag}."
    )
    hint = "Does one side count frames from 0 and the other from 1?"
    return SanityFinding("predictions-shifted", Severity.WARNING, evidence, hint)


def too_few(units: EvidenceUnits) -> SanityFinding | None:
    """That a lag could not be looked for, which is no sign that there is none."""
    if units.number >= units.fewest:
        return None
    evidence = (
        f"Whether predictions are late or early cannot be told from {units.number} {units.what}: {FEWEST_VIDEOS} "
        f"videos are needed, or {units.fewest} such pieces of fewer videos."
    )
    return SanityFinding("predictions-shifted", Severity.NOTE, evidence)


def best_lag(
    as_read: Floats, tried: Tried, units: EvidenceUnits, code: Indices, least: float, t_least: float
) -> tuple[int, Gain]:
    """The lag that raises a statistic most, of those that do so surely, and by how much; 0 where none does."""
    gains = {
        lag: gain_between(as_read, values, np.where(kept, code, -1), units) for lag, (values, kept) in tried.items()
    }
    speaking = {lag: gain for lag, gain in gains.items() if gain.speaks(least, t_least)}
    lag = max(speaking, key=lambda one: speaking[one].mean, default=0)
    return lag, speaking.get(lag, NO_GAIN)


def late_alone(
    as_read: Floats,
    tried: Tried,
    moments: tuple[Indices, Indices],
    videos: Sequence[str],
    moment: str,
    what: str = "overlap",
) -> SanityFinding | None:
    """A single video that lags by itself; blocks of five frames are the pieces of evidence.

    Args:
        as_read: The statistic of every reference.
        tried: The same under every lag, and which references it can be told of.
        moments: The video of every reference, and its place there.
        videos: Their names.
        moment: What a place is called.
        what: The name of the statistic.
    """
    for video in np.unique(moments[0]).tolist():
        block = np.where(moments[0] == video, moments[1] // 5, -1)
        blocks = EvidenceUnits(block, int(block.max()) + 1)
        lag, gain = best_lag(as_read, tried, blocks, block, 0.1, 5)
        if lag:
            evidence = (
                f"The predictions of video {videos[video]!r} alone are {late_by(lag, moment)}: mean {what} "
                f"{gain.as_read:.2f}, and {gain.other:.2f} with --format lag={videos[video]}:{-lag}."
            )
            return SanityFinding("predictions-shifted", Severity.WARNING, evidence)
    return None


def orders(files: Sequence[str]) -> dict[str, Indices]:
    """Other orders of images than that of their ids: the image that each then is.

    A file counts images in an order of their names, or was written beside ids that had been sorted so (undone).
    """
    ids = np.arange(len(files))
    text = np.array(sorted(range(len(files)), key=lambda at: files[at]), dtype=np.intp)
    natural = np.array(sorted(range(len(files)), key=lambda at: _natural(files[at])), dtype=np.intp)
    return {
        **dict(zip(NEIGHBOURS, (np.append(ids[1:], -1), np.append(-1, ids[:-1])), strict=True)),
        "text-order": text,
        "natural-order": natural,
        "text-order-undone": np.argsort(text),
        "natural-order-undone": np.argsort(natural),
        "reversed": ids[::-1].copy(),
    }


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(1, int(one), "") if one.isdecimal() else (0, 0, one) for one in re.split(r"(\d+)", name)]


def another_order(look: _Look, *, moving: bool) -> _Doubt | None:
    """Whether predictions would lie on the references with the images in another order; `moving` as for `lagging`."""
    study = look.study
    if len(study.files) < 2:
        return None
    speaking: dict[str, tuple[float, str]] = {}
    for join, image in orders(study.files).items():
        moved = image != np.arange(len(image))
        if not moved.any():
            continue
        exchanged = image[look.prediction.image]
        best = look.under(exchanged)
        leaps = moving and join not in NEIGHBOURS
        units = EvidenceUnits(np.arange(len(image)), len(image), "images", FEWEST_MOVED) if leaps else look.units
        at = look.reference.image
        code = np.where(np.isin(at, image[moved]), units.code[at], -1)
        gain = gain_between(look.as_read, best, code, units)
        sure = gain.mean >= 0.02 and gain.t >= 1.5 if leaps else gain.speaks(0.02, 4)
        if not sure and not leaps:  # neighbours overlap anyhow, but are not of the same classes
            here, there = (look.under(one, of_class=True) for one in (look.prediction.image, exchanged))
            sure = gain.mean > 0 and gain_between(here, there, code, units).speaks(0.02, 4)
        if sure or (moving and gain.mean > 0 and look.followed(study.reference.image, exchanged).speaks):
            speaking[join] = float(best.mean()), _in(gain, units)
    if not speaking:
        return None
    join = max(speaking, key=lambda one: speaking[one][0])
    fit, where = speaking[join]
    evidence = (
        f"The predictions lie beside other images than their own: mean overlap {look.as_read.mean():.2f} by ids as "
        f"read, {fit:.2f} with the images in another order ({join}{where})."
    )
    finding = SanityFinding("images-exchanged", Severity.ERROR, evidence, f"Say --format join={join}.")
    return _Doubt(fit, finding)


class _Unrelated(NamedTuple):
    """What is said of predictions that lie no nearer to their own images than to others."""

    all: SanityFinding | None = None
    some: SanityFinding | None = None
    """In single videos."""


def unrelated(look: _Look) -> _Unrelated:
    """Whether predictions lie no nearer to their own images than to others, in all videos or in some."""
    rng = np.random.default_rng(0)
    images = np.unique(look.prediction.image)
    if images.size < FEWEST or not look.code.size or _constant(look.prediction):
        return _Unrelated()
    sides = look.prediction, look.study.reference
    drawn = ours = np.zeros(len(look.as_read))
    for _ in range(DRAWS):
        other = rng.integers(0, images.size, int(look.study.video.size))
        elsewhere = images[other][look.reference.image]
        beside = [best_overlaps(look.reference.box, elsewhere, one.box, one.image) / DRAWS for one in sides]
        drawn, ours = drawn + beside[0], ours + beside[1]
    alone = np.isin(look.reference.image, images)
    rows = [np.bincount(side.image, minlength=len(look.study.video)) for side in (look.prediction, look.reference)]
    reached = np.minimum(1, rows[0] / np.maximum(rows[1], 1))[look.reference.image[alone]].mean()
    image = np.where(alone, look.reference.image, -1)
    video = np.where(alone, look.study.video[look.reference.image], -1)
    names = look.study.videos
    strange = no_nearer((drawn, look.as_read), image, look.units, len(names), reached, float(ours.mean()))
    return _Unrelated(strange, strange_videos(look.as_read, drawn, video, names, "boxes-elsewhere"))


def no_nearer(
    sides: tuple[Floats, Floats],
    image: Indices,
    units: EvidenceUnits,
    videos: int,
    reached: float,
    alike: float,
    what: str = "overlap",
) -> SanityFinding | None:
    """Whether predictions lie no nearer to their own images than to others.

    Args:
        sides: The statistic of every reference beside other images than its own, and as read.
        image: Of every reference; -1 leaves it out.
        units: Which pieces of evidence there are.
        videos: How many; in one alone images may be too alike to tell from few.
        reached: The share of the references that so many predictions could reach.
        alike: The statistic of references beside those of other images.
        what: The name of the statistic.
    """
    gain, less = gain_between(*sides, np.where(image >= 0, units.code[image], -1), units), 0
    if not gain.units and videos > 1:  # images as evidence are surer of "nearer": they accuse less
        units = EvidenceUnits(units.code, len(units.code), "images", FEWEST_MOVED)
        gain, less = gain_between(*sides, image, units), 1
    nearer = any(gain.t >= t - less and gain.mean >= share * reached * (1 - alike) for t, share in NEARER)
    if not gain.units or nearer or alike > 0.8:
        return None
    evidence = (
        f"The predictions lie no nearer to their own images than to others: mean {what} {gain.other:.2f} in their "
        f"own, {gain.as_read:.2f} in images drawn at random."
    )
    hint = "Are they of another set, or in another order? Name predictions by their images, not by numbers."
    return SanityFinding("images-exchanged", Severity.ERROR, evidence, hint)


def _constant(boxes: LocatedBoxes) -> bool:
    """Whether few boxes repeat everywhere, so that no image is nearer than another."""
    return len(np.unique(boxes.box, axis=0)) <= max(MOST_IN_IMAGE, 0.1 * len(boxes.box))


def _confusion(study: BoxStudy, prediction: LocatedBoxes) -> Floats:
    """Counts `[video, reference, prediction]` of boxes that lie on each other, the best of each reference."""
    reference = study.reference
    left, right = pairs(reference.image, prediction.image)
    near = box_iou(reference.box, prediction.box, left, right)
    held = near >= ON
    left, right, near = left[held], right[held], near[held]
    order = np.lexsort((-near, left))
    left, right = left[order], right[order]
    _, first = np.unique(left, return_index=True)
    table = np.zeros((len(study.videos), len(study.names), len(study.names)))
    at = study.video[reference.image[left[first]]], reference.category[left[first]], prediction.category[right[first]]
    np.add.at(table, at, 1)
    return table


def _without(study: BoxStudy, silent: Sequence[str]) -> Looked:
    """Whether whole videos lack predictions, and whether all lie in few images, many to each (of several images)."""
    sides = study.prediction.image, study.reference.image
    given, labelled = (np.bincount(image, minlength=len(study.video)) for image in sides)
    held, count = (given > 0) & (labelled > 0), int((labelled > 0).sum())
    piled = None
    if count >= FEWEST and 0 < 2 * held.sum() <= count and given[held].sum() >= 2 * labelled[held].sum():
        evidence = (
            f"Only {held.sum():,} of {count:,} images with references have detections, {given[held].mean():.1f} on "
            f"average for {labelled[held].mean():.1f} references."
        )
        hint = "Do several images share a name there, as frames of several videos do, or were images left out?"
        piled = SanityFinding("images-without-predictions", Severity.WARNING, evidence, hint)
    videos = silent_videos(study.video, labelled > 0, given > 0, study.videos, silent)
    systematic = left_out(study.video, study.place, labelled > 0, given > 0)
    return {"videos-without-predictions": videos, "images-without-predictions": piled or systematic}


def silent_videos(
    video: Indices, labelled: np.ndarray, predicted: np.ndarray, videos: Sequence[str], silent: Sequence[str] = ()
) -> SanityFinding | None:
    """Videos with references and no prediction at all, though other videos have them in most frames.

    Args:
        video: Of every frame.
        labelled: Whether a frame has references.
        predicted: Whether it has predictions.
        videos: Their names.
        silent: Those of which the caller says that nothing was detected there.
    """
    count = len(videos)
    frames = np.bincount(video[labelled], minlength=count)
    hit = np.bincount(video[labelled & predicted], minlength=count)
    any_hit = np.bincount(video[predicted], minlength=count)
    without = [v for v in range(count) if frames[v] >= SILENT_FRAMES and not any_hit[v] and videos[v] not in silent]
    others = np.setdiff1d(np.arange(count), without)
    if not without or not frames[others].sum():
        return None
    share = hit[others].sum() / frames[others].sum()
    lost = [videos[v] for v in without if (1 - share) ** (frames[v] / SILENT_FRAMES) < SILENT_CHANCE]
    if not lost:
        return None
    evidence = (
        f"{len(lost)} of {count} videos have references and no prediction at all ({first_few(lost)}); in the others "
        f"{share:.0%} of the frames with references have some."
    )
    meant = f"--format no_predictions={'+'.join(lost)}"
    hint = f"Were they left out when the predictions were written? Say {meant} if it is meant."
    return SanityFinding("videos-without-predictions", Severity.ERROR, evidence, hint)


def left_out(video: Indices, place: Indices, labelled: np.ndarray, predicted: np.ndarray) -> SanityFinding | None:
    """Whether images lack predictions by a rule: all but every so many, or the ends of nearly all videos.

    Args:
        video: Of every image.
        place: Of every image in its video.
        labelled: Whether it has references.
        predicted: Whether it has predictions.
    """
    if not (labelled & predicted).any():
        return None
    steps = []
    for step in STEPS:
        hits = np.bincount((place % step)[labelled & predicted], minlength=step)
        frames = np.bincount((place % step)[labelled], minlength=step)
        held, others = int(hits.argmax()), labelled.sum() - frames[hits.argmax()]
        share = hits[held] / frames[held]
        if hits.sum() == hits[held] and (1 - share) ** (others / SILENT_FRAMES) < SILENT_CHANCE:
            steps.append((share, f"Only every {step}{_ENDINGS.get(step, 'th')} image of the videos has predictions"))
    evidence = max(steps, default=(0.0, ""))[1]
    last = np.full(int(video.max()) + 1, -1)
    np.maximum.at(last, video[predicted], place[predicted])
    after = labelled & (place > last[video])
    missed = np.bincount(video[after], minlength=len(last))[last >= 0]
    share = (labelled & predicted).sum() / max((labelled & ~after).sum(), 1)
    cut = missed >= SILENT_FRAMES
    if not evidence and cut.mean() >= LEAST_SHARE and (1 - share) ** (missed.sum() / SILENT_FRAMES) < SILENT_CHANCE:
        first = int(np.median(last[last >= 0][cut])) + 2
        evidence = f"{cut.sum()} of {cut.size} videos have no predictions from image {first} on (the middle of them)"
    if not evidence:
        return None
    count = int((labelled & ~predicted).sum())
    hint = "Were images skipped when the predictions were made? References without predictions count as missed."
    evidence += f": {count:,} of {labelled.sum():,} images with references have none."
    return SanityFinding("images-without-predictions", Severity.WARNING, evidence, hint)


def strange_videos(
    as_read: Floats, drawn: Floats, video: Indices, names: Sequence[str], code: str, what: str = "overlap"
) -> SanityFinding | None:
    """Videos whose predictions lie no nearer to their own images than to others, unlike those of most videos.

    Args:
        as_read: The statistic of every reference.
        drawn: The same beside images drawn at random.
        video: Of every reference; -1 leaves it out.
        names: Of the videos.
        code: Which check speaks.
        what: The name of the statistic.
    """
    fit = unit_means(as_read, video, len(names))
    nearer = fit - unit_means(drawn, video, len(names))
    nearer[np.bincount(video[video >= 0], minlength=len(names)) < FEWEST_IN_VIDEO] = np.nan
    held = np.isfinite(nearer)
    if held.sum() < FEWEST_VIDEOS or (middle := float(np.median(nearer[held]))) <= 0:
        return None
    strange = np.flatnonzero(held & (nearer <= STRANGE * middle))
    if not strange.size:
        return None
    shown = first_few([names[v] for v in strange.tolist()])
    evidence = (
        f"In {strange.size} of {len(names)} videos ({shown}) predictions lie no nearer to their own images than to "
        f"others: mean {what} {fit[strange].mean():.2f}, and {np.median(fit[held]):.2f} in most videos."
    )
    hint = "Are they of another video, mirrored, or cut otherwise there?"
    return SanityFinding(code, Severity.WARNING, evidence, hint)


def scores_cut(score: Floats | None) -> SanityFinding | None:
    """Whether detections of low scores were left out, which average precision needs."""
    if score is None or len(score) < FEWEST_SCORED or (least := float(score.min())) < CUT_NOTE:
        return None
    if np.ptp(score) == 0:
        return None
    severity = Severity.WARNING if least >= CUT else Severity.NOTE
    evidence = f"The least score of {len(score):,} detections is {least:.3g}: results were cut by score."
    hint = "Average precision needs low scores too, and is too low without them: export from 0.001 on."
    return SanityFinding("scores-cut", severity, evidence, hint)


def detections_doubled(prediction: LocatedBoxes) -> SanityFinding | None:
    """Whether many detections repeat the box of another one; in order of the images."""
    count = len(prediction.image)
    if count < FEWEST_DETECTIONS:
        return None
    left, right = pairs(prediction.image, prediction.image)
    apart = (left != right) & (prediction.category[left] == prediction.category[right])
    left, right = left[apart], right[apart]
    twins = box_iou(prediction.box, prediction.box, left, right) >= TWIN_IOU
    copies = len(np.unique(left[twins]))
    if copies < TWINS * count:
        return None
    exact = (prediction.box[left[twins]] == prediction.box[right[twins]]).all(axis=1)
    alike = len(np.unique(left[twins][exact]))
    evidence = (
        f"{copies:,} of {count:,} detections repeat the box of another one of the same class in the same image "
        f"({alike:,} of them number by number); all but one of each count as false."
    )
    hint = (
        "A file that a second run appended to, or two files taken together? Keep one of each."
        if alike > copies / 2
        else "Was suppression of overlapping boxes (NMS) left out?"
    )
    return SanityFinding("detections-doubled", Severity.WARNING, evidence, hint)


def same_everywhere(prediction: LocatedBoxes, images: int) -> SanityFinding | None:
    """Whether the same few boxes are there in every image; all detections, not a sample."""
    count = len(prediction.image)
    if count < FEWEST_DETECTIONS or images < FEWEST_DETECTIONS:
        return None
    different = 0
    for some in (slice(1000), slice(None)):  # most often the first few are enough
        drawn = np.column_stack([prediction.category[some], prediction.box[some]])
        different = len(np.unique(drawn, axis=0))
        if different * images > count + images / 2:
            return None
    evidence = f"The {count:,} detections in {images:,} images are {different} boxes, the same in every image."
    return SanityFinding("constant-predictions", Severity.WARNING, evidence, "The model ignores the images.")


def frames_in_order(videos: Sequence[str], keys: Sequence[object]) -> tuple[Indices, Indices, list[str]]:
    """The number of every frame's video, its place in the video by the order of `keys`, and the names of the videos."""
    names = list(dict.fromkeys(videos))
    number = {name: place for place, name in enumerate(names)}
    video = np.array([number[name] for name in videos], dtype=np.intp)
    place = np.zeros(len(video), dtype=np.intp)
    following = [0] * len(names)
    for at in sorted(range(len(video)), key=lambda one: (video[one], keys[one])):
        place[at] = following[video[at]]
        following[video[at]] += 1
    return video, place, names


def lags_of(lag: str | int, videos: Sequence[str]) -> list[int]:
    """By how many moments the predictions of every video are moved: one number for all, or `VIDEO:N` for some.

    Raises:
        Misuse: No whole number, or a video that there is not.

    Example:
        >>> lags_of("-1", ["a", "b"]), lags_of("b:2", ["a", "b"])
        ([-1, -1], [0, 2])
    """
    return list(map(int, _of_videos("lag", lag, videos, r"[+-]?\d{1,9}", "whole number")))


def delays_of(lag_s: str | float, videos: Sequence[str]) -> list[float]:
    """The same in seconds."""
    return list(map(float, _of_videos("lag_s", lag_s, videos, r"[+-]?\d{1,9}(\.\d*)?", "number of seconds")))


def _of_videos(option: str, stated: str | float, videos: Sequence[str], pattern: str, what: str) -> list[str]:
    given = [one.rpartition(":") for one in str(stated).split("+") if one.strip()]
    steps = {video.strip(): step.strip() for video, _, step in given}
    if bad := [step for step in steps.values() if not re.fullmatch(pattern, step)]:
        raise Misuse(f"--format {option}={stated}: {bad[0]!r} is no {what}; expected -1, or VIDEO:-1+VIDEO:2")
    if strange := sorted(set(steps) - {"", *videos}):
        raise UnknownName("video", strange[0], videos)
    return [steps.get(video, steps.get("", "0")) for video in videos]


def natural_keys(names: Sequence[str]) -> Iterator[list[tuple[int, int, str]]]:
    """What sorts names by the numbers in them."""
    return map(_natural, names)
