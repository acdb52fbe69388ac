"""How often verdicts are wrong: intervals of several models together, and the chance that a claim is wrong.

`python -m docs.validate_verdicts` rewrites the tables between the markers of `validation-tests.md` (about a minute of
CPU time; `--processes` spreads it).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from docs.studies import asked, mapped, markdown, put_table
from surgvalid.stats.comparing.paired_tests import flip_p, pair_indices
from surgvalid.stats.draws import stream
from surgvalid.stats.verdict.joint_flips import joint_differences
from surgvalid.stats.verdict.reach import chance_wrong

PAGE = Path(__file__).parent / "validation-tests.md"
TOGETHER = ((3, 10, 400), (3, 40, 150), (5, 10, 400), (5, 40, 100), (8, 20, 60))
"""Models, patients, studies."""
WORLDS = {
    "half equal, the rest Cauchy(0, 0.7): the prior itself": (0.5, None),
    "half equal, the rest 0.6 SD apart": (0.5, 0.6),
    "nine of ten equal, the rest Cauchy(0, 0.7)": (0.9, None),
}
"""How many pairs are equal, and how far the others are apart."""
UNITS, STUDIES = (6, 10, 20), 2500
STEPS = ((0.0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.5))


def together(models: int, units: int, studies: int) -> tuple[object, ...]:
    """Simultaneous coverage of equal models of unequal spread and of skewed ones, and what is found of one ahead."""
    rng = stream(0, "validate-verdicts", str(models), str(units))
    first, second = pair_indices(models)
    kept: list[list[bool]] = [[], []]
    found = []
    for _ in range(studies):
        noise = rng.normal(0, 1, (units, models)) * np.linspace(0.4, 2, models)
        skewed = rng.gamma(1.0, 1.0, (units, models))
        for place, scores in enumerate((noise, skewed)):
            gaps = scores[:, first] - scores[:, second]
            held = joint_differences(gaps, np.ones_like(gaps))
            kept[place].append(bool(((held.low <= 0) & (held.high >= 0)).all()))
        ahead = rng.normal(0, 1, (units, models))
        ahead[:, 0] += 0.8
        gaps = ahead[:, first] - ahead[:, second]
        p = joint_differences(gaps, np.ones_like(gaps)).tests.p_adjusted[first == 0]
        found.append(float((p <= 0.05).mean()))
    return f"{models} x {units}", studies, *(float(np.mean(one)) for one in kept), float(np.mean(found))


def claims(world: str, units: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the claims of simulated studies, the chance that was given and whether they are wrong."""
    equal, effect = WORLDS[world]
    rng = stream(0, "validate-chances", world, str(units))
    given, wrong = [], []
    for _ in range(STUDIES):
        apart = 0.7 * rng.standard_cauchy() if effect is None else effect * rng.choice([-1, 1])
        truth = 0.0 if rng.random() < equal else float(apart)
        gaps = rng.normal(truth, 1, units)
        if flip_p(gaps)[0] <= 0.05:
            given.append(chance_wrong(gaps))
            wrong.append(truth * gaps.mean() <= 0)
    return np.array(given), np.array(wrong)


def calibrated(world: str) -> tuple[object, ...]:
    """Share of claims that are wrong, by the chance that was given."""
    given, wrong = (np.concatenate(some) for some in zip(*(claims(world, units) for units in UNITS), strict=True))
    cells = []
    for low, high in STEPS:
        inside = (given >= low) & (given < high)
        cells.append(f"{wrong[inside].mean():.3f} of {inside.sum()}" if inside.sum() >= 20 else "-")
    return world, float(given.mean()), float(wrong.mean()), *cells


def main() -> None:
    """Put new tables between the markers of the page."""
    options = asked(__doc__ or "")
    heads = ["models x patients", "studies", "coverage, SD 0.4 to 2", "coverage, gamma(1)", "pairs found, 0.8 SD ahead"]
    put_table(PAGE, "together", markdown(heads, mapped(together, TOGETHER, processes=options.processes)))
    heads = ["world", "mean chance given", "wrong", *(f"given {low:g} to {high:g}" for low, high in STEPS)]
    rows = mapped(calibrated, [(world,) for world in WORLDS], processes=options.processes)
    put_table(PAGE, "chances", markdown(heads, rows))


if __name__ == "__main__":
    main()
