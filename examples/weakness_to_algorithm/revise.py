"""Learn from a proof that failed: write the recipes of a second round, all chosen before any of it is run.

    python -m examples.weakness_to_algorithm.revise --found found --proof proof --out second.json

What was proof has become development by looking at it, so the second round must be shown on procedures that are painted
for it (`paint --first`). Its arms, and the rule by which each came about:

- `baseline`, as before.
- `revised`: a choice is kept where taking it back lowered MI_DSC, on average over both parts of the proof. Merging, if
  kept, joins only centres that are also close: joining small things side by side was the price of the first way.
- `joining`: `revised` with the first way of merging.
- `pasting`: `revised` with pasted instances, which the ablations leave open.
- `direct`: the first rule, asked about the right model. Properties that hurt the *baseline* itself, Holm's correction
  over all properties included, are answered by the same table of choices, and centres are merged as in `revised`.
- `sham`, as before: it must show no gain.
- `longbaseline` and `longremedy`: baseline and first remedy for twice the steps, to see whether the first remedy failed
  for lack of them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import polars as pl
from examples.weakness_to_algorithm.find import HURTS_BELOW, answered
from examples.weakness_to_algorithm.recipes import Recipe, read_recipes, write_recipes

SEEDS, LONG_SEEDS = (1, 2, 3, 4), (1, 2)
"""Trainings of every arm: one network is luck."""
LONGER = 2


def helpful(ablations: pl.DataFrame) -> list[str]:
    """The choices that MI_DSC is better with."""
    means = ablations.filter(outcome="mi_dsc").group_by("choice").agg(pl.col("difference").mean()).sort("choice")
    return means.filter(pl.col("difference") > 0)["choice"].to_list()


def answers_of(effects: pl.DataFrame) -> pl.DataFrame:
    """The properties that hurt the model of these effects after Holm's correction, with their choices."""
    return answered(effects.filter(pl.col("p_holm") <= HURTS_BELOW))


def second_round(first: list[Recipe], kept: list[str], answers: pl.DataFrame) -> list[Recipe]:
    """The recipes of the second round."""
    named = {one.name: one for one in first}
    baseline, remedy, sham = (named[f"{arm} 1"] for arm in ("baseline", "remedy", "sham"))
    revised = remedy
    for choice in ("temporal", "spoilers", "paste", "small", "risk"):
        if choice not in kept:
            revised = revised.without(choice)
    revised = replace(revised, merge="close" if "merge" in kept else "none")
    choices = set(answers["choice"])
    direct = replace(
        baseline,
        neighbours="real" if "temporal" in choices else "none",
        spoilers=tuple(sorted(set(answers["spoiler"]) - {""})),
        paste="paste" in choices,
        small_weigh_more="small" in choices,
        sampling="risk" if "risk" in choices else "even",
        merge=revised.merge,
    )
    arms = {
        "baseline": baseline,
        "revised": revised,
        "joining": replace(revised, merge="votes"),
        "pasting": replace(revised, paste=True),
        "direct": direct,
        "sham": sham,
    }
    long = {"longbaseline": replace(baseline, longer=LONGER), "longremedy": replace(remedy, longer=LONGER)}
    return [
        replace(one, name=f"{arm} {seed}", seed=seed)
        for group, seeds in ((long, LONG_SEEDS), (arms, SEEDS))
        for arm, one in group.items()
        for seed in seeds
    ]


def main() -> None:
    """Read the command line and revise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--found", type=Path, required=True)
    parser.add_argument("--proof", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    kept = helpful(pl.read_csv(given.proof / "ablations.csv"))
    answers = answers_of(pl.read_csv(given.found / "baseline" / "effects.csv"))
    write_recipes(second_round(read_recipes(given.found / "recipes.json"), kept, answers), given.out)


if __name__ == "__main__":
    main()
