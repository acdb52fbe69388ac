"""`python -m bench.few_videos_mixed [--sets 1000]`: how often mixed models call an absent effect significant.

Simulated data with few videos: a property of whole videos, one that changes inside them, one whose effect differs from
video to video, one that occurs in some videos only, and a factor of three categories; 0/1 answers, counts with extra
variation, and scores with exact zeros and ones. Share of p < 0.05 by the rule of `failures` and by the plain z test, in
per cent; with `--power` the effect is there. Sets are numbered, and each number gives the same data whatever the number
of processes. A stored run is in docs/validation-mixed.md; a small one is asserted by tests/slow/test_few_videos.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special, stats

from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.inference.tested import TestRule, tested
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula
from surgvalid.stats.mixed.model.ordered_beta import Cutpoints, drawn_scores


@dataclass(frozen=True)
class Videos:
    """What to simulate: a property `x` of 0/1 answers (or counts) in few videos."""

    videos: int
    kind: str = "between"
    """`between` (of whole videos), `within`, `some` (in two thirds of them), `seldom` (in four), or `levels` (three
    categories)."""
    slope_sd: float = 0.0
    """How much the effect differs between videos."""
    effect: float = 0.0
    counts: bool = False
    scores: bool = False
    """Scores in [0, 1], about a tenth of them 0 and a sixth 1."""
    share: float = 0.5
    """Of videos that have a property of videos; inside videos it is 0.3 of rows."""
    video_sd: float = 0.6

    def frame(self, seed: int) -> pl.DataFrame:
        """One data set of unequal videos."""
        rng = stream(seed, "few-videos", str(self.videos), self.kind, str(self.slope_sd))
        equal = {(True, False): 12, (False, True): 30}.get((self.counts, self.scores))
        rows = np.clip(rng.lognormal(4.1, 0.8, self.videos), 8, 400) if equal is None else np.full(self.videos, equal)
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
        if self.scores:
            drawn = drawn_scores(eta, Cutpoints(-1.6, 2.6), 7.0, rng)
            return frame.with_columns(score=pl.Series(drawn))
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
        if self.kind == "seldom":
            column[video >= 4] = 0
        return np.asarray(column)


SETTINGS: dict[str, Videos] = {
    "of whole videos, half of them": Videos(0),
    "of whole videos, a fifth (two at least)": Videos(0, share=0.2),
    "of whole videos, counts": Videos(0, counts=True),
    "inside videos, equal effect": Videos(0, kind="within"),
    "inside videos, effect varies": Videos(0, kind="within", slope_sd=0.6),
    "inside some videos, effect varies": Videos(0, kind="some", slope_sd=0.6),
    "inside four videos only, effect varies": Videos(0, kind="seldom", slope_sd=0.6),
    "three categories, effects vary": Videos(0, kind="levels", slope_sd=0.6),
    "scores (ordered beta), of whole videos, half of them": Videos(0, scores=True),
    "scores (ordered beta), inside videos, effect varies": Videos(0, kind="within", slope_sd=0.6, scores=True),
}
VIDEOS = (5, 8, 12, 20)


def p_values(setting: Videos, seed: int) -> tuple[float, float]:
    """The p value of the property by our rule and by the plain z test; NaN where there is none."""
    frame = setting.frame(seed)
    random = ("video", "row") if setting.counts else ("video",)
    model = ModelFormula("hits", "total", ("x",), random)
    if setting.scores:
        model = ModelFormula("score", None, ("x",), random, family="ordered-beta")
    design = design_of(frame, model, separation="keep")
    name = "x[b]" if setting.kind == "levels" else "x"
    if name not in design.names or design.names.index(name) != 1:
        return np.nan, np.nan
    p_value = tested(design, "video", TestRule(engine="numpy")).tests.table.row(1, named=True)["p_value"]
    plain = fit(design, engine="numpy")
    z = float(plain.beta[1] / plain.standard_errors[1])
    return np.nan if p_value is None else p_value, 2 * float(stats.norm.sf(abs(z)))


def rejected(setting: Videos, seeds: Iterable[int]) -> tuple[float, float]:
    """Share of data sets with p < 0.05, by our rule and by the z test; no p value counts as not rejected."""
    return shares([p_values(setting, seed) for seed in seeds])[:2]


def shares(found: Iterable[tuple[float, float]]) -> tuple[float, float, float]:
    """Share of p < 0.05 by our rule and by the z test, and of sets without a p value by our rule."""
    p = np.array(list(found))
    return float(np.mean(p[:, 0] < 0.05)), float(np.mean(p[:, 1] < 0.05)), float(np.mean(np.isnan(p[:, 0])))


def table(
    sets: int,
    videos: Iterable[int],
    effect: float,
    *,
    first: int = 0,
    processes: int = 1,
    names: Iterable[str] = SETTINGS,
) -> Iterator[str]:
    """The lines of the table, a row per setting and number of videos."""
    yield from ("| property | videos | rule | z test | no p value |", "|---|---|---|---|---|")
    with ProcessPoolExecutor(processes) as pool:
        for name, count in product(names, videos):
            setting = replace(SETTINGS[name], videos=count, effect=effect)
            if setting.kind == "seldom" and count < 8:
                continue
            found = pool.map(partial(p_values, setting), range(first, first + sets), chunksize=max(1, sets // 200))
            rule, plain, none = (100 * share for share in shares(found))
            yield f"| {name} | {count} | {rule:.1f} | {plain:.1f} | {none:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="False positives of mixed models with few videos.")
    parser.add_argument("--sets", type=int, default=1000, help="simulated data sets per row")
    parser.add_argument("--first", type=int, default=0, help="number of the first set; others are fresh data")
    parser.add_argument("--videos", type=int, nargs="+", default=list(VIDEOS))
    parser.add_argument("--power", type=float, default=0.0, help="true log odds ratio; 0 for false positives")
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="file for the table, with the command that made it")
    options = parser.parse_args()
    lines = []
    for line in table(options.sets, options.videos, options.power, first=options.first, processes=options.processes,
                      names=options.settings):  # fmt: skip
        print(line, flush=True)
        lines.append(line)
        if options.out is not None:
            command = f"python -m bench.few_videos_mixed {' '.join(sys.argv[1:])}"
            head = f"Sets {options.first} to {options.first + options.sets - 1} of every row. Made by `{command}`."
            options.out.write_text("\n".join([head, "", *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
