"""How many questions a server is asked at once: more while it keeps its speed, half as many when it stumbles.

A server that works on one question at a time gains nothing from sixteen: each waits for the others, times
out, and is computed for nobody. So the number begins small, grows by one with every reply that took at most
twice the quickest, holds while replies are slower, and is halved by a time-out or a refusal for load.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

FIRST = 2
_SLOWER = 2.0
_FADES = 1.001


class Pace:
    """The number of questions that may be under way, learnt from how the server bears them."""

    def __init__(self, most: int, *, first: int = FIRST) -> None:
        self.most = max(1, most)
        self.at_once = min(self.most, max(1, first))
        self._quickest_s = float("inf")
        self._under_way = 0
        self._spare = 0
        """Replies to wait for before a stumble counts again: questions sent before it tell nothing new."""
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until one more question may be asked, and hold that place."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < self.at_once)
            self._under_way += 1
        try:
            yield
        finally:
            async with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def went(self, seconds: float) -> None:
        """A reply came after so many seconds."""
        self._spare = max(0, self._spare - 1)
        self._quickest_s = min(self._quickest_s * _FADES, seconds)
        if seconds <= _SLOWER * self._quickest_s and self.at_once < self.most:
            self.at_once += 1

    def stumbled(self) -> None:
        """The server did not bear it: no answer in time, or too many requests."""
        if self._spare:
            self._spare -= 1
            return
        self._spare = self._under_way - 1 if self._under_way else 0
        self.at_once = max(1, self.at_once // 2)
