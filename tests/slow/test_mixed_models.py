"""Mixed models at sizes and in numbers that take long: coverage over many data sets, thousands of crossed levels."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from examples.simulated_instruments import EFFECTS, Simulation

from repository import REPOSITORY
from surgvalid.stats.mixed.fit.fit import fit

pytestmark = pytest.mark.slow
UNITS = ["algorithm", "patient", "image", "instance"]


def test_intervals_cover_under_default_while_contrasts_under_paper_do_not() -> None:
    """40 data sets of a quarter of the paper's size; 17 effects, and 4 interactions with the algorithm, all zero."""
    small = Simulation(images=260, instances=530)
    inside: dict[tuple[str, str], list[bool]] = {}
    for seed in range(40):
        frame = small.frame(seed)
        for spec in ("default", "ross"):
            found = fit(frame, formula(interaction=spec == "default"))
            truth = np.array([EFFECTS.get(name, 0.0) for name in found.names])
            hit = np.abs(found.beta - truth) < 1.96 * found.standard_errors
            for name, covered in zip(found.names[1:], hit[1:], strict=True):
                inside.setdefault((spec, "contrast" if ":" in name else "main"), []).append(bool(covered))
    share = {key: np.mean(values) for key, values in inside.items()}
    assert 0.92 <= share["default", "main"] <= 0.975
    assert 0.90 <= share["default", "contrast"] <= 0.99
    assert share["ross", "contrast"] < 0.3


def formula(*, interaction: bool) -> str:
    random = [*UNITS, "algorithm:instance"] if interaction else UNITS
    terms = [*EFFECTS, "algorithm:i_dark", *(f"(1 | {name})" for name in random)]
    return f"tp / reference ~ {' + '.join(terms)}"


def test_three_thousand_by_a_thousand_crossed_levels_fit_within_two_gigabytes() -> None:
    command = [sys.executable, "-m", "bench.bench_mixed", "crossed", "12000"]
    root = REPOSITORY
    paths = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root,
                          env={**os.environ, "PYTHONPATH": paths})  # fmt: skip
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["levels"][0] > 2900
    assert answer["levels"][1] == 1000
    assert answer["converged"]
    assert answer["memory_mb"] < 2000
