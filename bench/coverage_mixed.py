"""`python -m bench.coverage_mixed [--sets 100]`: coverage of 95 % intervals under both specifications.

Simulated data with the structure of Roß et al. (2023) with known effects and noise of (algorithm, instance); see
docs/validation-mixed.md for a stored run.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

import numpy as np
from examples.simulated_instruments import EFFECTS, Simulation, Spreads

from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit

UNITS = ("algorithm", "patient", "image", "instance")


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of 95 % intervals under both specifications.")
    parser.add_argument("--sets", type=int, default=100, help="simulated data sets")
    parser.add_argument(
        "--noise", type=float, default=1.0, help="deviation of (algorithm, instance) on the logit scale"
    )
    options = parser.parse_args()
    print(table(options.sets, options.noise))


def table(sets: int, noise: float) -> str:
    counted: dict[tuple[str, str], list[tuple[bool, float, float]]] = defaultdict(list)
    simulation = Simulation(spreads=Spreads(cell=noise))
    for seed in range(sets):
        print(f"data set {seed + 1} of {sets}", end="\r", file=sys.stderr, flush=True)
        frame = simulation.frame(seed)
        for spec in ("default", "ross"):
            _count(counted, spec, fit(frame, formula(spec)))
    lines = [
        f"| specification | effects | intervals | coverage | mean SE | RMSE |  ({sets} data sets)",
        "|---|---|---|---|---|---|",
    ]
    for (spec, kind), rows in counted.items():
        hit, se, error = (np.array(column) for column in zip(*rows, strict=True))
        rmse = np.sqrt(np.mean(error**2))
        lines.append(f"| {spec} | {kind} | {len(rows)} | {hit.mean():.3f} | {se.mean():.4f} | {rmse:.4f} |")
    return "\n".join(lines)


def formula(spec: str) -> str:
    random = (*UNITS, "algorithm:instance") if spec == "default" else UNITS
    terms = [*EFFECTS, "algorithm:i_dark", *(f"(1 | {name})" for name in random)]
    return f"tp / reference ~ {' + '.join(terms)}"


def _count(counted: dict[tuple[str, str], list[tuple[bool, float, float]]], spec: str, found: MixedFit) -> None:
    for name, estimate, error in zip(found.names[1:], found.beta[1:], found.standard_errors[1:], strict=True):
        kind = {":": "algorithm x property (true 0)", "i": "of the instance"}.get(":" if ":" in name else name[0])
        gap = float(estimate - EFFECTS.get(name, 0.0))
        key = (spec, kind or "of background and image")
        counted[key].append((abs(gap) < 1.959964 * error, float(error), gap))


if __name__ == "__main__":
    main()
