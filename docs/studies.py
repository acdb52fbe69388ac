"""What the simulations behind the validation pages share: many repetitions over several processes, tables, pages.

Every repetition has a stream of its own, so a result depends neither on the number of processes nor on how the
repetitions are cut into pieces.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PIECE = 25
"""Repetitions that a process does at once."""


class Study(NamedTuple):
    """One thing that is repeated."""

    once: Callable[..., Any]
    """A function of a module; called with `cell` and `repetition=`, it gives a number or several."""
    cell: tuple[Any, ...]
    repetitions: int


def asked(about: str, *, repetitions: int | None = None) -> argparse.Namespace:
    """The options of a study's command line: `--processes`, and `--repetitions` where they can be chosen."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1, help="how many run at the same time")
    if repetitions is not None:
        parser.add_argument("--repetitions", type=int, default=repetitions, help="of every cell of the tables")
    return parser.parse_args()


def mapped(work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *, processes: int = 1) -> list[Any]:
    """What `work` gives for every job, in their order."""
    if processes == 1:
        return [work(*job) for job in jobs]
    for name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return [one.result() for one in [pool.submit(work, *job) for job in jobs]]


def repeated(studies: Sequence[Study], *, processes: int = 1) -> list[np.ndarray]:
    """The outcomes of every study, `[repetition, ...]`."""
    jobs = [
        (study, start, min(start + PIECE, study.repetitions))
        for study in studies
        for start in range(0, study.repetitions, PIECE)
    ]
    done = iter(mapped(_piece, jobs, processes=processes))
    return [np.array([one for _ in range(0, s.repetitions, PIECE) for one in next(done)], dtype=float) for s in studies]


def _piece(study: Study, first: int, last: int) -> list[Any]:
    return [study.once(*study.cell, repetition=repetition) for repetition in range(first, last)]


def share(outcomes: np.ndarray) -> float:
    """The mean of what is known; NaN where nothing is."""
    known = outcomes[np.isfinite(outcomes)]
    return float(known.mean()) if known.size else float("nan")


def markdown(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; shares to three digits, `-` for what is not known."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(map(_shown, row)) + " |" for row in rows)])


def _shown(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return "-" if np.isnan(cell) else f"{cell:.3f}"


def with_table(text: str, name: str, table: str) -> str:
    """The page with a new table between the markers of that name."""
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    return f"{text[: text.index(begin) + len(begin)]}\n{table}\n{text[text.index(end) :]}"


def put_table(page: Path, name: str, table: str) -> None:
    """Write a new table between the markers of that name on a page."""
    page.write_text(with_table(page.read_text(encoding="utf-8"), name, table), encoding="utf-8")
