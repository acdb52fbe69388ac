"""How well each merge rule recovers the true order of models, and how it treats models that are equal.

`python -m docs.validate_orders` rewrites the table between the markers of `validation-tests.md` (a few seconds of CPU
time; `--processes` spreads it). Twelve models in ten buckets; each model has videos that suit it (0.5 on the
logit scale). `tau` is Kendall's tau-b between Copeland scores and true skill; `equals told apart` is the
share of pairs of truly equal models that get different final ranks when all twelve are equal.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from docs.studies import asked, mapped, markdown, put_table
from surgvalid.stats.comparing.paired_tests import PairedScores
from surgvalid.stats.ranking import MERGES, RankOptions, kendall_tau_b
from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard
from surgvalid.stats.ranking._focus.merge import copeland, gather, preferred, relation

PAGE = Path(__file__).parent / "validation-tests.md"
MODELS, BUCKETS = 12, 10
SCENARIOS = {
    "spread field, 100 videos": (100, 1.0),
    "close field, 100 videos": (100, 0.3),
    "spread field, 15 videos": (15, 1.0),
    "all equal, 100 videos": (100, 0.0),
}


def simulated_board(videos: int, spread: float, rng: np.random.Generator) -> FocusLeaderboard:
    """A leaderboard with ten questions per video and bucket, and skills evenly spread over `spread` logits."""
    skill = np.linspace(spread, 0.0, MODELS)
    taste = rng.normal(0, 1, (videos, 1)) + rng.normal(0, 0.5, (videos, MODELS))
    code = np.repeat(np.arange(videos), 10)
    buckets = []
    for b in range(BUCKETS):
        logit = skill + rng.normal(0, 0.2, MODELS) * (spread > 0) + taste
        values = (rng.random((len(code), MODELS)) < 1 / (1 + np.exp(-logit[code]))).astype(float)
        buckets.append(Bucket(f"group {b // 2}", bool(b % 2), PairedScores(values, code), np.arange(videos)))
    return FocusLeaderboard("technical", [f"m{i:02d}" for i in range(MODELS)], tuple(buckets), videos)


def one_study(videos: int, spread: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The Copeland scores of the models under every merge rule, in true order."""
    evidence = gather(simulated_board(videos, spread, rng), RankOptions())
    found = relation(evidence, np.arange(MODELS), correction="holm", alpha=0.05)
    return {merge: copeland(preferred(found.beats, evidence.accuracy, merge)).score for merge in MERGES}


def recovery(videos: int, spread: float, *, runs: int, seed: int = 0) -> dict[str, float]:
    """Mean tau-b with the truth, or the share of equal pairs told apart where all models are equal."""
    rng = np.random.default_rng([seed, videos, int(100 * spread)])
    truth, total = np.arange(MODELS, 0, -1), dict.fromkeys(MERGES, 0.0)
    first, second = np.triu_indices(MODELS, k=1)
    for _ in range(runs):
        for merge, score in one_study(videos, spread, rng).items():
            if spread:
                total[merge] += float(np.nan_to_num(kendall_tau_b(truth, score)))
            else:
                total[merge] += float((score[first] != score[second]).mean())
    return {merge: value / runs for merge, value in total.items()}


def line(name: str, runs: int) -> tuple[object, ...]:
    """One line of the table."""
    videos, spread = SCENARIOS[name]
    rates = recovery(videos, spread, runs=runs)
    return (name, "tau" if spread else "equals told apart", *(rates[merge] for merge in MERGES))


def table(runs: int, processes: int) -> str:
    """All scenarios as Markdown."""
    heads = ["scenario", "measure", *(f"`{merge}`" for merge in MERGES)]
    return markdown(heads, mapped(line, [(name, runs) for name in SCENARIOS], processes=processes))


def main() -> None:
    """Put a new table between the markers of the page."""
    options = asked(__doc__ or "", repetitions=100)
    put_table(PAGE, "orders", table(options.repetitions, options.processes))


if __name__ == "__main__":
    main()
