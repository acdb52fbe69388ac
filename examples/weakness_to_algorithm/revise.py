"""Learn from a proof that failed: keep what the ablations say helps, and write the recipes of a second round.

    python -m examples.weakness_to_algorithm.revise --found found --proof proof --out second.json

A choice is kept where taking it back lowered MI_DSC, on average over both parts of the proof. What was proof has become
development by that, so the second round must be shown on procedures that are painted for it (`paint --first`). Besides
the revised remedy: the same with pasted instances, which the ablations leave open; the sham; and baseline and first
remedy trained three times as long, to see whether the first failed for lack of steps.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import polars as pl
from examples.weakness_to_algorithm.find import SEEDS
from examples.weakness_to_algorithm.recipes import Recipe, read_recipes, write_recipes


def helpful(ablations: pl.DataFrame) -> list[str]:
    """The choices that MI_DSC is better with."""
    means = ablations.filter(outcome="mi_dsc").group_by("choice").agg(pl.col("difference").mean()).sort("choice")
    return means.filter(pl.col("difference") > 0)["choice"].to_list()


def second_round(first: list[Recipe], kept: list[str]) -> list[Recipe]:
    """The recipes of the second round."""
    named = {one.name: one for one in first}
    baseline, remedy, sham = (named[f"{arm} 1"] for arm in ("baseline", "remedy", "sham"))
    revised = remedy
    for choice in ("temporal", "spoilers", "paste", "small", "risk", "merge"):
        if choice not in kept:
            revised = revised.without(choice)
    # The first way of merging joined small things side by side, and fewer of them were found.
    revised = replace(revised, merge="close" if "merge" in kept else "none")
    arms = {"baseline": baseline, "revised": revised, "pasting": replace(revised, paste=True), "sham": sham}
    twice = [replace(one, name=f"{arm} {seed}", seed=seed) for arm, one in arms.items() for seed in SEEDS]
    long = [replace(one, name=f"long{arm} 1", longer=3) for arm, one in (("baseline", baseline), ("remedy", remedy))]
    return twice + long


def main() -> None:
    """Read the command line and revise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--found", type=Path, required=True)
    parser.add_argument("--proof", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    kept = helpful(pl.read_csv(given.proof / "ablations.csv"))
    write_recipes(second_round(read_recipes(given.found / "recipes.json"), kept), given.out)


if __name__ == "__main__":
    main()
