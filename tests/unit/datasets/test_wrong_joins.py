"""References that would bring different moments or different criteria together are refused."""

import polars as pl
import pytest

from data_set_files import BUILDERS, bypass, endoscapes_image, put, put_json
from surgvalid.datasets import open_data_set, sampled
from surgvalid.datasets.sets.multibypass140 import phases_at_seconds
from surgvalid.errors import InputInvalid, Misuse


def references(name, task, root):
    if not any(root.iterdir()):
        BUILDERS[name](root)
    return open_data_set(name).references(root, task=task)


def test_every_video_is_thinned_by_its_own_frame_rate(tmp_path):
    phases = references("heichole", "phase", tmp_path)
    thin = sampled(phases, rate_hz=1).table
    assert thin.select("video", "frame").rows() == [
        *(("Hei-Chole1", frame) for frame in (0, 25, 50, 75, 100)),
        *(("Hei-Chole16", frame) for frame in (0, 50, 100)),
    ]


@pytest.mark.parametrize("rate_hz", [0, 3])
def test_a_rate_that_does_not_fit_is_refused(rate_hz, tmp_path):
    with pytest.raises(Misuse):
        sampled(references("heichole", "phase", tmp_path), rate_hz=rate_hz)


def test_labels_carried_forward_are_refused_as_references(tmp_path):
    BUILDERS["endoscapes2023"](tmp_path)
    carried = endoscapes_image(8, 150, rated=False, boxed=False, ds=[1.0, 1.0, 1.0])
    put_json(tmp_path / "train" / "annotation_ds_coco.json", {"images": [carried], "annotations": [], "categories": []})
    with pytest.raises(InputInvalid, match="8_150 is no rated frame; its label is the last one carried forward"):
        open_data_set("endoscapes2023").references(tmp_path, task="cvs")
    assert not {"two_structures", "ds"} & set(references("endoscapes2023", "frames", tmp_path).table.columns)


def test_overlays_are_no_phases(tmp_path):
    phases, overlay = (references("multibypass140", task, tmp_path) for task in ("phase", "overlay"))
    assert set(phases.table["label_id"]) == {0, 1}
    assert set(overlay.table["label_id"]) == {12}
    seconds = phases_at_seconds(phases)
    assert seconds.table.filter(pl.col("video") == "BBP01")["phase"].to_list() == [0, 0, 0, 1, 1]
    assert not set(phases.table["case"]) & set(overlay.table["case"])
    with pytest.raises(Misuse, match="overlays lie over phases"):
        phases_at_seconds(overlay)


def test_two_phases_at_one_moment_are_a_problem_and_a_gap_is_a_warning(tmp_path):
    path = tmp_path / "labels" / "bern" / "labels_by70" / "BBP01.mp4.json"
    BUILDERS["multibypass140"](tmp_path)
    put_json(path, bypass([(0, 2500, 0), (2000, 5000, 1)]))
    with pytest.raises(InputInvalid, match="two phases at 2000 ms"):
        open_data_set("multibypass140").references(tmp_path, task="phase")
    put_json(path, bypass([(0, 2500, 0), (2900, 5000, 1)]))
    report = open_data_set("multibypass140").check(tmp_path)
    assert report.ok
    assert "gap" in {finding.code for finding in report.findings}


def test_rows_of_another_rate_than_stated_are_named(tmp_path):
    BUILDERS["cholec80"](tmp_path)
    tools = tmp_path / "tool_annotations" / "video01-tool.txt"
    put(tools, tools.read_text().replace("25\t", "1\t").replace("50\t", "2\t"))
    with pytest.raises(InputInvalid, match="2 of 2 steps between frames are not 25"):
        open_data_set("cholec80").references(tmp_path, task="tool")
