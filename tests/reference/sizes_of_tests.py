"""How often each paired test finds a difference: between equal models (its size) and unequal ones (its power).

Run `PYTHONPATH=src:tests python tests/reference/sizes_of_tests.py` to print the table of
`docs/validation-tests.md`. Two models have the same accuracy on average, but each has videos that suit
it: a model-by-video interaction with a standard deviation of 0.8 on the logit scale.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgeval.stats.paired_tests import TESTS, pair_tests

LEVEL = 0.05


class Setting(NamedTuple):
    """One row of the table."""

    videos: int
    per_video: int
    interaction: float
    gap: float
    runs: int

    @property
    def label(self) -> str:
        extra = "" if self.interaction else ", no interaction"
        return f"{self.videos} x ~{self.per_video}{extra}" + (f", gap {self.gap:g} logit" if self.gap else "")


SETTINGS = (
    Setting(200, 10, 0.8, 0.0, 600),
    Setting(200, 100, 0.8, 0.0, 400),
    Setting(40, 20, 0.8, 0.0, 600),
    Setting(10, 20, 0.8, 0.0, 600),
    Setting(200, 10, 0.0, 0.0, 600),
    Setting(100, 10, 0.8, 0.3, 400),
)


def two_models(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two models and the video of each case; sizes of videos vary from one to twice the mean."""
    sizes = rng.integers(1, 2 * setting.per_video, setting.videos)
    video = np.repeat(np.arange(setting.videos), sizes)
    logit = rng.normal(0, 1, (setting.videos, 1)) + rng.normal(0, setting.interaction, (setting.videos, 2))
    logit += np.array([setting.gap / 2, -setting.gap / 2])
    return (rng.random((len(video), 2)) < 1 / (1 + np.exp(-logit[video]))).astype(float), video


def rejection_rates(setting: Setting, *, seed: int, runs: int | None = None) -> dict[str, float]:
    """The share of simulated studies in which each test finds a difference at the 5 % level."""
    rng = np.random.default_rng([seed, *setting[:2]])
    found = dict.fromkeys(TESTS, 0)
    total = runs or setting.runs
    for run in range(total):
        values, video = two_models(setting, rng)
        for name in TESTS:
            result = pair_tests(values, video, test=name, alpha=LEVEL, seed=run, replicates=999)
            found[name] += bool(result.significant[0])
    return {name: count / total for name, count in found.items()}


def table(seed: int = 0) -> str:
    """The table as Markdown."""
    lines = [
        "| videos x questions | studies | " + " | ".join(f"`{name}`" for name in TESTS) + " |",
        "|---" * (len(TESTS) + 2) + "|",
    ]
    return "\n".join([*lines, *(line(setting, seed=seed) for setting in SETTINGS)])


def line(setting: Setting, *, seed: int = 0) -> str:
    """One line of the table."""
    rates = rejection_rates(setting, seed=seed)
    cells = [setting.label, str(setting.runs), *(f"{rates[name]:.3f}" for name in TESTS)]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    print(table())
