"""How often verdicts are wrong: intervals of several models together, and every probability that is printed.

`python -m docs.validate_verdicts` rewrites the tables between the markers of `validation-tests.md` (about three minutes
of CPU time; `--processes` spreads a part of it).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import binom

from docs.studies import asked, mapped, markdown, put_table
from surgvalid.stats.comparing.paired_tests import flip_p, pair_indices
from surgvalid.stats.comparing.profiles import profiles
from surgvalid.stats.draws import stream
from surgvalid.stats.intervals.skewed import unseen_rate
from surgvalid.stats.ranking import rank
from surgvalid.stats.verdict.contradictions import Condition, Stratum, predicted
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


FIRST_IN = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 1.01))
FEW = {"normal": 0.0, "gamma(1)": 1.0}
"""Differences of units by name, with the mean that their intervals should hold."""


def held_by_range(kind: str, units: int, studies: int = 20_000) -> float:
    """How often the range of the differences of so few units holds their mean."""
    rng = stream(0, "validate-range", kind, str(units))
    gaps = rng.normal(size=(studies, units)) if kind == "normal" else rng.gamma(1.0, size=(studies, units))
    return float(np.mean((gaps.min(axis=1) <= FEW[kind]) & (FEW[kind] <= gaps.max(axis=1))))


def held_by_bound(units: int) -> float:
    """The smallest chance, over all rates, that the rate of failures is at most the one that is printed: exact."""
    failures = np.arange(units + 1)
    ends = np.array([unseen_rate(units, count) for count in failures.tolist()])
    rates = np.linspace(0.001, 0.999, 999)
    return min(float(binom.pmf(failures, units, rate)[ends >= rate].sum()) for rate in rates)


def held_elsewhere(centres: int, studies: int = 4000) -> float:
    """How often the mean difference in another centre lies where it was said to lie."""
    rng = stream(0, "validate-elsewhere", str(centres))
    inside = 0
    for _ in range(studies):
        *there, new = rng.normal(0.5, 1, centres + 1)
        seen = [Stratum(str(one), float(rng.normal(one, 1, 6).mean()), 6, 1.0) for one in there]
        low, high = predicted(Condition("center", 1.0, tuple(seen), within=False)) or (0.0, 0.0)
        inside += low <= new <= high
    return inside / studies


def held_by_improvement(videos: int, studies: int = 400) -> float:
    """How often the interval of the probability of improvement holds it; videos of ten cases."""
    rng = stream(0, "validate-improvement", str(videos))
    names = [f"v{place}" for place in range(videos) for _ in range(10)]
    cases = [f"c{place}" for place in range(len(names))]
    both = {"model": ["A"] * len(names) + ["B"] * len(names), "case": cases * 2, "video": names * 2}
    truth, inside = 0.6179, 0  # of normal differences with mean .3 and variance 1
    for _ in range(studies):
        ahead = np.repeat(rng.normal(0.3, 0.6, videos), 10) + rng.normal(0, 0.8, len(names))
        values = np.concatenate([ahead, np.zeros(len(names))])
        row = profiles({**both, "value": values}, better="larger").improvement.row(0, named=True)
        inside += row["low"] is None or row["low"] <= truth <= row["high"]  # one without an interval is never wrong
    return inside / studies


def firsts(apart: float, studies: int = 120) -> tuple[object, ...]:
    """Of models by the share of resamples in which they are first, how many are truly the best."""
    rng = stream(0, "validate-firsts", str(apart))
    given, best = [], []
    names = [f"m{place}" for place in range(6)]
    for _ in range(studies):
        skill = rng.normal(0, apart, 6)
        scores = np.clip(0.5 + 0.05 * (skill + rng.normal(0, 1, (20, 6))), 0, 1)
        table = {"patient": [f"p{place}" for place in range(20)]} | dict(zip(names, scores.T.tolist(), strict=True))
        shares = dict(rank(table, metric="dice", replicates=200).stability.select("model", "p_first").iter_rows())
        given += [shares[name] for name in names]
        best += [name == names[int(np.argmax(skill))] for name in names]
    said, true = np.array(given), np.array(best)
    cells = [(said >= low) & (said < high) for low, high in FIRST_IN]
    return f"{apart:g}", *(f"{true[one].mean():.2f} of {one.sum()}" if one.sum() >= 20 else "-" for one in cells)


def printed() -> Iterator[tuple[object, ...]]:
    """What each probability that is printed promises, in which world, and what it keeps."""
    for kind, units in product(FEW, (3, 4, 5)):
        yield f"range of {units} units", 1 - 2.0 ** (1 - units), f"differences {kind}", held_by_range(kind, units)
    for units in (6, 12, 40):
        yield "rate of failures at most", 0.95, f"{units} units, at the worst rate", held_by_bound(units)
    for centres in (5, 8, 12):
        yield "difference in another centre", 0.95, f"{centres} centres of 6 units", held_elsewhere(centres)
    for videos in (6, 10, 20):
        yield "probability of improvement", 0.95, f"{videos} videos of 10 cases", held_by_improvement(videos)


def main() -> None:
    """Put new tables between the markers of the page."""
    options = asked(__doc__ or "")
    put_table(PAGE, "printed", markdown(["printed", "promised", "world", "kept"], list(printed())))
    heads = [
        "SD of skill, in SD between patients",
        *(f"`p_first` {low:g} to {min(high, 1):g}" for low, high in FIRST_IN),
    ]
    put_table(PAGE, "firsts", markdown(heads, [firsts(apart) for apart in (0.2, 0.5, 1.0)]))
    heads = ["models x patients", "studies", "coverage, SD 0.4 to 2", "coverage, gamma(1)", "pairs found, 0.8 SD ahead"]
    put_table(PAGE, "together", markdown(heads, mapped(together, TOGETHER, processes=options.processes)))
    heads = ["world", "mean chance given", "wrong", *(f"given {low:g} to {high:g}" for low, high in STEPS)]
    rows = mapped(calibrated, [(world,) for world in WORLDS], processes=options.processes)
    put_table(PAGE, "chances", markdown(heads, rows))


if __name__ == "__main__":
    main()
