"""How often `failures` calls an absent effect significant where models differ: `python -m docs.validate_models`.

Several models answer the same frames of some videos; smoke is in half of the frames. Its effect differs between models
(SD .6) and between videos (SD .3), on the log odds of 0/1 answers or on a score with residual SD 1. Two questions: is
the mean over all models like these zero (asked with `models_like_these`), and is the mean over these very models zero,
as the default asks: there the effects of the models are centred. `tests/slow/test_varying_models.py` holds both to 7 %.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit

from docs.studies import Study, asked, markdown, put_table, repeated, share
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.inference.over_models import over_models
from surgvalid.stats.mixed.inference.tested import TestRule, tested
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula

PAGE = Path(__file__).parent / "validation-mixed.md"
REPETITIONS = 184
SIZES = ((4, 14), (6, 14), (8, 14), (4, 8))


class Truth(NamedTuple):
    """What is simulated."""

    models: int
    videos: int
    real: bool = False
    """A score instead of 0/1 answers."""
    model_sd: float = 0.6
    """Of the effect, between models."""
    centred: bool = False
    """Whether the effects of the models at hand have mean zero."""
    effect: float = 0.0


def answers(truth: Truth, repetition: int) -> pl.DataFrame:
    """One table: model, video, frame, smoke, value; 20 frames per video."""
    rng = stream(31, "models", *map(str, truth), str(repetition))
    slopes = rng.normal(0, truth.model_sd, truth.models)
    slopes = truth.effect + slopes - (slopes.mean() if truth.centred else 0.0)
    video = np.repeat(np.arange(truth.videos), 20)
    smoke = np.tile([0, 1], len(video) // 2)
    by_video, level = rng.normal(0, 0.3, truth.videos)[video], rng.normal(0.8, 0.6, truth.videos)[video]
    parts = []
    for number, slope in enumerate(slopes.tolist()):
        eta = level + rng.normal(0, 0.3) + (slope + by_video) * smoke
        drawn = eta + rng.normal(size=len(eta)) if truth.real else rng.binomial(1, expit(eta)).astype(float)
        names = {"model": f"m{number}", "video": np.char.add("v", video.astype(str))}
        parts.append(pl.DataFrame({**names, "smoke": smoke, "value": drawn}))
    return pl.concat(parts)


def p_value(truth: Truth, like_these: bool, *, repetition: int) -> float:
    """The p value of smoke by the rule of `failures`."""
    frame = answers(truth, repetition)
    model = ModelFormula("value", None, ("smoke",), ("model", "video"), family="gaussian" if truth.real else "binomial")
    fitted, tests = tested(design_of(frame, model, separation="keep"), "video", TestRule())
    asked_of: dict[str, Any] = {"column": "model", "level": 0.95, "like_these": like_these}
    tests = over_models(fitted, tests, frame, **asked_of).tests
    return float(tests.table["p_value"][1])


def rejected(truth: Truth, *, like_these: bool, repetitions: int) -> float:
    """The share of tables in which an effect that is not there has p <= .05."""
    outcomes = repeated([Study(p_value, (truth, like_these), repetitions)])[0]
    return share((outcomes <= 0.05).astype(float))


def table(repetitions: int, processes: int) -> str:
    """Shares of false positives, as Markdown."""
    kinds = [(real, like) for real in (False, True) for like in (True, False)]
    cells = [(Truth(m, v, real, centred=not like), like) for m, v in SIZES for real, like in kinds]
    done = repeated([Study(p_value, cell, repetitions) for cell in cells], processes=processes)
    shares = np.reshape([share((one <= 0.05).astype(float)) for one in done], (len(SIZES), -1)).tolist()
    names = [f"{'score' if real else '0/1'}, {'models like these' if like else 'these models'}" for real, like in kinds]
    return markdown(
        ["models, videos", *names], [(f"{m}, {v}", *row) for (m, v), row in zip(SIZES, shares, strict=True)]
    )


def main() -> None:
    """Put a new table between the markers of the page."""
    options = asked(__doc__ or "", repetitions=REPETITIONS)
    put_table(PAGE, "models", table(options.repetitions, options.processes))


if __name__ == "__main__":
    main()
