"""Label policies, missing answers and averages, on cases small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from surgvalid.errors import UnknownName
from surgvalid.metrics import open_metric
from surgvalid.metrics.classification.averages import ClassAverage, class_counts
from surgvalid.metrics.classification.cases import NO_ANSWER, LabelCases, SetCases
from surgvalid.metrics.metric import value_of

# The four answers to one question: references 0 and 1, one stray prediction of class 2, class 3 declared only.
STRAY = LabelCases(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]), 4)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [("supported", (1 + 2 / 3) / 2), ("union", (1 + 2 / 3) / 3), ("declared", (1 + 2 / 3) / 4)],
)
def test_the_label_policy_is_part_of_the_metric(labels: str, expected: float) -> None:
    metric = ClassAverage("f1", "macro", labels=labels)  # type: ignore[arg-type]
    assert value_of(metric, STRAY) == pytest.approx(expected)
    assert metric.facts.conventions["labels"].startswith(labels)


def test_a_class_without_denominator_counts_0_or_is_left_out() -> None:
    never = LabelCases(np.array([0, 1]), np.array([0, 0]), 2)
    assert value_of(ClassAverage("precision"), never) == pytest.approx(0.25)
    assert value_of(ClassAverage("precision", undefined="skip"), never) == pytest.approx(0.5)


def test_no_answer_is_a_miss_of_its_class_and_a_false_alarm_of_none() -> None:
    counts = class_counts(LabelCases(np.array([0]), np.array([NO_ANSWER]), 2))
    assert counts[0].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert value_of(open_metric("accuracy"), LabelCases(np.array([0, 1]), np.array([NO_ANSWER, 1]), 2)) == 0.5


def test_weighted_recall_is_accuracy() -> None:
    assert value_of(open_metric("weighted_recall"), STRAY) == value_of(open_metric("accuracy"), STRAY) == 0.75


def test_counts_of_one_unit_add_up_to_its_cases() -> None:
    rng = np.random.default_rng(0)
    cases = LabelCases(rng.integers(0, 3, 50), rng.integers(-1, 3, 50), 3, unit=rng.integers(0, 4, 50))
    counts = class_counts(cases)
    assert counts.sum(axis=2).tolist() == [[n] * 3 for n in np.bincount(cases.units.codes).tolist()]


def test_sets_are_right_only_as_a_whole_unless_cells_are_counted() -> None:
    sets = SetCases(np.array([[1, 0], [1, 1]]), np.array([[1, 0], [1, 0]]))
    assert value_of(open_metric("accuracy"), sets) == 0.5
    assert value_of(open_metric("label_accuracy"), sets) == 0.75


def test_a_criterion_without_both_kinds_of_references_is_left_out_of_balanced_accuracy() -> None:
    sets = SetCases(np.array([[1, 1], [0, 1]]), np.array([[1, 0], [1, 0]]))
    metric = open_metric("label_balanced_accuracy")
    assert value_of(metric, sets) == 0.5
    assert np.isnan(metric.class_values(metric.prepare(sets), np.ones(2))[0]).tolist() == [False, True]  # type: ignore[attr-defined]


def test_values_per_class_are_there_to_be_shown() -> None:
    metric = ClassAverage("f1")
    values = metric.class_values(metric.prepare(STRAY), np.ones(4))
    assert values[0] == pytest.approx([1, 2 / 3, 0, np.nan], nan_ok=True)


@pytest.mark.parametrize("wrong", [{"measure": "f2"}, {"average": "mean"}, {"labels": "all"}, {"undefined": "nan"}])
def test_unknown_options_are_named(wrong: dict[str, str]) -> None:
    with pytest.raises(UnknownName):
        ClassAverage(**wrong)  # type: ignore[arg-type]


def test_a_million_frames_stay_small() -> None:
    cases = LabelCases(np.zeros(1_000_000, np.int64), np.ones(1_000_000, np.int64), 7)
    assert class_counts(cases).nbytes < 120e6
