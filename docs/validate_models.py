"""How often `failures` calls an absent effect significant where models differ: `python -m docs.validate_models`.

Several models answer the same frames of some videos; smoke is in half of the frames. Its effect differs between models
(SD .6) and between videos (SD .3), on the log odds of 0/1 answers or on a score with residual SD 1. Two questions: is
the mean over all models like these zero (asked with `models_like_these`), and does smoke do nothing to these very
models on average, as the default asks. Effects on 0/1 answers that cancel out as shares of right answers do not as log
odds, and the other way round: where most answers are right, effects of mean zero on the log odds cost right answers.
The default speaks of the shares. `tests/slow/test_varying_models.py` holds both questions to 7 %.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import brentq
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
LEVEL, LEVEL_SD, VIDEO_SD = 0.8, 0.6, 0.3
"""Of a video without smoke, and of what smoke does in it; on the log odds, or in SD of the score."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


class Truth(NamedTuple):
    """What is simulated."""

    models: int
    videos: int
    real: bool = False
    """A score instead of 0/1 answers."""
    model_sd: float = 0.6
    """Of the effect, between models."""
    cancels: str = ""
    """In what effects of the models at hand have mean zero: `odds` (the linear predictor) or `shares`."""
    effect: float = 0.0


def _share_right(level: np.ndarray, sd: float) -> float:
    """The mean share of right answers of models, over videos whose log odds have this spread."""
    return float((expit(level[:, None] + sd * _NODES) @ _WEIGHTS).mean() / _WEIGHTS.sum())


def cancelled(slopes: np.ndarray, levels: np.ndarray, cancels: str) -> np.ndarray:
    """Slopes by model moved by one amount, so that they do nothing on average."""
    slopes = slopes - slopes.mean() if cancels else slopes
    if cancels != "shares":
        return slopes
    without = _share_right(levels, LEVEL_SD)
    with_smoke = float(np.hypot(LEVEL_SD, VIDEO_SD))
    return slopes + brentq(lambda moved: _share_right(levels + slopes + moved, with_smoke) - without, -3, 3)


def answers(truth: Truth, repetition: int) -> pl.DataFrame:
    """One table: model, video, frame, smoke, value; 20 frames per video."""
    rng = stream(31, "models", *map(str, truth), str(repetition))
    slopes, levels = rng.normal(0, truth.model_sd, truth.models), rng.normal(0, 0.3, truth.models)
    slopes = truth.effect + cancelled(slopes, LEVEL + levels, truth.cancels)
    video = np.repeat(np.arange(truth.videos), 20)
    smoke = np.tile([0, 1], len(video) // 2)
    by_video = rng.normal(0, VIDEO_SD, truth.videos)[video]
    level = rng.normal(LEVEL, LEVEL_SD, truth.videos)[video]
    parts = []
    for number, (base, slope) in enumerate(zip(levels.tolist(), slopes.tolist(), strict=True)):
        eta = level + base + (slope + by_video) * smoke
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
    if like_these or tests.table["p_value"][1] <= 0.05:  # else it is not found either way, and slopes take long
        tests = over_models(fitted, tests, frame, **asked_of).tests
    found = tests.table["p_value"][1]
    return float("nan") if found is None else float(found)


def rejected(truth: Truth, *, like_these: bool, repetitions: int) -> float:
    """The share of tables in which an effect that is not there has p <= .05."""
    outcomes = repeated([Study(p_value, (truth, like_these), repetitions)])[0]
    return share((outcomes <= 0.05).astype(float))


def table(repetitions: int, processes: int) -> str:
    """Shares of false positives, as Markdown."""
    kinds = {
        "0/1, models like these": (False, ""),
        "0/1, these models, shares cancel": (False, "shares"),
        "0/1, these models, log odds cancel": (False, "odds"),
        "score, models like these": (True, ""),
        "score, these models": (True, "odds"),
    }
    cells = [(Truth(m, v, real, cancels=cancels), not cancels) for m, v in SIZES for real, cancels in kinds.values()]
    done = repeated([Study(p_value, cell, repetitions) for cell in cells], processes=processes)
    shares = np.reshape([share((one <= 0.05).astype(float)) for one in done], (len(SIZES), -1)).tolist()
    return markdown(
        ["models, videos", *kinds], [(f"{m}, {v}", *row) for (m, v), row in zip(SIZES, shares, strict=True)]
    )


def main() -> None:
    """Put a new table between the markers of the page."""
    options = asked(__doc__ or "", repetitions=REPETITIONS)
    put_table(PAGE, "models", table(options.repetitions, options.processes))


if __name__ == "__main__":
    main()
