"""A study for a statistician who uses R: tidy CSV, a dictionary of its columns, and an analysis that recomputes it.

The analysis leaves out one video at a time with nothing but base R, compares values, standard errors and differences
with ours to 1e-9 and stops where they differ; the mixed model that a statistician would fit is printed beside it.
"""

from __future__ import annotations

import polars as pl

from surgvalid.studies.study import StudyResult

_COLUMNS = {
    "model": "what was scored",
    "case": "what it was scored on; the same for all models",
    "video": "what is independent",
    "metric": "the measure",
    "value": "the score as it counts",
    "status": "what became of the case, where its score is not its own",
}
_ANALYSIS = """\
---
title: "{metric}: recomputed"
output: html_document
---

Values, standard errors and paired differences of `data/scores.csv`, by leaving out one {unit} at a time.
They must equal `data/expected.csv` and `data/pairs.csv`, which surgvalid wrote, to 1e-9. {absent}

```{{r}}
scores <- read.csv("data/scores.csv", colClasses = c(model = "character", case = "character", video = "character"))
expected <- read.csv("data/expected.csv", colClasses = c(model = "character"))
pairs <- read.csv("data/pairs.csv", colClasses = c(model_a = "character", model_b = "character"))
key <- intersect(c("task", "case"), names(scores))

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
  a <- scores[scores$model == pairs$model_a[place], c(key, "value")]
  b <- scores[scores$model == pairs$model_b[place], c(key, "value")]
  both <- merge(a, b, by = key, suffixes = c("_a", "_b"))
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


def r_texts(result: StudyResult) -> dict[str, str]:
    """The texts of the files: `analysis.Rmd`, and `data/*.csv` with a dictionary of their columns.

    Args:
        result: What `surgvalid.study` gave.
    """
    scores = result.counted
    tables = {
        "scores": scores,
        "expected": result.table.select("model", "value", "sd", "low", "high"),
        "pairs": result.tables["pairs"].select("model_a", "model_b", "difference", "low", "high"),
        "dictionary": _dictionary(result, scores),
    }
    absent = " ".join(result.matrix.absent.sentences)
    analysis = _ANALYSIS.format(metric=result.metric.name, unit=result.unit, absent=absent)
    return {"analysis.Rmd": analysis, **{f"data/{name}.csv": frame.write_csv() for name, frame in tables.items()}}


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
