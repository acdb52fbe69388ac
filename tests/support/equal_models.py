"""Tables of two models without a true difference, in which rows are not independent: nested, repeated, divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

Rng = np.random.Generator


def _table(rng: Rng, rows: list[dict[str, object]], group: list[int], *, sd: float = 0.02) -> pl.DataFrame:
    """Both models on every row; groups of rows share a level and a difference."""
    places = np.array(group)
    level = rng.normal(0.75, 0.04, places.max() + 1)[places]
    gap = rng.normal(0.0, sd, places.max() + 1)[places]
    frames = []
    for model, sign in (("A", 0.5), ("B", -0.5)):
        values = level + sign * gap + rng.normal(0, 0.03, len(places))
        frames.append(pl.DataFrame(rows).with_columns(model=pl.lit(model), dice=pl.Series(values.clip(0, 1))))
    return pl.concat(frames)


def nested(patients: int, videos: int) -> Callable[[Rng], pl.DataFrame]:
    pairs = [(patient, video) for patient in range(patients) for video in range(videos)]
    rows: list[dict[str, object]] = [{"patient": f"p{p}", "video": f"p{p}v{v}"} for p, v in pairs]
    return lambda rng: _table(rng, rows, [patient for patient, _ in pairs])


def seeds(rng: Rng, cases: int = 20, each: int = 3) -> pl.DataFrame:
    pairs = [(case, seed) for case in range(cases) for seed in range(each)]
    return _table(rng, [{"case_id": f"c{c}", "seed": s} for c, s in pairs], [case for case, _ in pairs])


def organs(rng: Rng, cases: int = 15) -> pl.DataFrame:
    pairs = [(case, organ) for case in range(cases) for organ in ("liver", "duct", "artery")]
    return _table(rng, [{"case_id": f"c{c}", "organ": o} for c, o in pairs], [case for case, _ in pairs])


def encoded(rng: Rng, patients: int = 10, frames: int = 8) -> pl.DataFrame:
    pairs = [(patient, frame) for patient in range(patients) for frame in range(frames)]
    return _table(rng, [{"image": f"p{p:02}_frame_{f:03}.png"} for p, f in pairs], [patient for patient, _ in pairs])


DESIGNS: dict[str, Callable[[Rng], pl.DataFrame]] = {
    "6 patients, 5 videos": nested(6, 5),
    "10 patients, 4 videos": nested(10, 4),
    "20 patients, 2 videos": nested(20, 2),
    "3 seeds": seeds,
    "3 organs": organs,
    "patients in names": encoded,
}


def tables(design: str, count: int, seed: int = 30) -> Iterator[pl.DataFrame]:
    """So many tables of a design."""
    return (DESIGNS[design](np.random.default_rng([seed, place])) for place in range(count))
