"""How many questions a server is asked at once: more while it keeps its speed, half as many when it stumbles.

A server that works on one question at a time gains nothing from sixteen: each waits for the others, times
out, and is computed for nobody. So the number begins small, grows by one with every reply that took at most
twice the quickest, holds while replies are slower, and is halved by a time-out or a refusal for load.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

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
        self._waiting: deque[asyncio.Future[None]] = deque()

    def turn(self) -> Pace:
        """Wait until one more question may be asked, and hold that place: `async with pace.turn():`."""
        return self

    async def __aenter__(self) -> None:
        while self._under_way >= self.at_once:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        self._under_way += 1

    async def __aexit__(self, *_: object) -> None:
        self._under_way -= 1
        self._wake()

    def _wake(self) -> None:
        """Let as many go on as may, and no others: waking all for each reply costs more than the reply."""
        free = self.at_once - self._under_way
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():  # cancelled while it waited
                place.set_result(None)
                free -= 1

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


class Rate:
    """Turns that come no faster than so many in a minute; without a number, at once."""

    def __init__(
        self,
        per_minute: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._apart_s = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._clock, self._sleep = clock, sleep

    async def turn(self) -> None:
        """Wait for the next turn."""
        if not self._apart_s:
            return
        now = self._clock()
        self._next = max(self._next, now)
        wait_s, self._next = self._next - now, self._next + self._apart_s
        await self._sleep(wait_s)
