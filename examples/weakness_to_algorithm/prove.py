"""Show what the remedy changed on procedures that nobody looked at, and what it did not.

    python -m examples.weakness_to_algorithm.prove --found found --scored scored2 --out proof

For the held-out procedures and for the centre that development never saw: differences of MI_DSC and MI_NSD per picture
and of the instances that are found, paired by case, with intervals over videos (`surgeval compare`); the effect of each
property that the remedy answers before and after, and gains with and without it (`surgeval failures --before --after`);
the same for the sham; and what is lost when one design choice is taken back. Two trainings of the same recipe enter as
two models.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import polars as pl
from examples.weakness_to_algorithm.find import properties_in, read_instances

import surgeval

PARTS = ("held-out", "new-centre")
BASELINE, REMEDY, SHAM = "baseline", "remedy", "sham"
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
    row = surgeval.compare(table, first, second, better="larger").table.row(0, named=True)
    return {name: row[name] for name in _KEPT if name in row}


def values_of(folder: Path) -> dict[str, pl.DataFrame]:
    """By outcome, one row per model and case with its `value`."""
    pictures, instances = pl.read_csv(folder / "pictures.csv"), read_instances(folder / "instances.csv")
    by_metric = {name: pictures.filter(metric=name) for name in ("mi_dsc", "mi_nsd")}
    return {**by_metric, "found": instances.with_columns(case="instance", value=pl.col("found").cast(pl.Float64))}


def overall(scored: Path) -> pl.DataFrame:
    """Remedy and sham less the baseline, per part and outcome."""
    rows = []
    for part in PARTS:
        for outcome, values in values_of(scored / part).items():
            both = arms_of(values).with_columns(case=pl.format("{}|{}", "case", "training"))
            means = dict(both.group_by("arm").agg(pl.col("value").mean()).iter_rows())
            rows += [
                {"part": part, "outcome": outcome, "arm": arm, "baseline_value": means[BASELINE], "value": means[arm],
                 **difference(both, arm, BASELINE)}
                for arm in (REMEDY, SHAM)
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


def change(rows: pl.DataFrame, arm: str, targets: list[str]) -> Any:
    """Effects and gains of an arm against the baseline, on one part."""
    named = arms_of(rows).drop("model").rename({"training": "model"})
    fixed = [name for name in targets if name in properties_in(rows)]
    return surgeval.failure_change(
        named.filter(arm=BASELINE).drop("arm"),
        named.filter(arm=arm).drop("arm"),
        outcome="found",
        fixed=fixed,
        random=["model", "video", "case", "instance"],
        target=fixed,
    )


def prove(found: Path, scored: Path, out: Path) -> None:
    """Compare, and write every table."""
    out.mkdir(parents=True, exist_ok=True)
    overall(scored).write_csv(out / "overall.csv")
    ablations(scored).write_csv(out / "ablations.csv")
    targets = pl.read_csv(found / "recipe.csv")["property"].to_list()
    for part in PARTS:
        rows = read_instances(scored / part / "instances.csv")
        for arm in (REMEDY, SHAM):
            change(rows, arm, targets).to_dir(out / part / arm, force=True)


def main() -> None:
    """Read the command line and prove."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--found", type=Path, required=True)
    parser.add_argument("--scored", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    prove(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
