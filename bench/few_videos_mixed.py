"""`python -m bench.few_videos_mixed [--sets 1000]`: how often mixed models call an absent effect significant.

Simulated data with few videos: a property of whole videos, one that changes inside them, one whose effect differs from
video to video, and a factor of three categories; 0/1 answers and counts with extra variation. Share of p < 0.05 by the
rule of `failures` and by the plain z test, in per cent; with `--power` the effect is there. A stored run is in
docs/validation-mixed.md; a small one is asserted by tests/slow/test_few_videos.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import special, stats

from surgeval.stats.draws import stream
from surgeval.stats.mixed.design import design_of, factor_of
from surgeval.stats.mixed.fit import fit
from surgeval.stats.mixed.formula import Model
from surgeval.stats.mixed.term_tests import term_tests


@dataclass(frozen=True)
class Videos:
    """What to simulate: a property `x` of 0/1 answers (or counts) in few videos."""

    videos: int
    kind: str = "between"
    """`between` (of whole videos), `within`, `some` (inside two thirds of them) or `levels` (three categories)."""
    slope_sd: float = 0.0
    """How much the effect differs between videos."""
    effect: float = 0.0
    counts: bool = False
    share: float = 0.5
    """Of videos that have a property of videos; inside videos it is 0.3 of rows."""
    video_sd: float = 0.6

    def frame(self, seed: int) -> pl.DataFrame:
        """One data set of unequal videos."""
        rng = stream(seed, "few-videos", str(self.videos), self.kind, str(self.slope_sd))
        rows = np.full(self.videos, 12) if self.counts else np.clip(rng.lognormal(4.1, 0.8, self.videos), 8, 400)
        video = np.repeat(np.arange(self.videos), rows.astype(np.int64))
        column = self._property(rng, video)
        slope = self.effect + rng.normal(0, self.slope_sd, (3, self.videos))
        eta = 0.8 + rng.normal(0, self.video_sd, self.videos)[video]
        if self.kind == "levels":
            eta = (
                eta
                + rng.normal(0, self.slope_sd / np.sqrt(2), (3, self.videos))[column, video]
                + self.effect * (column == 1)
            )
        else:
            eta = eta + slope[0][video] * column
        named = np.array(["a", "b", "c"])[column] if self.kind == "levels" else column
        frame = pl.DataFrame({"video": np.char.add("v", video.astype(str)), "x": named})
        if not self.counts:
            return frame.with_columns(hits=pl.Series(rng.binomial(1, special.expit(eta))), total=pl.lit(1))
        total = rng.integers(20, 200, len(video))
        eta = eta + rng.normal(0, 0.5, len(video))
        row = np.char.add("r", np.arange(len(video)).astype(str))
        return frame.with_columns(hits=pl.Series(rng.binomial(total, special.expit(eta))), total=total, row=row)

    def _property(self, rng: np.random.Generator, video: np.ndarray) -> np.ndarray:
        if self.kind == "between":
            having = np.zeros(self.videos, dtype=np.int64)
            having[rng.permutation(self.videos)[: max(2, round(self.share * self.videos))]] = 1
            return np.asarray(having[video])
        if self.kind == "levels":
            return np.asarray(rng.choice(3, len(video), p=(0.5, 0.3, 0.2)))
        column = rng.binomial(1, 0.3, len(video))
        if self.kind == "some":
            column[video % 3 == 0] = 0
        return np.asarray(column)


SETTINGS: dict[str, Videos] = {
    "of whole videos, half of them": Videos(0),
    "of whole videos, a fifth (two at least)": Videos(0, share=0.2),
    "of whole videos, counts": Videos(0, counts=True),
    "inside videos, equal effect": Videos(0, kind="within"),
    "inside videos, effect varies": Videos(0, kind="within", slope_sd=0.6),
    "inside some videos, effect varies": Videos(0, kind="some", slope_sd=0.6),
    "three categories, effects vary": Videos(0, kind="levels", slope_sd=0.6),
}


def p_values(setting: Videos, seed: int) -> tuple[float, float]:
    """The p value of the property by our rule and by the plain z test; NaN where there is none."""
    frame = setting.frame(seed)
    random = ("video", "row") if setting.counts else ("video",)
    design = design_of(frame, Model("hits", "total", ("x",), random), separation="keep")
    name = "x[b]" if setting.kind == "levels" else "x"
    if name not in design.names or design.names.index(name) != 1:
        return np.nan, np.nan
    found = fit(design, restricted=True, engine="numpy")
    table = term_tests(found, factor_of(frame, "video"), engine="numpy").table
    p_value = table.row(1, named=True)["p_value"]
    plain = fit(design, engine="numpy")
    z = float(plain.beta[1] / plain.standard_errors[1])
    return np.nan if p_value is None else p_value, 2 * float(stats.norm.sf(abs(z)))


def rejected(setting: Videos, seeds: Iterable[int]) -> tuple[float, float]:
    """Share of data sets with p < 0.05, by our rule and by the z test; no p value counts as not rejected."""
    found = np.array([p_values(setting, seed) for seed in seeds])
    return float(np.mean(found[:, 0] < 0.05)), float(np.mean(found[:, 1] < 0.05))


def table(sets: int, videos: Iterable[int], effect: float, first: int = 0) -> str:
    """A row per setting and number of videos."""
    lines = ["| property | videos | rule | z test |", "|---|---|---|---|"]
    for name, setting in SETTINGS.items():
        for count in videos:
            print(f"{name}, {count} videos", end="\r", file=sys.stderr, flush=True)
            rule, plain = rejected(replace(setting, videos=count, effect=effect), range(first, first + sets))
            lines.append(f"| {name} | {count} | {100 * rule:.1f} | {100 * plain:.1f} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="False positives of mixed models with few videos.")
    parser.add_argument("--sets", type=int, default=1000, help="simulated data sets per row")
    parser.add_argument("--videos", type=int, nargs="+", default=[5, 8, 12, 20])
    parser.add_argument("--power", type=float, default=0.0, help="true log odds ratio; 0 for false positives")
    options = parser.parse_args()
    table(options.sets, options.videos, options.power)


if __name__ == "__main__":
    main()
