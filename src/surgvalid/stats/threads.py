"""One thread for linear algebra: the matrices of fits and rankings are small, and threads that wait cost more.

On two busy cores the fits of eight models took 48 s of CPU with the library's own threads and 19 s with one, the
leaderboard of twenty models 2.4 s and 1.2 s.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def one_thread(work: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """The function, with linear algebra held to one thread while it runs."""

    @wraps(work)
    def held(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        with _libraries().limit(limits=1, user_api="blas"):
            return work(*args, **kwargs)

    return held


@cache
def _libraries() -> ThreadpoolController:
    """The libraries for linear algebra that this process has loaded; numpy's and scipy's have been by then."""
    return ThreadpoolController()
