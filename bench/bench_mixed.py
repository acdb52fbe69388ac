"""Mixed models: ours against lme4 and glmmTMB of R at the scale of Roß et al. (2023), and how cost grows beyond it.

R is called through `Rscript` in the same run (Debian: r-cran-lme4, r-cran-glmmtmb). `lme4` is Laplace with nloptwrap
and without derivative checks. `lme4-nAGQ0` is its fastest setting: it does not optimise the coefficients (on the 0/1
data it stops 1.5 below the log-likelihood of the others) and its errors ignore the uncertainty of the variances. Where
R is absent, figures measured earlier stand in and are named as stored; a ratio to them compares two machines and only
informs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from examples.simulated_instruments import EFFECTS, Simulation, Spreads

from bench.harness import Row, cpu_seconds, peak_memory_mb
from surgvalid.stats.mixed.fit.fit import Engine, fit
from surgvalid.stats.mixed.inference.term_tests import term_tests
from surgvalid.stats.mixed.model.design import design_of, factor_of
from surgvalid.stats.mixed.model.formula import FamilyName, ModelFormula

UNITS = ("algorithm", "patient", "image", "instance")
TERMS = " + ".join([*EFFECTS, *(f"(1 | {name})" for name in UNITS)])
STORED = {
    "glmmTMB paper": 5.51, "lme4 paper": 5.62, "lme4-nAGQ0 paper": 1.72, "glmmTMB default": 12.6, "lme4 default": 9.37,
    "lme4-nAGQ0 default": 4.35, "glmmTMB binary": 3.63, "lme4 binary": 8.38, "lme4-nAGQ0 binary": 1.29,
    "lmer score": 1.0, "lmer-no-checks score": 0.86,
}  # fmt: skip
"""CPU seconds of R 4.2.2, lme4 1.1-31 and glmmTMB 1.1.5 with reference BLAS on one core."""
SLOPE = "i_dark"
VARYING = f"(0 + {SLOPE} | patient)"
SIZES = (10_000, 100_000, 1_000_000)


def rows() -> list[Row]:
    frames = {
        "counts": Simulation().frame(1),
        "binary": Simulation(outcome="binary", spreads=Spreads(cell=0.0)).frame(1),
        "score": Simulation(outcome="score").frame(1),
    }
    frames |= {
        "varying": Simulation(varying=0.4).frame(2),
        "varying_binary": Simulation(outcome="binary", spreads=Spreads(cell=0.0), varying=0.4).frame(2),
    }
    peers, stored = _peers(frames)
    cell = "(1 | algorithm:instance)"
    models = (
        Measured("paper", f"tp / reference ~ {TERMS}", frames["counts"]),
        Measured("default", f"tp / reference ~ {TERMS} + {cell}", frames["counts"]),
        Measured("binary", f"correct ~ {TERMS}", frames["binary"]),
        Measured("score", f"score ~ {TERMS}", frames["score"], "gaussian", goal=20.0),
        Measured("paper, REML", f"tp / reference ~ {TERMS}", frames["varying"], restricted=True),
        Measured("paper, REML and slope", f"tp / reference ~ {TERMS} + {VARYING}", frames["varying"], restricted=True,
                 goal=20.0),
        Measured("default, REML and slope", f"tp / reference ~ {TERMS} + {cell} + {VARYING}", frames["varying"],
                 restricted=True, goal=20.0),
        Measured("binary, REML and slope", f"correct ~ {TERMS} + {VARYING}", frames["varying_binary"], restricted=True,
                 goal=20.0),
    )  # fmt: skip
    return [
        *(row for model in models for row in _compared(model, peers, stored)),
        *_tables(frames["varying"]),
        *_growth(),
    ]


class Measured(NamedTuple):
    """A model that is measured beside its peers."""

    name: str
    text: str
    frame: pl.DataFrame
    family: FamilyName = "binomial"
    restricted: bool = False
    goal: float = 30.0
    """The ratio promised of the compiled engine."""


def _compared(model: Measured, peers: dict[str, float], stored: str) -> list[Row]:
    goals = {"numba": model.goal, "numpy": 8.0 if model.goal == 30.0 and not model.restricted else None}
    engines: tuple[Engine, ...] = ("numba", "numpy")
    found = []
    for engine in engines:
        ours = cpu_seconds(
            lambda engine=engine: fit(  # type: ignore[misc]
                model.frame, model.text, family=model.family, engine=engine, restricted=model.restricted or None
            ),
            repeat=5,
        )
        for peer, seconds in peers.items():
            kind, _, what = peer.partition(" ")
            if what == model.name:
                note = f"{model.frame.height:,} rows, 18 coefficients, with standard errors{stored}"
                found.append(Row(f"mixed model {model.name} ({engine})", ours, kind, seconds, goals[engine], note))
    return found


def _tables(frame: pl.DataFrame) -> list[Row]:
    """Whole tables of 17 tested properties, without slopes and with one for each."""
    design = design_of(frame, ModelFormula.parse(f"tp / reference ~ {TERMS} + (1 | algorithm:instance)"))
    patient, found = factor_of(frame, "patient"), []

    def table(slopes: bool) -> object:
        base = fit(design, restricted=True, engine="numba")
        return term_tests(base, patient, slopes=slopes, engine="numba")

    once = cpu_seconds(lambda: fit(design, engine="numba"))
    for name, slopes in (("without slopes", False), ("a slope each", True)):
        seconds = cpu_seconds(lambda slopes=slopes: table(slopes), repeat=1)  # type: ignore[misc]
        note = f"{frame.height:,} rows; {seconds / once:.1f} times one full-likelihood fit with errors"
        found.append(Row(f"mixed model, 17 properties tested, {name}", seconds, "-", None, None, note))
    return found


def _peers(frames: dict[str, pl.DataFrame]) -> tuple[dict[str, float], str]:
    """CPU seconds per peer and model, measured now where R is installed."""
    script = Path(__file__).parent / "mixed_peers.R"
    if shutil.which("Rscript") is None:
        return STORED, "; peer stored, not measured in this run (no R here)"
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in frames.items():
            frame.write_csv(Path(folder) / f"{name}.csv")
        (Path(folder) / "terms.txt").write_text(TERMS + "\n", encoding="utf-8")
        done = subprocess.run(["Rscript", str(script), folder], capture_output=True, text=True, check=False)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") >= 2]
    if done.returncode or not lines:
        return STORED, "; peer stored, not measured in this run (R packages missing)"
    return {line[0]: float(line[1]) for line in lines}, ""


def _growth() -> list[Row]:
    """Ours alone, each size in a process of its own so that its memory is its own."""
    found = []
    for size in SIZES:
        seconds, memory = _apart("rows", size)
        note = f"{size:,} rows, {size // 5:,} instances, 18 coefficients, 5 random effects; {memory:,.0f} MB"
        found.append(Row(f"mixed model, {size:,} rows", seconds, "-", None, None, note + "; goal 60 s and 4,000 MB"))
    seconds, memory = _apart("crossed", 75_000)
    note = f"3,000 x 1,000 levels crossed, 75,000 rows; {memory:,.0f} MB; goal 2,000 MB"
    return [*found, Row("mixed model, two large crossed factors", seconds, "-", None, None, note)]


def _apart(kind: str, size: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "bench.bench_mixed", kind, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return float(answer["seconds"]), float(answer["memory_mb"])


def large(size: int) -> tuple[pl.DataFrame, str]:
    """Pixel counts of `size` rows: five algorithms, a fifth as many instances, a tenth as many images."""
    frame = Simulation(patients=max(10, size // 10_000), images=size // 10, instances=size // 5).frame(1)
    return frame, f"tp / reference ~ {TERMS} + (1 | algorithm:instance)"


def crossed(size: int) -> tuple[pl.DataFrame, str]:
    """0/1 answers of 3,000 raters to 1,000 items."""
    rng = np.random.default_rng(0)
    rater, item, hard = rng.integers(0, 3000, size), rng.integers(0, 1000, size), rng.binomial(1, 0.3, size)
    eta = 0.5 - 0.4 * hard + rng.normal(0, 0.7, 3000)[rater] + rng.normal(0, 0.9, 1000)[item]
    answer = rng.binomial(1, 1 / (1 + np.exp(-eta)))
    frame = pl.DataFrame({"rater": rater, "item": item, "hard": hard, "correct": answer})
    return frame, "correct ~ hard + (1 | rater) + (1 | item)"


def main() -> None:
    kind, size = sys.argv[1], int(sys.argv[2])
    frame, text = (large if kind == "rows" else crossed)(size)
    fit(Simulation(images=20, instances=40).frame(0), f"tp / reference ~ {TERMS}", engine="numba")
    found = []
    seconds = cpu_seconds(lambda: found.append(fit(frame, text, engine="numba")), repeat=1, warm_up=False)
    levels, converged = [factor.levels for factor in found[0].design.factors], found[0].convergence.converged
    print(json.dumps({"seconds": seconds, "memory_mb": peak_memory_mb(), "levels": levels, "converged": converged}))


if __name__ == "__main__":
    main()
