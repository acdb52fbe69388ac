"""Every detection is a row with what it is like and where it lies, so that what is invented can be explained."""

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.evaluation import detection
from surgvalid.stats.mixed.failures import failures

CATEGORIES = [{"id": 1, "name": "tool"}, {"id": 2, "name": "clip"}]


def table_of(images: list, references: list, results: list, **more: object) -> pl.DataFrame:
    annotations = [{"id": at + 1, **one} for at, one in enumerate(references)]
    dataset = {"images": images, "categories": CATEGORIES, "annotations": annotations}
    return surgvalid.evaluate("detection", results, dataset, replicates=5, **more).tables["detections"]


def box(image: int, category: int, *place: float, score: float | None = None) -> dict:
    return {"image_id": image, "category_id": category, "bbox": list(place)} | ({"score": score} if score else {})


def test_each_row_says_what_is_wrong_where_it_lies_and_what_lies_there():
    images = [
        {"id": 1, "file_name": "a.png", "video": "v", "width": 100, "height": 50, "smoke": "yes"},
        {"id": 2, "file_name": "b.png", "video": "w", "smoke": "no"},
        {"id": 3, "file_name": "c.png", "video": "w", "smoke": "no"},
    ]
    references = [box(1, 1, 10, 10, 20, 20), box(1, 2, 60, 10, 20, 20), box(2, 1, 0, 0, 10, 10)]
    results = [
        box(1, 1, 10, 10, 20, 20, score=0.9),
        box(1, 1, 60, 10, 20, 20, score=0.8),
        box(1, 2, 90, 30, 10, 20, score=0.7),
        box(2, 1, 0, 0, 10, 10, score=0.6),
        box(3, 1, 20, 20, 10, 10, score=0.5),
    ]
    rows = table_of(images, references, results, by=["smoke"]).sort("score", descending=True).to_dicts()
    told = [(row["case"], row["smoke"], row["right"], row["error"], row["lies_on"], row["border_px"]) for row in rows]
    assert told == [
        ("a.png", "yes", 1, "", "tool", 10),
        ("a.png", "yes", 0, "class", "clip", 10),
        ("a.png", "yes", 0, "background", "nothing", 0),
        ("b.png", "no", 1, "", "tool", None),
        ("c.png", "no", 0, "background", "nothing", None),
    ]
    assert [(row["x"], row["y"], row["area_px"]) for row in rows] == [
        (0.2, 0.4, 400), (0.7, 0.4, 400), (0.95, 0.8, 200), (None, None, 100), (None, None, 100),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_the_errors_that_are_counted(seed):
    rng = np.random.default_rng(seed)
    images = [{"id": n, "video": f"v{n % 3}", "width": 90, "height": 90} for n in range(6)]
    references = [box(n % 6, 1 + n % 2, *rng.uniform(5, 50, 2), 20, 20) for n in range(12)]
    results = [
        box(
            one["image_id"],
            int(rng.integers(1, 3)),
            *np.add(one["bbox"], rng.normal(0, 6, 4)),
            score=0.1 + rng.random(),
        )
        for one in references * 2
    ]
    annotations = [{"id": at + 1, **one} for at, one in enumerate(references)]
    dataset = {"images": images, "categories": CATEGORIES, "annotations": annotations}
    tables = surgvalid.evaluate("detection", results, dataset, replicates=5).tables
    rows, counted = tables["detections"], dict(tables["detection_errors"].select("error", "objects").iter_rows())
    assert rows.height == len(results)
    assert rows.filter(pl.col("right") == 1)["error"].unique().to_list() in ([""], [])
    for error, count in counted.items():
        assert error == "missed" or rows.filter(error=error).height == count


def test_a_failure_analysis_names_where_a_model_invents_and_not_where_it_does_not():
    rng = np.random.default_rng(4)
    images, references, results = [], [], []
    for number in range(240):
        images.append({"id": number, "video": f"v{number % 12}", "width": 200, "height": 200, "smoke": str(number % 2)})
        place = rng.uniform(20, 150, 2)
        references.append(box(number, 1, *place, 20, 20))
        results.append(box(number, 1, *place, 20, 20, score=0.9))
        if rng.random() < 0.5:  # half of what is invented lies at the left border, whatever smoke there is
            results.append(box(number, 1, 0 if rng.random() < 0.5 else 90, rng.uniform(30, 150), 20, 20, score=0.8))
    rows = table_of(images, references, results, by=["smoke"])
    fit = failures(rows, outcome="right", fixed=["border_px", "smoke"], random=["video", "case"])
    effects = {row["term"].partition("[")[0]: row for row in fit.table.iter_rows(named=True)}
    assert effects["border_px"]["estimate"] > 0
    assert effects["border_px"]["p_holm"] < 0.01
    assert effects["smoke"]["p_holm"] > 0.05


def test_of_very_many_detections_no_row_each_is_written(monkeypatch):
    monkeypatch.setattr(detection, "MOST_ROWS", 1)
    images = [{"id": 1, "video": "v"}]
    dataset = {"images": images, "categories": CATEGORIES, "annotations": [{"id": 1, **box(1, 1, 0, 0, 9, 9)}]}
    results = [box(1, 1, 0, 0, 9, 9, score=0.5), box(1, 1, 20, 0, 9, 9, score=0.4)]
    made = surgvalid.evaluate("detection", results, dataset, replicates=5)
    assert "detections" not in made.tables
    assert "detections.csv" in str(made)
