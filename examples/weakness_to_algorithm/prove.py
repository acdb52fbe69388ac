"""Show what the remedy changed on procedures that nobody looked at, and what it did not.

    python -m examples.weakness_to_algorithm.prove --found found --scored scored2 --out proof

For the held-out procedures and for the centre that development never saw: differences of MI_DSC and MI_NSD per image
and of the instances that are found, paired by case, with intervals over videos (`surgvalid analyse compare`); the
effect of
each property that the remedy answers before and after (`surgvalid analyse failures --before --after`), and gains with
and
without it; gains of the sham too; and what is lost when one design choice is taken back. `surgvalid analyse compare`
takes
trainings of a recipe for cases, so its intervals are about these networks; columns that end in `_all` are about other
trainings too (`trainings`), and verdicts follow those.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from examples.weakness_to_algorithm.find import properties_in, read_instances
from examples.weakness_to_algorithm.recipes import read_recipes
from examples.weakness_to_algorithm.trainings import over_trainings

import surgvalid
from surgvalid.stats.comparing.corrections import adjusted

PARTS = ("held-out", "new-centre")
FEWEST_VIDEOS, LEVEL = 6, 0.05
PAIRS = ("remedy:baseline", "sham:baseline")
_KEPT = ("difference", "low", "high", "p_value", "videos")


def arms_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of models that were trained twice, with `arm` and `training`."""
    parts = [(re.fullmatch(r"(\w+) (\d)", name), name) for name in rows["model"].unique(maintain_order=True)]
    named = pl.DataFrame(
        [{"model": name, "arm": match[1], "training": f"training {match[2]}"} for match, name in parts if match]
    )
    return rows.join(named, on="model")


def difference(rows: pl.DataFrame, first: str, second: str, *, model: str = "arm") -> dict[str, Any]:
    """The paired difference of two models: columns `case`, `video`, `value` and the model's."""
    two = rows.filter(pl.col(model).is_in([first, second]))
    table = two.select(pl.col(model).alias("model"), "case", "video", "value")
    row = surgvalid.compare(table, first, second, better="larger").table.row(0, named=True)
    return {name: row[name] for name in _KEPT if name in row}


def values_of(folder: Path) -> dict[str, pl.DataFrame]:
    """By outcome, one row per model and case with its `value`."""
    pictures, instances = pl.read_csv(folder / "pictures.csv"), read_instances(folder / "instances.csv")
    by_metric = {name: pictures.filter(metric=name) for name in ("mi_dsc", "mi_nsd")}
    return {**by_metric, "found": instances.with_columns(case="instance", value=pl.col("found").cast(pl.Float64))}


def sharing(path: Path, pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs of arms whose networks are the same, training by training."""
    trained: dict[str, list[Any]] = {}
    for one in read_recipes(path):
        trained.setdefault(one.name.rpartition(" ")[0], []).append(one.training())
    return {pair for pair in pairs if trained[pair[0]] == trained[pair[1]]}


def both_ways(named: pl.DataFrame, arm: str, against: str, *, paired: bool) -> dict[str, Any]:
    """The difference of two arms for these networks, and for others of the same recipes too."""
    as_cases = named.with_columns(case=pl.format("{}|{}", "case", "training"))
    return {**difference(as_cases, arm, against), **over_trainings(named, arm, against, paired=paired)}


def overall(scored: Path, pairs: Sequence[tuple[str, str]], shared: set[tuple[str, str]]) -> pl.DataFrame:
    """Every arm less what it is compared with, per part and outcome."""
    rows = []
    for part in PARTS:
        for outcome, values in values_of(scored / part).items():
            named = arms_of(values)
            means = dict(named.group_by("arm").agg(pl.col("value").mean()).iter_rows())
            rows += [
                {"part": part, "outcome": outcome, "arm": arm, "against": against, "value_against": means[against],
                 "value": means[arm], **both_ways(named, arm, against, paired=(arm, against) in shared)}
                for arm, against in pairs
            ]  # fmt: skip
    return pl.DataFrame(rows)


def ablations(scored: Path) -> pl.DataFrame:
    """The remedy less the remedy without one choice, of the same seed: what the choice is worth."""
    rows = []
    for part in PARTS:
        for outcome, values in values_of(scored / part).items():
            models = values["model"].unique(maintain_order=True)
            lacking = [name for name in models if name.startswith("remedy without")]
            rows += [
                {"part": part, "outcome": outcome, "choice": name.removeprefix("remedy without "),
                 **difference(values, "remedy 1", name, model="model")}
                for name in lacking
            ]  # fmt: skip
    return pl.DataFrame(rows)


def gains(rows: pl.DataFrame, arm: str, against: str, targets: Sequence[str], *, paired: bool) -> pl.DataFrame:
    """The paired change of the instances found, on all of them and on those with and without each property.

    p values are corrected by Holm's method, those with a property among themselves and those without among themselves.
    """
    named = arms_of(rows).with_columns(case="instance", value=pl.col("found") * 1.0)
    tables = []
    for side, held in (("all", None), ("with", 1), ("without", 0)):
        listed = []
        for term in targets if held is not None else ["(all)"]:
            chosen = named if held is None else named.filter(pl.col(term) == held)
            if chosen["video"].n_unique() >= FEWEST_VIDEOS:
                listed.append({"term": term, "side": side, "instances": chosen["instance"].n_unique(),
                               **both_ways(chosen, arm, against, paired=paired)})  # fmt: skip
        holm = adjusted(np.array([row["p_all"] for row in listed], dtype=float), "holm")
        tables += [{**row, "p_holm": float(p), "verdict": _verdict(row["difference"], float(p))}
                   for row, p in zip(listed, holm, strict=True)]  # fmt: skip
    return pl.DataFrame(tables)


def _verdict(value: float, p: float) -> str:
    return "no change shown" if p > LEVEL else "better" if value > 0 else "worse"


def change(rows: pl.DataFrame, arm: str, against: str, targets: list[str]) -> Any:
    """Effects of properties before and after, from the first training of two arms."""
    named = arms_of(rows).filter(training="training 1").drop("model")
    old, new = (named.filter(arm=one).drop("arm", "training") for one in (against, arm))
    return surgvalid.failure_change(
        old, new, outcome="found", fixed=targets, random=["video", "case", "instance"], target=targets
    )


def prove(found: Path, scored: Path, out: Path, recipes: Path | None = None, pairs: Sequence[str] = PAIRS) -> None:
    """Compare, and write every table; effects before and after are those of the first pair."""
    out.mkdir(parents=True, exist_ok=True)
    named = [(arm, against) for arm, _, against in (pair.partition(":") for pair in pairs)]
    shared = sharing(recipes or found / "recipes.json", named)
    overall(scored, named, shared).write_csv(out / "overall.csv")
    if (worth := ablations(scored)).height:
        worth.write_csv(out / "ablations.csv")
    answered = pl.read_csv(found / "recipe.csv")["property"].to_list()
    for part in PARTS:
        rows = read_instances(scored / part / "instances.csv")
        targets = [name for name in answered if name in properties_in(rows)]
        for arm, against in named:
            table = gains(rows, arm, against, targets, paired=(arm, against) in shared)
            table.write_csv(out / f"gains_{part}_{arm}_{against}.csv")
        arm, against = named[0]
        change(rows, arm, against, targets).to_dir(out / f"effects_{part}_{arm}", force=True)


def main() -> None:
    """Read the command line and prove."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--found", type=Path, required=True)
    parser.add_argument("--scored", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipes", type=Path, help="Those that were trained; as found unless given.")
    parser.add_argument("--pairs", nargs="+", default=PAIRS, help="What to compare, as ARM:AGAINST.")
    prove(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
