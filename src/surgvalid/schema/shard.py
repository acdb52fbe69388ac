"""One part of many that a run over videos is cut into."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from surgvalid.errors import Misuse


class Shard(NamedTuple):
    """Which part of a run: the videos of number `number` of `of`."""

    number: int = 1
    of: int = 1

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard in a text as `2/4`.

        Raises:
            Misuse: It is none.
        """
        number, _, of = text.partition("/")
        if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
            raise Misuse(f"a shard is I/N with I from 1 to N, as 2/4; got {text!r}")
        return cls(int(number), int(of))

    def holds(self, video: str) -> bool:
        """Whether a video belongs to it; that depends on its name alone."""
        return int(hashlib.sha256(video.encode()).hexdigest(), 16) % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


WHOLE = Shard(1, 1)
