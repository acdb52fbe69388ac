"""Values of whole runs, from words to metrics, against scikit-learn and plain loops on random answers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, jaccard_score, recall_score

from scripted_model import ScriptedModel
from surgvalid.tasks import open_task, run_task
from surgvalid.tasks.cases import cases_of
from task_folders import build

SEEDS = (1, 2)


def policy_values(result: object, policy: str, metric: str) -> dict[str, float]:
    """The value under each convention of labels."""
    table = result.policies.filter((pl.col("policy") == policy) & (pl.col("metric") == metric))  # type: ignore[attr-defined]
    return dict(table.select("labels", "value").rows())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_choice_with_lost_answers(seed: int, tmp_path: Path) -> None:
    task, draw = open_task("phase-c80"), random.Random(seed)
    root, classes = build(task, tmp_path), list(task.answer.classes)
    truth = dict(cases_of(task, root).table.select("case", "reference").rows())
    said = {case: draw.choice([*classes[:4], "no idea"]) for case in truth}
    said[min(said)], said[max(said)] = "no idea", classes[1]
    result = run_task(task, model=ScriptedModel(lambda p: said[p.id]), root=root, frames=tmp_path / "frames")
    lost = [case for case in truth if said[case] == "no idea"]
    pairs = [(truth[case], said[case]) for case in truth]
    kept = [(truth[case], said[case]) for case in truth if case not in lost]
    y, p = (list(side) for side in zip(*pairs, strict=True))
    assert result.value("accuracy") == pytest.approx(accuracy_score(y, p))
    found = policy_values(result, "wrong", "macro_f1")
    for labels, chosen in (("supported", sorted(set(y))), ("declared", classes)):
        assert found[labels] == pytest.approx(f1_score(y, p, labels=chosen, average="macro", zero_division=0))
    seen = sorted({*y, *p} - {"no idea"})
    assert found["union"] == pytest.approx(f1_score(y, p, labels=seen, average="macro", zero_division=0))
    y, p = (list(side) for side in zip(*kept, strict=True))
    expected = f1_score(y, p, labels=sorted(set(y)), average="macro", zero_division=0)
    assert policy_values(result, "excluded", "macro_f1")["supported"] == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_several_labels(seed: int, tmp_path: Path) -> None:
    task, draw = open_task("tool-c80"), random.Random(seed)
    root, classes = build(task, tmp_path), task.answer.classes
    rows = {row["case"]: row for row in cases_of(task, root).table.to_dicts()}
    said = {case: {name: draw.random() < 0.5 for name in draw.sample(classes, len(classes))} for case in rows}
    model = ScriptedModel(lambda p: json.dumps(said[p.id]))
    result = run_task(task, model=model, root=root, frames=tmp_path / "frames")
    y = [[rows[case][f"reference:{name}"] for name in classes] for case in rows]
    p = [[int(said[case][name]) for name in classes] for case in rows]
    declared = f1_score(y, p, average="macro", zero_division=0)
    assert policy_values(result, "wrong", "macro_f1")["declared"] == pytest.approx(declared)
    cells = [a == b for left, right in zip(y, p, strict=True) for a, b in zip(left, right, strict=True)]
    assert result.value("label_accuracy") == pytest.approx(sum(cells) / len(cells))
    shown = [place for place in range(len(classes)) if any(row[place] for row in y)]
    for metric, peer in (("f1", f1_score), ("jaccard", jaccard_score), ("recall", recall_score)):
        for average in ("macro", "weighted"):
            expected = peer(y, p, labels=shown, average=average, zero_division=0)
            assert result.value(f"{average}_{metric}") == pytest.approx(expected), (average, metric)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_ordered_rating(seed: int, tmp_path: Path) -> None:
    task, draw = open_task("skill-im"), random.Random(seed)
    root = build(task, tmp_path)
    truth = dict(cases_of(task, root).table.select("case", "reference").rows())
    said = {case: str(draw.randint(1, 5)) for case in truth}
    result = run_task(task, model=ScriptedModel(lambda p: said[p.id]), root=root, frames=tmp_path / "frames")
    y, p = [int(truth[case]) for case in truth], [int(said[case]) for case in truth]
    kappa = cohen_kappa_score(y, p, weights="quadratic", labels=[1, 2, 3, 4, 5])
    assert result.value("quadratic_kappa") == pytest.approx(kappa)
    assert result.value("expected_cost") == pytest.approx(sum(abs(a - b) for a, b in zip(y, p, strict=True)) / len(y))
    assert result.value("accuracy") == pytest.approx(accuracy_score(y, p))


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_in_time(seed: int, tmp_path: Path) -> None:
    task, draw = open_task("e-det-im"), random.Random(seed)
    root = build(task, tmp_path)
    rows = {row["case"]: row for row in cases_of(task, root).table.to_dicts()}
    said = {case: sorted((round(draw.uniform(0, 9), 1), round(draw.uniform(0, 9), 1))) for case in rows}
    model = ScriptedModel(lambda p: json.dumps({"start": said[p.id][0], "end": said[p.id][1]}))
    result = run_task(task, model=model, root=root, frames=tmp_path / "frames")
    overlaps = []
    for case, (start, end) in said.items():
        first, last = rows[case]["span_start_s"], rows[case]["span_end_s"]
        shared = max(0.0, min(end, last) - max(start, first))
        overlaps.append(shared / (end - start + last - first - shared))
    assert result.value("temporal_iou") == pytest.approx(sum(overlaps) / len(overlaps))
