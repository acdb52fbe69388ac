"""Find the weaknesses of the baselines and write down the algorithm that answers them.

    python -m examples.weakness_to_algorithm.find --data painted --scored scored1 --out found

Every instance of the development procedures, predicted by models that never saw its video, is found (DSC of at least
0.5) or not. `surgvalid analyse failures` says which properties make that less likely, what is worth working on, and
how likely
each image is to fail. The recipe follows by rule: the best baseline, plus the choice that answers each property that
hurts (`recipes.CHOICES`), plus sampling by predicted risk, plus merging where a tenth of the instances are invented.
`recipe.csv` names the finding behind every choice; `recipes.json` holds the remedy, its ablations, the baseline again,
and a sham that changes nothing that matters.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import polars as pl
from examples.weakness_to_algorithm.recipes import BASELINES, CHOICES, Recipe, write_recipes

import surgvalid

FOUND_FROM = 0.5
"""DSC from which an instance counts as found."""
HURTS_BELOW = 0.05
"""Largest p value of a property that is answered. Answering one too many costs little, and the proof is elsewhere."""
INVENTS_FROM = 0.1
"""Invented instances per reference from which centres are merged."""
SEEDS = (1, 2)
LEAST_WEIGHT, MOST_WEIGHT = 0.5, 3.0


def read_instances(path: Path) -> pl.DataFrame:
    """The rows of `scores` with whether each instance was found."""
    return pl.read_csv(path).with_columns(found=(pl.col("dsc") >= FOUND_FROM).cast(pl.Int8))


def properties_in(rows: pl.DataFrame) -> list[str]:
    """The columns that are properties and occur often enough to be looked at."""
    named = [name for name in rows.columns if name.startswith(("instance_", "background_", "image_"))]
    return [name for name in named if rows.filter(pl.col(name) == 1)["instance"].n_unique() >= 10]


def best_baseline(metrics: pl.DataFrame) -> Recipe:
    """The learned baseline with the largest mean MI_DSC."""
    values = dict(metrics.filter(metric="mi_dsc").select("model", "value").iter_rows())
    return max(BASELINES, key=lambda one: values[one.name])


def find(data: Path, scored: Path, out: Path) -> None:
    """Analyse, choose, and write recipes and weights."""
    rows = read_instances(scored / "development" / "instances.csv")
    base = best_baseline(pl.read_csv(scored / "development" / "metrics.csv"))
    fixed = properties_in(rows)
    every = surgvalid.failures(
        rows, outcome="found", fixed=fixed, random=["model", "video", "case", "instance"], recommend=True
    )
    every.to_dir(out / "all_models", force=True)
    alone = rows.filter(model=base.name)
    wanted = alone.select("instance", "video", *fixed)  # a case of this analysis is one instance
    single = surgvalid.failures(alone, outcome="found", fixed=fixed, random=["video", "case", "instance"], risk=wanted)
    single.to_dir(out / "baseline", force=True)
    weights_of(single.tables["risk"], alone).write_csv(data / "weights.csv")
    pixels_of(alone, fixed).to_dir(out / "pixels", force=True)
    answers = answered(every.table)
    answers.write_csv(out / "recipe.csv")
    strengths_of(rows, answers["property"].to_list()).to_dir(out / "strengths", force=True)
    merge = base.kind == "centres" and invented(scored / "development" / base.name) >= INVENTS_FROM
    write_recipes(recipes_for(base, answers, merge=merge), out / "recipes.json")


def pixels_of(alone: pl.DataFrame, fixed: list[str]) -> surgvalid.FailureTableResult:
    """What hurts precision and recall of the pixels of one model's instances, side by side as in the paper."""
    outcomes = {"precision": "true_positive/predicted", "recall": "true_positive/reference"}
    return surgvalid.failures(
        alone, form="symbols", outcomes=outcomes, fixed=fixed, random=["video", "case", "instance"]
    )


def strengths_of(rows: pl.DataFrame, properties: list[str]) -> surgvalid.FailuresResult:
    """Whether the answered properties harm models differently."""
    random = ["model", "video", "case", "instance"]
    return surgvalid.failures(rows, outcome="found", fixed=properties, random=random, strengths=True)


def invented(folder: Path) -> float:
    """Instances that a model invented, per instance that was there."""
    listed = pl.read_csv(folder / "instances.csv")
    return listed["reference_id"].null_count() / (listed.height - listed["reference_id"].null_count())


def answered(effects: pl.DataFrame) -> pl.DataFrame:
    """The properties that hurt, each with the choice that answers it."""
    rows = [
        {"property": term, "odds_ratio": ratio, "low": low, "high": high, "p_value": p,
         "choice": CHOICES.get(term, ("", ""))[0], "spoiler": CHOICES.get(term, ("", ""))[1]}
        for term, ratio, low, high, p in effects.select("term", "odds_ratio", "low", "high", "p_value").iter_rows()
        if p is not None and p <= HURTS_BELOW and ratio < 1 and term != "(Intercept)"
    ]  # fmt: skip
    schema = {"property": pl.String, "odds_ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64,
              "p_value": pl.Float64, "choice": pl.String, "spoiler": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema).sort("odds_ratio")


def recipes_for(base: Recipe, answers: pl.DataFrame, *, merge: bool) -> list[Recipe]:
    """The baseline, the remedy, the remedy without each choice, and the sham; twice where a seed may decide."""
    choices = set(answers["choice"]) - {""}
    spoilers = tuple(sorted(set(answers["spoiler"]) - {""}))
    remedy = replace(
        base,
        name="remedy",
        neighbours="real" if "temporal" in choices else "none",
        spoilers=spoilers,
        paste="paste" in choices,
        small_weigh_more="small" in choices,
        sampling="risk",
        merge="votes" if merge else "none",
    )
    sham = replace(base, name="sham", neighbours="copies", sampling="shuffled")
    taken = [
        name
        for name, there in (
            ("temporal", remedy.neighbours == "real"),
            ("spoilers", bool(spoilers)),
            ("paste", remedy.paste),
            ("small", remedy.small_weigh_more),
            ("risk", True),
            ("merge", merge),
        )
        if there
    ]
    again = [
        replace(one, name=f"{one.name} {seed}", seed=seed)
        for one in (replace(base, name="baseline"), remedy, sham)
        for seed in SEEDS
    ]
    return again + [remedy.without(choice) for choice in taken]


def weights_of(risk: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """How often each image is drawn: the mean risk of its instances over that of all, within bounds."""
    named = risk.rename({"case": "instance"}).join(rows.select("instance", "case"), on="instance")
    each = named.group_by("case").agg(pl.col("risk").mean()).sort("case")
    weight = (pl.col("risk") / pl.col("risk").mean()).clip(LEAST_WEIGHT, MOST_WEIGHT)
    return each.select("case", weight=weight)


def main() -> None:
    """Read the command line and find."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scored", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    find(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
