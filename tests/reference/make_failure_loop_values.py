"""Write `failure_loop_values.json`: small tables, and what lme4, emmeans and clubSandwich say about them.

Run by hand where R has these packages: `python tests/reference/make_failure_loop_values.py`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

PLACE = Path(__file__).with_name("failure_loop_values.json")
SCRIPT = r"""
suppressMessages({library(lme4); library(emmeans); library(clubSandwich); library(jsonlite)})
emm_options(lmer.df = "asymptotic")
d <- read.csv("scores.csv"); d$model <- factor(d$model); d$video <- factor(d$video); d$case <- factor(d$case)
d$sc <- d$smoke - mean(d$smoke)
tight <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5), calc.derivs = FALSE,
                     check.conv.singular = "ignore")
m <- lmer(score ~ smoke + size + model + smoke:model + (1 | video) + (1 | case) + (1 | video:model) +
          (0 + sc | video) + (0 + sc | video:model), d, control = tight)
joint <- as.data.frame(joint_tests(m))
at <- emtrends(m, "model", var = "smoke")
eff <- as.data.frame(contrast(at, "eff", adjust = "none"))
trends <- as.data.frame(at)
r <- read.csv("rounds.csv"); r$video <- factor(r$video); r$case <- factor(r$case)
r$sc <- r$smoke - mean(r$smoke); r$p <- r$smoke * r$after; r$pc <- r$p - mean(r$p)
k <- lmer(score ~ smoke + size + after + smoke:after + size:after + (1 | video) + (1 | case) + (0 + after | video) +
          (0 + sc | video) + (0 + pc | video), r, control = tight)
V <- as.matrix(vcov(k)); b <- fixef(k)
both <- c("smoke", "smoke:after")
h <- read.csv("held.csv"); h$x <- qlogis(h$raw)
g <- glm(observed ~ 0 + factor(fold) + x, quasibinomial, h)
g2 <- glm(observed ~ 0 + factor(fold) + x, suppressWarnings(binomial()), h)
CR <- as.matrix(vcovCR(g2, cluster = h$video, type = "CR2"))
cat(toJSON(list(
  joint_f = joint$F.ratio[joint$`model term` %in% c("smoke:model", "model:smoke")],
  joint_rank = joint$df1[joint$`model term` %in% c("smoke:model", "model:smoke")],
  trend = trends$smoke.trend, trend_se = trends$SE, eff = eff$estimate, eff_se = eff$SE,
  change = unname(b["smoke:after"]), change_se = sqrt(V["smoke:after", "smoke:after"]),
  before = unname(b["smoke"]), after = sum(b[both]), after_se = sqrt(sum(V[both, both])),
  slope = unname(coef(g)["x"]), slope_se = sqrt(CR["x", "x"])
), digits = 12, auto_unbox = TRUE))
"""


def scores() -> pl.DataFrame:
    """Three models on the cases of eight videos; smoke harms the first most."""
    rng = np.random.default_rng(7)
    rows = []
    for video in range(8):
        level, own = rng.normal(0, 0.1), rng.normal(0, 0.06, 3)
        slopes, common = rng.normal(0, 0.05, 3), rng.normal(0, 0.05)
        for case in range(10):
            smoke, size, hard = int(rng.random() < 0.45), round(float(rng.normal()), 3), rng.normal(0, 0.05)
            for place, model in enumerate("abc"):
                harm = -0.2 + 0.08 * place + slopes[place] + common
                score = 0.7 + harm * smoke + 0.02 * size + level + own[place] + hard + rng.normal(0, 0.07)
                rows.append((model, f"{video}/{case}", f"v{video}", smoke, size, round(float(score), 4)))
    return pl.DataFrame(rows, schema=["model", "case", "video", "smoke", "size", "score"], orient="row")


def held_out() -> pl.DataFrame:
    """Predicted risks and observed shares of ten videos in five parts."""
    rng = np.random.default_rng(8)
    raw = rng.uniform(0.05, 0.8, 150).round(3)
    video = np.repeat(np.arange(10), 15)
    level = rng.normal(0, 0.5, 10)[video]
    chance = 1 / (1 + np.exp(-(0.6 * np.log(raw / (1 - raw)) + level)))
    observed = rng.binomial(4, chance) / 4
    return pl.DataFrame({"video": video, "fold": video // 2, "raw": raw, "observed": observed})


def main() -> None:
    """Run R and store what it says beside the tables."""
    table, held = scores(), held_out()
    rounds = pl.concat([
        table.filter(pl.col("model") == name).drop("model").with_columns(pl.lit(place).alias("after"))
        for place, name in enumerate("ac")
    ])  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        for name, frame in (("scores", table), ("rounds", rounds), ("held", held)):
            frame.write_csv(Path(place) / f"{name}.csv")
        (Path(place) / "values.R").write_text(SCRIPT, encoding="utf-8")
        said = subprocess.run(["Rscript", "values.R"], cwd=place, check=True, capture_output=True, text=True).stdout
    stored = {"scores": table.to_dict(as_series=False), "held": held.to_dict(as_series=False), "r": json.loads(said)}
    PLACE.write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
