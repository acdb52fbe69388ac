"""How often each paired test finds a difference: between equal models (its size) and unequal ones (its power).

`python -m docs.validate_tests` rewrites the tables between the markers of `validation-tests.md` (about a minute of CPU
time; `--processes` spreads it). Two models have the same accuracy on average, but each has videos that suit it: a
model-by-video interaction with a standard deviation of 0.8 on the logit scale. A second table counts the pairs of many
models with real-valued scores that pass Holm's correction.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.studies import asked, mapped, markdown, put_table
from surgvalid.stats.comparing.paired_tests import TESTS, adjusted, flip_p, is_significant, pair_indices, pair_tests
from surgvalid.stats.draws import stream

PAGE = Path(__file__).parent / "validation-tests.md"

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
        """What the table calls it."""
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


def line(setting: Setting, *, seed: int = 0) -> tuple[object, ...]:
    """One line of the table of sizes."""
    rates = rejection_rates(setting, seed=seed)
    return (setting.label, setting.runs, *(rates[name] for name in TESTS))


def sizes_table(processes: int) -> str:
    """How often each test finds a difference."""
    heads = ["videos x questions", "studies", *(f"`{name}`" for name in TESTS)]
    return markdown(heads, mapped(line, [(setting,) for setting in SETTINGS], processes=processes))


# --- real-valued scores of many models -----------------------------------------------------------

MODELS, STEP, DRAWN = 40, 0.15, 9_999
REAL_VIDEOS = (20, 60, 200)


def real_scores(videos: int) -> np.ndarray:
    """Scores `[video, model]` of models that lie evenly apart, one case per video."""
    rng = stream(6, "real-scores", str(videos))
    return rng.normal(0, 1, (videos, 1)) + STEP * np.arange(MODELS) + rng.normal(0, 1, (videos, MODELS))


def drawn_p(differences: np.ndarray, *, patterns: int = DRAWN, seed: int = 0) -> np.ndarray:
    """The sign-flip p-value from drawn patterns, which cannot be smaller than one in their number."""
    signs = 1.0 - 2.0 * stream(seed, "drawn-flips").integers(0, 2, (patterns, len(differences)))
    beyond = np.abs(signs @ differences) >= np.abs(differences.sum(axis=0)) * (1 - 1e-12)
    return np.asarray((1 + beyond.sum(axis=0)) / (patterns + 1))


def real_line(videos: int) -> tuple[object, ...]:
    """How many pairs pass Holm: from drawn patterns, from `flip_p`, and rounded to a grid that is counted exactly."""
    scores = real_scores(videos)
    first, second = pair_indices(MODELS)
    differences = scores[:, first] - scores[:, second]
    passed = [int(is_significant(adjusted(p, "holm"), 0.05).sum()) for p in (drawn_p(differences), flip_p(differences))]
    rounded = pair_tests(np.round(scores, 2), np.arange(videos), test="sign-flip", correction="holm")
    least = float(flip_p(differences).min())
    return (videos, len(first), *passed, int(rounded.significant.sum()), f"{least:.1e}")


def real_table(processes: int) -> str:
    """Pairs of many models that pass the correction."""
    heads = [
        "videos", "pairs", f"{DRAWN:,} drawn patterns", "`sign-flip`", "the same, scores rounded to 0.01",
        "smallest p-value",
    ]  # fmt: skip
    return markdown(heads, mapped(real_line, [(videos,) for videos in REAL_VIDEOS], processes=processes))


def main() -> None:
    """Put new tables between the markers of the page, and print them."""
    options = asked(__doc__ or "")
    for name, make in {"sizes": sizes_table, "real scores": real_table}.items():
        table = make(options.processes)
        print(f"{name}\n{table}\n", flush=True)
        put_table(PAGE, name, table)


if __name__ == "__main__":
    main()
