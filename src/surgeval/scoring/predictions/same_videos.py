"""Which of the references' videos a prediction is of, where both call it a little differently."""

from __future__ import annotations

import re
from collections.abc import Collection


def same_videos(references: Collection[str], predictions: Collection[str]) -> dict[str, str]:
    """The predictions' names that are not the references' own, and the one video of theirs that each must be.

    Names may differ in case and in zeros before a number; a number alone is the only video that has it and no other
    number. Where a name fits two videos, or two names fit one, nothing is taken for anything.

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
