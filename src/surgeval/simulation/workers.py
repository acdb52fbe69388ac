"""Processes that work for this one, and end with it even when it is killed."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from threading import Thread

ORPHANED = 3
"""How a worker ends whose parent is gone."""


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of fresh processes. A worker of a plain pool waits for ever once its parent was killed; these do not."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_parent)


def all_cores() -> int:
    """How many processes this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _follow_parent() -> None:
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(ORPHANED)
