"""A study for a statistician who uses R: tidy CSV, a dictionary of its columns, and an analysis that recomputes it.

The analysis leaves out one video at a time with nothing but base R, compares values, standard errors and differences
with ours to 1e-9 and stops where they differ; the mixed model that a statistician would fit is printed beside it.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from surgvalid.bridges.measured import scores_of
from surgvalid.results.folder import files_below, staged
from surgvalid.results.manifest import MANIFEST, write_manifest
from surgvalid.studies.study import StudyResult

_COLUMNS = {
    "model": "what was scored",
    "case": "what it was scored on; the same for all models",
    "video": "what is independent",
    "metric": "the measure",
    "value": "the score; empty where there is none",
    "status": "what became of the case",
}
_ANALYSIS = """\
---
title: "{metric}: recomputed"
output: html_document
---

Values, standard errors and paired differences of `data/scores.csv`, by leaving out one {unit} at a time.
They must equal `data/expected.csv` and `data/pairs.csv`, which surgvalid wrote, to 1e-9.

```{{r}}
scores <- read.csv("data/scores.csv", colClasses = c(model = "character", case = "character", video = "character"))
expected <- read.csv("data/expected.csv", colClasses = c(model = "character"))
pairs <- read.csv("data/pairs.csv", colClasses = c(model_a = "character", model_b = "character"))
asked <- length(unique(scores$model))
scores <- scores[!is.na(scores$value), ]
scores <- scores[table(scores$case)[scores$case] == asked, ]

jackknife <- function(value, video) {{
  videos <- unique(video)
  left <- sapply(videos, function(one) mean(value[video != one]))
  n <- length(videos)
  c(value = mean(value), sd = sqrt((n - 1) / n * sum((left - mean(value))^2)))
}}
close <- function(ours, theirs) stopifnot(all(abs(ours - theirs) < 1e-9))

for (one in expected$model) {{
  rows <- scores[scores$model == one, ]
  ours <- jackknife(rows$value, rows$video)
  row <- expected[expected$model == one, ]
  close(ours["value"], row$value)
  close(ours["sd"], row$sd)
}}
for (place in seq_len(nrow(pairs))) {{
  a <- scores[scores$model == pairs$model_a[place], c("case", "video", "value")]
  b <- scores[scores$model == pairs$model_b[place], c("case", "value")]
  both <- merge(a, b, by = "case", suffixes = c("_a", "_b"))
  close(mean(both$value_a - both$value_b), pairs$difference[place])
}}
cat("agrees to 1e-9\\n")
```

```{{r}}
if (requireNamespace("lme4", quietly = TRUE) && length(unique(scores$model)) > 1) {{
  print(lme4::lmer(value ~ model + (1 | video) + (1 | case), data = scores))
}}
```
"""


def write(result: StudyResult, folder: str | Path, *, force: bool = False) -> Path:
    """Write `analysis.Rmd` and `data/*.csv` with a dictionary of their columns; gives the folder.

    Args:
        result: What `surgvalid.study` gave.
        folder: A new one.
        force: Whether what stands there may be replaced.

    Raises:
        WouldOverwrite: The folder holds a result already.
    """
    scores = scores_of(result)
    pairs = result.tables["pairs"]
    with staged(Path(folder), force=force) as stage:
        (stage / "data").mkdir()
        scores.write_csv(stage / "data" / "scores.csv")
        result.table.select("model", "value", "sd", "low", "high").write_csv(stage / "data" / "expected.csv")
        pairs.select("model_a", "model_b", "difference", "low", "high").write_csv(stage / "data" / "pairs.csv")
        _dictionary(result, scores).write_csv(stage / "data" / "dictionary.csv")
        text = _ANALYSIS.format(metric=result.metric.name, unit=result.unit)
        (stage / "analysis.Rmd").write_text(text, encoding="utf-8")
        write_manifest(stage / MANIFEST, result.manifest(files_below(stage)))
    return Path(folder)


def _dictionary(result: StudyResult, scores: pl.DataFrame) -> pl.DataFrame:
    """Every column of the scores: what it is, its unit, and which values are better."""
    facts = result.metric
    rows = [
        {
            "column": name,
            "meaning": _COLUMNS.get(name, "a property of the case"),
            "unit": facts.unit if name == "value" else "",
            "better": facts.better if name == "value" else "",
        }
        for name in scores.columns
    ]
    return pl.DataFrame(rows)
