"""From predictions to tables: `surgvalid evaluate segmentation` for every model and part, then one row per instance.

    python -m examples.weakness_to_algorithm.scores --data painted --predictions run1/predictions.npz --out scored1

Writes for every part `references.npz` and `MODEL.npz` (label maps by `video/frame`, as `surgvalid evaluate
segmentation` reads them), the folders that it writes, and `instances.csv`: pixels of every instance by every
model with its properties, ready for `surgvalid analyse failures` and `surgvalid analyse compare`. `pictures.csv` has
MI_DSC and MI_NSD of every image, to which instances that a model invented count too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from examples.weakness_to_algorithm.pack import read_pack

import surgvalid

TOLERANCE_PX = 2.0
"""For NSD: about what soft edges and small images leave undecided."""
REPLICATES = 200


def by_case(cases: np.ndarray, labels: np.ndarray, wanted: set[str]) -> dict[str, np.ndarray]:
    """Label maps by case, of the wanted cases."""
    return {case: one for case, one in zip(cases.tolist(), labels, strict=True) if case in wanted}


def score(data: Path, predictions: Path, out: Path) -> None:
    """Score every model on every part that it predicted."""
    pack, properties = read_pack(data / "frames.npz", frames=False), pl.read_csv(data / "instances.csv")
    cases = pl.read_csv(data / "cases.csv")
    with np.load(predictions) as stored:
        made = {name.split("|")[0]: (stored[name], stored[name.replace("|case", "|labels")])
                for name in stored.files if name.endswith("|case")}  # fmt: skip
    for part in np.unique(pack.columns["part"]).tolist():
        wanted = set(pack.columns["case"][pack.rows(part=part)].tolist())
        models = {name: maps for name, pair in made.items() if (maps := by_case(*pair, wanted))}
        if models:
            references = by_case(pack.columns["case"], pack.labels, wanted)
            _score_part(out / part, models, references, cases.filter(part=part), properties)


def _score_part(
    folder: Path,
    models: dict[str, dict[str, np.ndarray]],
    references: dict[str, np.ndarray],
    cases: pl.DataFrame,
    properties: pl.DataFrame,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "references.npz", **references)
    rows, pictures, metrics = [], [], []
    for model, maps in models.items():
        stem = model.replace(" ", "_")
        np.savez_compressed(folder / f"{stem}.npz", **maps)
        result = surgvalid.evaluate(
            "segmentation",
            folder / f"{stem}.npz",
            folder / "references.npz",
            instances=True,
            metrics=["mi_dsc", "mi_nsd"],
            tolerance_px=TOLERANCE_PX,
            model=model,
            replicates=REPLICATES,
        )
        result.to_dir(folder / stem, force=True)
        name = pl.lit(model).alias("model")
        rows.append(result.tables["instances"].with_columns(name))
        pictures.append(result.scores.frame.with_columns(name))
        metrics.append(result.metrics.with_columns(name))
    listed = pl.concat(rows).filter(pl.col("reference_id").is_not_null()).drop("conventions", "prediction_id")
    joined = listed.join(properties, on=["case", "video", "reference_id"]).join(cases, on=["case", "video"])
    joined.with_columns(
        dsc=2 * pl.col("true_positive") / (pl.col("predicted") + pl.col("reference")),
        instance=pl.format("{}#{}", "case", "reference_id"),
    ).write_csv(folder / "instances.csv")
    pl.concat(pictures, how="diagonal").join(cases, on=["case", "video"]).write_csv(folder / "pictures.csv")
    pl.concat(metrics).write_csv(folder / "metrics.csv")


def main() -> None:
    """Read the command line and score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    score(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
