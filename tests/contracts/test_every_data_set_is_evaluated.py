"""Every task that a data set says can be evaluated: its own references as predictions reach the best value."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import surgvalid
from data_set_files import BUILDERS
from surgvalid.cli.tools import measured_by
from surgvalid.datasets import DATA_SETS, open_data_set
from surgvalid.errors import Misuse
from surgvalid.evaluation.data_sets import references_of
from surgvalid.evaluation.run import KINDS

COMPARED = [
    (name, task, one.compared.kind)
    for name in DATA_SETS
    for task, one in open_data_set(name).tasks.items()
    if one.compared is not None
]
FROM_FOLDER = [(name, task, kind) for name, task, kind in COMPARED if kind != "cvs"]
CLASSES_OF_THE_FILES = {("endoscapes2023", "masks")}
"""Classes are those that the masks hold: several in the data set, one in the miniature, which is measured otherwise."""
BEST = {
    "detection": {"coco_ap": 1.0, "detection_f1": 1.0},
    "phases": {"phase_accuracy": 1.0, "segment_edit": 1.0},
    "classification": {"macro_f1": 1.0},
    "triplets": {"triplet_map_ivt": 1.0},
    "tracking": {"hota": 1.0, "idf1": 1.0, "id_switches": 0.0},
}


def perfect(kind: str, root: Path, options: dict[str, Any], folder: Path) -> Any:
    """The references of a task as predictions."""
    found = references_of(kind, root, **options).references
    if kind == "segmentation":
        for name in found:
            (folder / f"{name}.png").parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / f"{name}.png", folder / f"{name}.png")
        return folder
    if kind == "tracking":
        for video, one in found.items():
            rows = zip(one.frame, one.identity, one.box.tolist(), one.label, strict=True)
            lines = [f"{f},{i},{','.join(map(str, box))},1,{c}" for f, i, box, c in rows]
            (folder / f"{video}.txt").write_text("\n".join(lines))
        return folder
    if kind == "detection":
        kept = ("image_id", "category_id", "bbox")
        return [{**{key: one[key] for key in kept}, "score": 0.9} for one in found["annotations"]]
    wanted = "score" if kind == "triplets" else "prediction"
    renamed = {n: n.replace("reference", wanted, 1) for n in found.columns if n.split(":")[0] == "reference"}
    return found.rename(renamed).select("video", pl.col("^(frame|case)$"), *renamed.values())


def choice(name: str, task: str, kind: str) -> dict[str, Any]:
    named = {"data_set": name, "task": task}
    return {**named, "perspective": "visibility"} if kind == "tracking" else named


@pytest.mark.parametrize(("name", "task", "kind"), FROM_FOLDER)
def test_the_references_themselves_reach_the_best_value(name: str, task: str, kind: str, tmp_path: Path) -> None:
    root, folder, out = (tmp_path / part for part in ("data", "predictions", "out"))
    root.mkdir()
    folder.mkdir()
    BUILDERS[name](root)
    (root / "videos").mkdir()
    (root / "videos" / "video01.mp4").write_bytes(b"never read, let alone hashed")
    options = choice(name, task, kind)
    result = surgvalid.evaluate(kind, perfect(kind, root, options, folder), root, replicates=20, **options)
    values = {row["metric"]: row["value"] for row in result.metrics.to_dicts()}
    best = BEST.get(kind, dict.fromkeys(values, 1.0))
    assert {metric: values[metric] for metric in best} == pytest.approx(best)
    if (name, task) not in CLASSES_OF_THE_FILES:
        assert measured_by(open_data_set(name).tasks[task]) == f"{kind}: {', '.join(values)}"  # as the page says
    for record in result.conventions.values():
        assert record["conventions"]["references"] == f"{open_data_set(name).title}, {task}"
    assert result.metrics["conventions"].str.contains("; videos: all in the folder").all()
    result.to_dir(out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert {name, task} <= {manifest["options"][key] for key in ("data_set", "task")}
    read = {entry["file"] for entry in manifest["inputs"]}
    assert "video01.mp4" not in read
    assert read


def test_which_data_sets_can_be_evaluated_from_their_folder() -> None:
    offered: dict[str, set[str]] = {}
    for name, _, kind in COMPARED:
        offered.setdefault(kind, set()).add(name)
    assert offered == {
        "classification": {
            *("autolaparo", "avos", "cholec80", "cholec80_cvs", "cholec80_vqa", "cholect45", "dresden"),
            *("endovis18_vqa", "grasp", "heichole", "jigsaws", "m2cai16", "pitvqa", "psi_ava", "ssg_vqa"),
            "surgvu",
        },
        "cvs": {"endoscapes2023"},
        "detection": {"avos", "cholecinstanceseg", "endoscapes2023", "grasp", "psi_ava"},
        "phases": {
            *("autolaparo", "cholec80", "cholect50", "heichole", "heico", "jigsaws", "m2cai16", "multibypass140"),
            "sar_rarp50",
        },
        "segmentation": {
            *("autolaparo", "cholecseg8k", "dresden", "endoscapes2023", "endovis2017", "endovis2018", "heico"),
            "sar_rarp50",
        },
        "tracking": {"cholectrack20"},
        "triplets": {"cholect45", "cholect50"},
    }
    assert {kind for _, _, kind in COMPARED} <= set(KINDS)


def test_a_kind_that_a_data_set_does_not_offer_is_refused_with_what_it_offers(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="cholectrack20 has no task to evaluate as phases; it offers tracks as tracking"):
        surgvalid.evaluate("phases", {"video": ["a"]}, tmp_path, data_set="cholectrack20")
