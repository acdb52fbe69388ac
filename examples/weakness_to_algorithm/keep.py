"""Keep what the documentation shows: small tables, and a sheet of images with references and predictions.

    python -m examples.weakness_to_algorithm.keep --data painted --runs run1 run2 --scored scored1 scored2 \\
        --found found --proof proof
    python -m examples.weakness_to_algorithm.keep --second --runs run3 --scored scored3 --proof proof2

Tables go to `results` beside this file, the sheet to `docs/figures`; `python -m docs.weakness_page` writes the page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
from examples.weakness_to_algorithm.pack import Pack, read_pack

from surgvalid.video import pyav
from surgvalid.video.images import jpeg_bytes

RESULTS = Path(__file__).parent / "results"
SHEET = Path(__file__).parents[2] / "docs" / "figures" / "weakness-sheet.jpg"
COLOURS = np.random.default_rng(5).integers(90, 256, (256, 3)).astype(np.float64)
ROWS = 5


def values_of(scored: Path) -> pl.DataFrame:
    """The metrics of every model and part, and how many instances it invented."""
    tables = []
    for folder in sorted(scored.iterdir()):
        metrics = pl.read_csv(folder / "metrics.csv").with_columns(part=pl.lit(folder.name))
        counts = {}
        for model in metrics["model"].unique():
            listed = pl.read_csv(folder / model.replace(" ", "_") / "instances.csv")["reference_id"]
            counts[model] = listed.null_count(), len(listed) - listed.null_count()
        tables.append(
            metrics.select(
                "part", "model", "metric", "value", "low", "high", "videos",
                invented=pl.col("model").replace_strict({name: one for name, (one, _) in counts.items()}),
                instances=pl.col("model").replace_strict({name: one for name, (_, one) in counts.items()}),
            )
        )  # fmt: skip
    return pl.concat(tables)


def trainings(runs: list[Path]) -> pl.DataFrame:
    """How many steps every training took."""
    rows = []
    for number, run in enumerate(runs, start=1):
        for one in json.loads((run / "training.json").read_text(encoding="utf-8")):
            about = {name: one[name] for name in ("fold", "steps", "seconds", "trained_on", "predicted")}
            rows.append({"run": number, "recipe": one["recipe"]["name"], **about})
    return pl.DataFrame(rows)


def tables(scored: list[Path], found: Path, proof: Path, runs: list[Path]) -> dict[str, pl.DataFrame]:
    """The tables of the page by name."""
    kept = {
        "baselines": values_of(scored[0]),
        "models": values_of(scored[1]),
        "trainings": trainings(runs),
        "recipe": pl.read_csv(found / "recipe.csv"),
        "all_models": pl.read_csv(found / "all_models" / "effects.csv"),
        "recommendations": pl.read_csv(found / "all_models" / "recommendations.csv"),
        "strengths": pl.read_csv(found / "strengths" / "strengths.csv"),
        "strength_tests": pl.read_csv(found / "strengths" / "strength_tests.csv"),
        "calibration": pl.read_csv(found / "baseline" / "calibration.csv"),
        "pixels": pl.read_csv(found / "pixels" / "failure_table.csv"),
    }
    return {**kept, **proven(proof)}


def proven(proof: Path) -> dict[str, pl.DataFrame]:
    """The tables of `prove` by name."""
    kept = {path.stem: pl.read_csv(path) for path in sorted(proof.glob("*.csv"))}
    return kept | {path.name: pl.read_csv(path / "effect_changes.csv") for path in sorted(proof.glob("effects_*"))}


def second(scored: Path, proof: Path, runs: list[Path]) -> dict[str, pl.DataFrame]:
    """The tables of the second round by name."""
    kept = {"models": values_of(scored), "trainings": trainings(runs), **proven(proof)}
    return {f"second_{name}": one for name, one in kept.items()}


def sheet(pack: Pack, scored: Path) -> np.ndarray:
    """Images that the first remedy changed most, for better and for worse: frame, reference, before, after."""
    values = pl.read_csv(scored / "pictures.csv").filter(metric="mi_dsc").pivot("model", index="case", values="value")
    change = values.with_columns(change=pl.col("remedy 1") - pl.col("baseline 1")).sort("change", "case")
    better = change.filter(pl.col("change") > 0).tail(10 * (ROWS - 1)).gather_every(10)["case"].to_list()
    place = {case: row for row, case in enumerate(pack.columns["case"].tolist())}
    maps = [np.load(scored / name) for name in ("baseline_1.npz", "remedy_1.npz")]
    lines = []
    for case in [*better[::-1], change["case"][0]]:
        frame = pack.frames[place[case], 1]
        labelled = [pack.labels[place[case]], *(one[case] for one in maps)]
        lines.append(np.concatenate([frame, *(painted(frame, labels) for labels in labelled)], axis=1))
    return np.concatenate(lines)


def painted(frame: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The frame with every instance in a colour of its own."""
    mixed = np.where(labels[..., None] > 0, 0.35 * frame + 0.65 * COLOURS[labels], frame * 0.6)
    return mixed.astype(np.uint8)


def write(kept: dict[str, pl.DataFrame]) -> None:
    """Write tables beside this file."""
    for name, one in kept.items():
        one.write_csv(RESULTS / f"{name}.csv", float_precision=5)


def main() -> None:
    """Read the command line and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--second", action="store_true", help="The second round, which has no sheet.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--scored", type=Path, nargs="+", required=True)
    parser.add_argument("--found", type=Path)
    parser.add_argument("--proof", type=Path, required=True)
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if given.second:
        write(second(given.scored[0], given.proof, given.runs))
        return
    write(tables(given.scored, given.found, given.proof, given.runs))
    rgb = sheet(read_pack(given.data / "frames.npz"), given.scored[1] / "held-out")
    height, width = rgb.shape[0] // 2 * 2, rgb.shape[1] // 2 * 2
    frame = pyav().VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
    SHEET.write_bytes(jpeg_bytes(frame, width_px=width, height_px=height, quality=4))


if __name__ == "__main__":
    main()
