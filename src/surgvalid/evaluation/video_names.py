"""Which video a case belongs to: by key, pattern or folder, or under another spelling."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from surgvalid.errors import InputInvalid, Misuse

VIDEO_KEYS = ("video", "video_id", "video_name")
"""Where a COCO image record usually names its video."""


def first_few(names: Sequence[str], shown: int = 5) -> str:
    """Some names in a sentence, and how many more there are.

    Example:
        >>> first_few(["a", "b", "c"], 2)
        'a, b and 1 more'
    """
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def compiled_pattern(text: str) -> re.Pattern[str]:
    """A pattern whose first group, or whole match, is the name of the video.

    Raises:
        Misuse: No regular expression.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise Misuse(f"--patient-pattern {text!r} is no regular expression: {error}") from None


def videos_by_pattern(names: Sequence[str], pattern: str) -> list[str]:
    """The video in each name.

    Raises:
        InputInvalid: Names that the pattern does not fit.

    Example:
        >>> videos_by_pattern(["8_14775.jpg", "12_25.jpg"], "^([0-9]+)_")
        ['8', '12']
    """
    known = compiled_pattern(pattern)
    matches = [known.search(name) for name in names]
    if bad := [name for name, match in zip(names, matches, strict=True) if match is None]:
        raise InputInvalid("videos", [f"{len(bad)} names do not fit --patient-pattern {pattern!r} (first: {bad[0]!r})"])
    return [match.group(1) if known.groups else match.group(0) for match in matches if match is not None]


def videos_of_records(
    records: Sequence[Mapping[str, Any]], *, column: str | None = None, pattern: str | None = None
) -> list[str]:
    """The video of every image record.

    Raises:
        InputInvalid: Records that name no video.
    """
    if pattern is not None:
        return videos_by_pattern([str(record.get("file_name", "")) for record in records], pattern)
    keys = [column] if column else [key for key in VIDEO_KEYS if any(key in record for record in records)][:1]
    if not keys:
        listed = ", ".join(map(repr, VIDEO_KEYS))
        raise InputInvalid(
            "images",
            [
                f"no image names its video ({listed}); name the key with --unit, or take it from file_name "
                f"with --patient-pattern, such as {_proposed([str(one.get('file_name', '')) for one in records])}"
            ],
        )
    lacking = [place for place, record in enumerate(records) if record.get(keys[0]) in (None, "")]
    if lacking:
        raise InputInvalid("images", [f"{len(lacking)} images have no {keys[0]!r} (first: record {lacking[0]})"])
    return [str(record[keys[0]]) for record in records]


def videos_of_paths(names: Sequence[str], pattern: str | None = None) -> list[str]:
    """The video of every case name: by the pattern, else the folder it lies in.

    Raises:
        InputInvalid: Names without a folder, and no pattern.

    Example:
        >>> videos_of_paths(["video01/000025", "video02/000000"])
        ['video01', 'video02']
    """
    if pattern is not None:
        return videos_by_pattern(names, pattern)
    flat = [name for name in names if "/" not in name]
    if flat:
        raise InputInvalid(
            "masks",
            [
                f"{len(flat)} masks lie in no folder that names their video (first: {flat[0]!r}); put each video into "
                f"a folder of its own or pass --patient-pattern, such as {_proposed(names)}"
            ],
        )
    return [str(PurePosixPath(name).parent) for name in names]


def _proposed(names: Sequence[str]) -> str:
    """A pattern that finds videos with several images in the names, and what it finds; else an example."""
    for pattern in ("^(.+)/", "^(.+)_[0-9]+", "^(.+)[_-][a-z]*[0-9]+", "^([A-Za-z]*[0-9]+)"):
        videos = [match and match[1] for match in map(re.compile(pattern).search, names)]
        if all(videos) and 1 < len(set(videos)) <= len(names) / 2:
            return f"'{pattern}' ({len(set(videos))} videos, the first {videos[0]!r})"
    return "'^([0-9]+)_'"


def same_videos(references: Collection[str], predictions: Collection[str]) -> dict[str, str]:
    """The predictions' names that are not the references' own, and the one video of theirs that each must be.

    Names may differ in case and in zeros before a number; a number alone is the only video that has it and no other
    number. Where a name fits two videos, or two names fit one, nothing is matched.

    Example:
        >>> same_videos(["video01", "video02"], ["Video1", "2"])
        {'Video1': 'video01', '2': 'video02'}
        >>> same_videos(["a1", "b1"], ["1"]), same_videos(["video01"], ["video1", "VIDEO01"])
        ({}, {})
    """
    known = set(references)
    spelled: dict[str, set[str]] = {}
    for video in known:
        for spelling in _spellings(video):
            spelled.setdefault(spelling, set()).add(video)
    others = [name for name in predictions if name not in known]
    fitting = {name: spelled.get(_plain(name), set()) for name in others}
    meant = {name: next(iter(videos)) for name, videos in fitting.items() if len(videos) == 1}
    taken = [*meant.values(), *(name for name in predictions if name in known)]
    return meant if len(set(taken)) == len(taken) else {}


def _plain(video: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", video.casefold())


def _spellings(video: str) -> set[str]:
    numbers = re.findall(r"\d+", _plain(video))
    return {_plain(video), *(numbers if len(numbers) == 1 else ())}
