"""Hold the model's answers against everything that never looks.

    python -m examples.sees.evaluate DATA QUESTIONS ANSWERS OUT

DATA and QUESTIONS are what `make_data.py` wrote, ANSWERS the folder in which `train.py` left its answers. OUT gets
`cases.csv` (a row per test question: right or not under every condition, with what was in the image and how good the
image was: a table for `surgvalid analyse failures`), `margins.csv` (by track, set and kind of question: the model,
its blind
twin, shuffled images, the trivial baselines of `surgvalid score baselines`, and the margin over the best of them with
an interval over videos) and `margins.md`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.schema.questions.question_files import load_questions
from surgvalid.scoring.blind_questions import blind_questions
from surgvalid.scoring.trivial_baselines import BASELINES, trivial_baselines
from surgvalid.simulation.artefacts import CHARACTERISTICS

from .make_data import LONG_S, scenes_of

TRACKS = ("frame", "segment", "procedure")
MODELS = ("sees", "shuffled", "blind")
OPEN = ("open_ended", "matching")
"""Formats whose answers are free text; all others are closed."""
SETS = {
    "known centres": ~(pl.col("new_center") | pl.col("long")), "new centre": pl.col("new_center"),
    "long videos": pl.col("long") & ~pl.col("new_center"),
}  # fmt: skip
"""Which questions are told apart: long videos are of known centres."""
DRAWS = 2000


def scored(folder: Path, track: str, wanted: set[str], given: dict[str, dict[str, str]]) -> pl.DataFrame:
    """A row per test question of a track: right (1) or not (0) by every trivial baseline and every condition."""
    test, train = folder / "test" / track, folder / "train" / track
    asked = load_questions(test / "requests.json", test / "references.json")
    requests = [request for request in asked.requests.values() if request.case in wanted]
    references = [reference for reference in asked.references.values() if reference.case in wanted]
    result = trivial_baselines(
        requests, references, train_requests=train / "requests.json", train_references=train / "references.json"
    )
    chosen = {question.case: question for question in blind_questions(load_questions(requests, references))}
    proofs = {}
    with open(test / "proofs.jsonl", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            proofs[row["qID"]] = row["template"]
    cases = result.cases.with_columns(track=pl.lit(track))
    names = cases["case"].to_list()
    columns = {model: [chosen[name].score(given[model].get(name)) for name in names] for model in MODELS}
    about = {reference.case: bool(reference.ood) for reference in references}
    return cases.with_columns(
        **{model: pl.Series(values, dtype=pl.Float64) for model, values in columns.items()},
        new_center=pl.Series([about[name] for name in names]),
        template=pl.Series([proofs[name] for name in names]),
        closed=~cases["format"].is_in(OPEN),
    )


def margin_row(cases: pl.DataFrame, name: dict[str, Any]) -> dict[str, Any]:
    """Shares of right answers, and the model's margin over the best trivial baseline with an interval over whole
    videos.
    """
    values = {column: float(cases[column].mean() or 0.0) for column in (*MODELS, *BASELINES)}
    floor = max(("blind", *BASELINES), key=values.__getitem__)
    difference = (cases["sees"] - cases[floor]).to_numpy()
    low, high = over_videos(cases["video"].to_list(), difference)
    return name | {
        "questions": cases.height, "videos": cases["video"].n_unique(), **{m: values[m] for m in MODELS},
        "best_constant": max(values[f] for f in BASELINES[:-1]), "text_prior": values[BASELINES[-1]],
        "best_floor": floor, "margin": values["sees"] - values[floor], "low": low, "high": high,
    }  # fmt: skip


def over_videos(videos: list[str], values: np.ndarray) -> tuple[float, float]:
    """Where the mean of `values` would lie with other videos: whole ones are drawn again, 95 %."""
    rng, names = np.random.default_rng(0), sorted(set(videos))
    if len(names) < 2:
        return float("nan"), float("nan")
    groups = [values[[at for at, video in enumerate(videos) if video == name]] for name in names]
    sums, sizes = np.array([group.sum() for group in groups]), np.array([len(group) for group in groups])
    drawn = rng.integers(len(names), size=(DRAWS, len(names)))
    low, high = np.quantile(sums[drawn].sum(1) / sizes[drawn].sum(1), (0.025, 0.975))
    return float(low), float(high)


def look_cost(cases: pl.DataFrame, folder: Path, given: dict[str, str]) -> str:
    """How differently the same questions are answered from images with another look, paired."""
    if not given:
        return "no images with another look"
    test = folder / "test" / "frame"
    asked = {q.case: q for q in blind_questions(load_questions(test / "requests.json", test / "references.json"))}
    both = cases.filter(pl.col("case").is_in(list(given)))
    other = np.array([asked[case].score(given[case]) for case in both["case"]], dtype=float)
    gain = other - both["sees"].to_numpy()
    low, high = over_videos(both["video"].to_list(), gain)
    before = float(np.mean(both["sees"].to_numpy()))
    return (f"images with another look: {other.mean():.3f} right of {len(other)}, as they are {before:.3f}; "
            f"difference {gain.mean():+.3f} ({low:+.3f} to {high:+.3f})")  # fmt: skip


def margins(cases: pl.DataFrame) -> pl.DataFrame:
    """The margins by track and set, over all questions, closed ones, buckets, formats and templates."""
    rows = []
    for track in TRACKS:
        for label, inside in SETS.items():
            here = cases.filter((pl.col("track") == track) & inside)
            if here.is_empty():
                continue
            name = {"track": track, "set": label}
            rows.append(margin_row(here, name | {"level": "all", "name": "all"}))
            rows.append(margin_row(here.filter("closed"), name | {"level": "closed", "name": "closed formats"}))
            for level in ("bucket", "format", "template"):
                for value in sorted(here[level].unique().to_list()):
                    rows.append(margin_row(here.filter(pl.col(level) == value), name | {"level": level, "name": value}))
    return pl.DataFrame(rows)


def properties(data: Path) -> pl.DataFrame:
    """Per test question of FRAME: what its image shows, and how good the image is."""
    labels = json.loads(gzip.decompress((data / "labels.json.gz").read_bytes()))
    objects = {(video, second): rows for video, second, _, _, rows in labels["pictures"]}
    command = labels["command"]
    asked = [q for q in labels["questions"] if q["split"] == "test" and q["track"] == "frame"]
    rows = []
    for scene in scenes_of(command):
        here = sorted((q for q in asked if q["video"] == scene.video), key=lambda q: q["end"])
        levels = scene.conditions(np.array([float(q["end"]) for q in here])) if here else {}
        for at, q in enumerate(here):
            seen = objects[q["video"], q["end"]]
            rows.append(
                {"case": q["id"], "center": scene.center.name, "procedure": q["procedure"], "objects": len(seen),
                 "smallest": min((row[3] * row[4] for row in seen), default=None) if seen else None,
                 "occluded": sum(row[5] for row in seen),
                 **{kind: float(levels[kind][at]) for kind in CHARACTERISTICS if kind in levels}}
            )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def as_markdown(table: pl.DataFrame) -> str:
    """The margins over whole tracks and closed formats, and by bucket."""
    head = ["track", "set", "questions", "videos", "sees", "shuffled", "blind twin", "best constant", "text prior",
            "margin over the best trivial baseline"]  # fmt: skip
    lines = ["| " + " | ".join(["", *head]) + " |", "|" + "---|" * (len(head) + 1)]
    for row in table.filter(pl.col("level").is_in(["all", "closed", "bucket"])).iter_rows(named=True):
        numbers = [f"{row[k]:.3f}" for k in ("sees", "shuffled", "blind", "best_constant", "text_prior")]
        margin = f"{row['margin']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
        fields = [row["name"], row["track"], row["set"], str(row["questions"]), str(row["videos"]), *numbers, margin]
        lines.append("| " + " | ".join(fields) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("data", "questions", "answers", "out"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args(arguments)
    given: dict[str, dict[str, str]] = {}
    for variant in ("sees", "blind"):
        given |= json.loads((options.answers / f"answers-{variant}.json").read_text(encoding="utf-8"))
    if (options.answers / "answers-look.json").is_file():
        given |= json.loads((options.answers / "answers-look.json").read_text(encoding="utf-8"))
    tracks = [track for track in TRACKS if (options.questions / "test" / track).is_dir()]
    videos = json.loads(gzip.decompress((options.data / "labels.json.gz").read_bytes()))["videos"]
    long = [name for name, (_, _, duration_s) in videos.items() if duration_s > LONG_S]
    cases = pl.concat([scored(options.questions, track, set(given["sees"]), given) for track in tracks])
    cases = cases.with_columns(long=pl.col("video").is_in(long))
    options.out.mkdir(parents=True, exist_ok=True)
    table = margins(cases)
    table.write_csv(options.out / "margins.csv")
    (options.out / "margins.md").write_text(as_markdown(table), encoding="utf-8")
    print(as_markdown(table))
    print(look_cost(cases, options.questions, given.get("other look", {})))
    cases.join(properties(options.data), on="case", how="left").write_csv(options.out / "cases.csv")


if __name__ == "__main__":
    main()
