"""Which image of the references every detection is of: all records vote, and a name beats a number.

Readings of what a file calls its images: the references' id, the name of the file (with or without folders and ending),
the number in that name, and video with frame. Where ids and numbers of names both fit and disagree, where the boxes lie
decides; where that does not, the error names `--format join=`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.alignment.boxes import NEIGHBOURS, best_overlaps, orders
from surgvalid.evaluation.alignment.evidence import Gain, gain_of_means, unit_means
from surgvalid.evaluation.predictions.box_tables import Key
from surgvalid.evaluation.video_names import VIDEO_KEYS, same_videos
from surgvalid.metrics.detection.cases import annotation_records

ID, NAME, NUMBER, MOMENT = "id", "name", "number", "video-frame"
JOINS = (ID, NAME, NUMBER, MOMENT, *orders([]))
"""How images can be joined; the orders begin at the ids."""
_WORDS = {ID: "id", NAME: "file name", NUMBER: "the number in the file name", MOMENT: "video and frame"}
_MOMENT = re.compile(r"^(?:(.*?)[^0-9A-Za-z]*)??(\d+)$")


def moment_in(name: str) -> tuple[str, int] | None:
    """Video and frame that a name states, as `video41_000025.jpg` or `VID07/000150.png`.

    Example:
        >>> moment_in("video41_000025.jpg"), moment_in("VID07/000150.png"), moment_in("cover.png")
        (('video41', 25), ('VID07', 150), None)
    """
    folders, _, last = name.replace("\\", "/").rpartition("/")
    stem, _, ending = last.rpartition(".")
    match = _MOMENT.match(stem if stem and ending else last)
    if match is None or len(match[2]) > 12:
        return None
    return match[1] or folders.rpartition("/")[2], int(match[2])


def endings(place: PurePosixPath) -> list[str]:
    """A path without its first folders, longest first, each with and without the ending of the file.

    Example:
        >>> endings(PurePosixPath("video01/26.jpg"))
        ['video01/26.jpg', 'video01/26', '26.jpg', '26']
    """
    tails = ["/".join(place.parts[at:]) for at in range(len(place.parts))]
    return [name for tail in tails for name in (tail, tail.removesuffix(place.suffix))]


class Images:
    """The images of a data set under everything that a file of predictions may call them."""

    def __init__(self, dataset: Mapping[str, Any]) -> None:
        self.dataset, listed = dataset, dataset.get("images")
        records = [
            one
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, Mapping) and isinstance(one.get("id"), int | str)
        ]
        self.records = {one["id"]: one for one in records}
        self._ids = {**{str(one): one for one in self.records}, **{one: one for one in self.records}}
        moments = {one["id"]: _moment(one) for one in records}
        numbers = _unshared([lambda one: [m[1]] if (m := moments[one["id"]]) else []], records)
        if any("frame" in one for one in records):  # a frame number is one of a video
            beginnings = {moment[0] for moment in moments.values() if moment}
        else:
            beginnings = {moment[0] for one in records if (moment := moment_in(_name(one)))}
        self._numbers = numbers if len(beginnings) < 2 else {}
        self._moments = _unshared([lambda one: [m] if (m := moments[one["id"]]) else []], records)
        self._videos = list(dict.fromkeys(moment[0] for moment in moments.values() if moment))
        some = next(iter(records), {})
        self.shown = repr(some.get("file_name") or some.get("id"))

    @cached_property
    def _names(self) -> dict[Any, Any]:
        spellings = [lambda one: [_name(one)], lambda one: endings(PurePosixPath(_name(one)))]
        return _unshared(spellings, list(self.records.values()))

    def meant(self, join: str, keys: Sequence[Key]) -> dict[Key, Any]:
        """The id of the image that each key is under one reading; without those that are none."""
        images: dict[Key, Any] = {}
        if join == MOMENT:
            moments = [key for key in keys if isinstance(key, tuple)]
            videos = same_videos(self._videos, list(dict.fromkeys(video for video, _ in moments)))
            images = {(v, frame): self._moments.get((videos.get(v, v), frame)) for v, frame in moments}
        else:
            readings: dict[str, Callable[[Any], Any]] = {NAME: self._named, NUMBER: self._numbered}
            reading = readings.get(join, self._ids.get)
            images = {key: reading(key) for key in keys if not isinstance(key, tuple)}
        images = {key: image for key, image in images.items() if image is not None}
        return self._in_order(join, images) | self._beyond(join, keys) if join in orders([]) else images

    def _beyond(self, join: str, keys: Sequence[Key]) -> dict[Key, Any]:
        """What ids one before the first, or after the last, are where all count otherwise by one."""
        step = dict(zip(NEIGHBOURS, (1, -1), strict=True)).get(join, 0)
        ids = list(self.records)
        if not all(type(one) is int for one in ids) or len(ids) != max(ids, default=0) - min(ids, default=1) + 1:
            return {}  # one on is no other number
        strange = [key for key in keys if type(key) is int and key not in self._ids]
        return {key: key + step for key in strange if step and key + step in self._ids}

    def _in_order(self, join: str, images: Mapping[Key, Any]) -> dict[Key, Any]:
        ids = list(self.records)
        place = {image: at for at, image in enumerate(ids)}
        exchanged = orders([_name(self.records[one]) for one in ids])[join]
        return {key: ids[exchanged[place[image]]] for key, image in images.items() if exchanged[place[image]] >= 0}

    def _named(self, key: int | str) -> Any:
        if not isinstance(key, str):
            return None
        if key in self._names:
            return self._names[key]
        place = PurePosixPath(key.replace("\\", "/"))
        image = next((self._names[name] for name in endings(place) if name in self._names), None)
        if image is None:
            moment = moment_in(key)
            return self._moments.get(moment) if moment and moment[0] else None
        ours, theirs = (_digits(one.parent.name) for one in (PurePosixPath(_name(self.records[image])), place))
        return image if not ours or not theirs or ours == theirs else None  # folders of other numbers: other videos

    def _numbered(self, key: int | str) -> Any:
        if isinstance(key, str) and not (key.isdecimal() and len(key) < 13):
            return None
        return self._numbers.get(int(key))

    def size(self, image: Any) -> tuple[float, float] | None:
        """Width and height, where the data set states them."""
        one = self.records[image]
        width, height = one.get("width"), one.get("height")
        return (float(width), float(height)) if width and height else None


def _unshared(
    spellings: Sequence[Callable[[Any], Iterable[Any]]], records: Sequence[Mapping[str, Any]]
) -> dict[Any, Any]:
    """Ids by what images are called; of one spelling, a name that two images share names neither."""
    names: dict[Any, Any] = {}
    for spell in spellings:
        by_name: dict[Any, Any] = {}
        shared: set[Any] = set()
        for one in records:
            shared.update(name for name in spell(one) if by_name.setdefault(name, one["id"]) != one["id"])
        for name, image in by_name.items():
            if name not in shared and name != "":
                names.setdefault(name, image)
    return names


def _name(one: Mapping[str, Any]) -> str:
    return one["file_name"].replace("\\", "/") if isinstance(one.get("file_name"), str) else ""


def _moment(one: Mapping[str, Any]) -> tuple[str, int] | None:
    """Video and frame of an image record: as it states them, else as its name does."""
    read = moment_in(_name(one))
    video = next((str(one[key]) for key in VIDEO_KEYS if one.get(key) not in (None, "")), read[0] if read else "")
    frame = one["frame"] if isinstance(one.get("frame"), int) else read[1] if read else None
    return None if frame is None else (video, frame)


def _digits(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d{1,12}", text)]


class JoinedImages(NamedTuple):
    """The image of every record, and how it was told."""

    images: dict[Key, Any]
    """Of every key."""
    how: str


class ImageVotes(NamedTuple):
    """What a file calls its images."""

    keys: Sequence[Key]
    """Of every record."""
    beside: Sequence[Any] = ()
    """The id that stands beside a name, of every record, where there are such."""
    certain: bool = False
    """Whether digits can only be the name of a file."""


Lying = Callable[[Mapping[Key, Any]], tuple[Sequence[Key], np.ndarray] | None]


def joined_images(votes: ImageVotes, images: Images, stated: str | None, lying: Lying) -> JoinedImages:
    """The image of every record.

    Args:
        votes: What the records call their images.
        images: The references'.
        stated: One of `JOINS`, where the caller says it.
        lying: Gives, under one reading, what boxes call their image and where they lie (x, y, width and height in
            pixels), to choose between readings that all fit; None where boxes are none.

    Raises:
        InputInvalid: Images that the references do not have.
        Misuse: Two readings fit, and nothing decides.
    """
    if stated is not None and stated not in JOINS:
        raise UnknownName("way to join images", stated, JOINS)
    keys = list(dict.fromkeys(votes.keys))
    if not keys:
        return JoinedImages({}, f"0 of {len(images.records):,} images have predictions")
    by_id = () if votes.certain and any(map(_name, images.records.values())) else (ID,)
    tried = {join: images.meant(join, keys) for join in ((stated,) if stated else (NAME, *by_id, NUMBER, MOMENT))}
    fitting = {join: meant for join, meant in tried.items() if len(meant) == len(keys)}
    reason = ""
    if not fitting:
        names = tried.get(NAME, {})
        rest = {key: meant for key, meant in tried.get(ID, {}).items() if key not in names}
        if not names or len(names) + len(rest) < len(keys):
            _refuse(keys, tried, images)
        fitting, reason = {NAME: {**names, **rest}}, _agreeing(votes, names, images)
    if len({tuple(meant.values()) for meant in fitting.values()}) == 1:
        join = next(
            (one for one in (ID, *fitting) if one in fitting and not isinstance(keys[0], str)), next(iter(fitting))
        )
    elif NAME in fitting and (votes.certain or not all(str(key).isdecimal() for key in keys)):
        join = NAME
    else:
        join, reason = _told_by_boxes(lying(next(iter(fitting.values()))), images, fitting)
    chosen = fitting[join]
    conflicts = _conflicts(votes, chosen, images)
    reached = len(set(chosen.values()))
    words = _WORDS.get(join, f"id in another order ({join})")
    return JoinedImages(chosen, f"{reached:,} of {len(images.records):,} images by {words}{reason}{conflicts}")


def _refuse(keys: Sequence[Key], tried: Mapping[str, Mapping[Key, Any]], images: Images) -> None:
    join = max(tried, key=lambda one: len(tried[one]))
    lost = [key for key in keys if key not in tried[join]]
    one = lost[0]
    first = f"video {one[0]!r}, frame {one[1]}" if isinstance(one, tuple) else repr(str(one))
    problem = f"boxes of images that the references do not have: {len(lost):,} of {len(keys):,} (first: {first})"
    fits = ", ".join(f"{len(meant)} by {_WORDS.get(one, one)}" for one, meant in tried.items() if meant)
    more = f"; known are {fits}" if fits else ""
    counted = [way for way in NEIGHBOURS if len(images.meant(way, keys)) == len(keys)]
    otherwise = f"; ids of predictions that count otherwise by one: --format join={counted[0]}" if counted else ""
    raise InputInvalid("predictions", [f"{problem}{more}; references call theirs {images.shown}{otherwise}"])


def _conflicts(votes: ImageVotes, chosen: Mapping[Key, Any], images: Images) -> str:
    """What ids beside the names would have said."""
    wrong, both = _contradicting(votes, chosen, images)
    return f" (ids would name another image for {wrong:,} of {both:,})" if wrong else ""


def _contradicting(votes: ImageVotes, chosen: Mapping[Key, Any], images: Images) -> tuple[int, int]:
    """How many ids beside a name are of another image, and how many there are."""
    ids = images.meant(ID, list(dict.fromkeys(votes.beside)))
    both = {(key, one) for key, one in zip(votes.keys, votes.beside, strict=False) if one in ids and key in chosen}
    return sum(ids[one] != chosen[key] for key, one in both), len(both)


def _agreeing(votes: ImageVotes, names: Mapping[Key, Any], images: Images) -> str:
    """In words, that records without a file name can be told by id, as the ids of all others agree with their names.

    Raises:
        InputInvalid: They contradict them, or stand beside none.
    """
    without = f"{sum(key not in names for key in votes.keys):,} of {len(votes.keys):,}"
    wrong, both = _contradicting(votes, names, images)
    if both and not wrong:
        return f" ({without} by id, as ids agree with the names of the others)"
    why = (
        f"ids of the others name another image than the file name in {wrong:,} of {both:,} cases"
        if wrong
        else "nothing shows that the others' ids are those of the references"
    )
    raise InputInvalid("predictions", [f"{without} have no file name, and {why}; name the file in every record"])


def _told_by_boxes(
    lying: tuple[Sequence[Key], np.ndarray] | None, images: Images, fitting: Mapping[str, Mapping[Key, Any]]
) -> tuple[str, str]:
    """The reading under which the boxes lie on the references, where that is clear, and a word on it.

    An id is what COCO says it is: it needs no more than not to be worse.

    Raises:
        Misuse: The boxes do not decide.
    """
    if lying is None:
        return ID if ID in fitting else next(iter(fitting)), ""
    keys, boxes = lying
    place = {image: at for at, image in enumerate(images.records)}
    rows = [
        one
        for one in annotation_records(images.dataset)
        if isinstance(one, Mapping) and one.get("image_id") in place and is_four(one.get("bbox"))
    ]
    box = np.array([one["bbox"] for one in rows], dtype=np.float64).reshape(-1, 4)
    image = np.array([place[one["image_id"]] for one in rows], dtype=np.intp)
    video = _video_codes(images)[image]
    means = {}
    for join, meant in fitting.items():
        at = np.array([place[meant[key]] for key in keys], dtype=np.intp)
        best = best_overlaps(box, image, boxes, at)
        means[join] = unit_means(best, video, int(video.max(initial=-1)) + 1), float(best.mean()) if best.size else 0.0
    most = max(means, key=lambda join: (means[join][1], join == ID))
    rest = [join for join in means if join != most]
    gains: list[Gain] = [gain_of_means(means[join][0], means[most][0]) for join in rest]
    shown = " and ".join(f"{means[join][1]:.2f} by {_WORDS[join]}" for join in (most, *rest))
    if most != ID and not all(gain.speaks(0.02, 4) for gain in gains):
        raise Misuse(
            f"images can be told by {' or by '.join(_WORDS[one] for one in fitting)}, and the boxes do not decide "
            f"(mean overlap {shown}); say --format join={' or '.join(fitting)}"
        )
    return most, f" (mean overlap {shown})"


def is_four(box: Any) -> bool:
    """Whether it is a list of four numbers."""
    return isinstance(box, list | tuple) and len(box) == 4 and all(isinstance(one, int | float) for one in box)


def _video_codes(images: Images) -> np.ndarray:
    codes: dict[str, int] = {}
    videos = [(_moment(one) or ("", 0))[0] for one in images.records.values()]
    return np.array([codes.setdefault(video, len(codes)) for video in videos], dtype=np.intp)
