"""The benchmark tables of the Endoscapes report: what their own arithmetic says about them."""

import re
from pathlib import Path

import pytest

from surgvalid.evaluation import endoscapes_board
from surgvalid.evaluation.endoscapes_board import board, is_slip, printed_tables, published_rows, slips


def test_three_printed_means_are_not_the_means_of_their_parts() -> None:
    found = {(slip.trained_on, slip.model, slip.what): (slip.printed, slip.mean_of_parts) for slip in slips()}
    assert found == {
        ("CVS201", "ResNet50 with reconstruction", "mAP"): (52.1, 52.37),
        ("Seg201 + CVS201", "DeepCVS", "bAcc"): (72.3, 72.7),
        ("Seg201 + CVS201", "SV2LSTG*", "mAP"): (69.7, 69.23),
    }


def test_the_means_of_boxes_and_masks_are_those_of_their_classes() -> None:
    assert not [slip for slip in slips() if slip.table in (2, 3)]
    tables = printed_tables()
    sides = [one.numbers[start : start + 7] for one in tables[3] for start in (0, 7)]
    for row in (*(one.numbers for one in tables[2]), *sides):
        assert row[-1] == pytest.approx(sum(row[:-1]) / 6, abs=0.1)


def test_table_6_repeats_the_overall_values_of_table_3() -> None:
    overall = {(one.trained_on, one.model): one.numbers for one in printed_tables()[6]}
    for one in printed_tables()[3]:
        assert overall["Seg50", one.model] == (one.numbers[6], one.numbers[13])


def test_the_tables_have_as_many_rows_as_printed() -> None:
    assert {table: len(rows) for table, rows in printed_tables().items()} == {2: 3, 3: 3, 6: 6, 7: 24, 8: 4}
    assert {len(row.numbers) for row in printed_tables()[7]} == {8}


@pytest.mark.parametrize(
    ("printed", "parts", "wrong"),
    [(0.1, (0.0, 0.0, 0.0), False), (0.2, (0.0, 0.0, 0.0), True), (50.0, (49.9, 50.0, 50.1), False)],
)
def test_a_slip_is_what_rounding_to_a_tenth_cannot_explain(printed: float, parts: tuple, wrong: bool) -> None:
    assert is_slip(printed, parts) is wrong


def test_the_board_marks_slips_and_puts_this_run_in_its_place() -> None:
    own = {"model": "mine", "map_mean": 66.0, "map_C1": 60.0}
    frame = board("cvs", own)
    assert frame.height == 29
    assert frame["model"].to_list().index("mine") == 2
    assert frame.row(0, named=True)["mark"] == "mAP mean printed 69.7, its parts give 69.2"
    assert frame.filter(frame["mark"].str.contains("its parts give")).height == 3
    assert frame["conventions"].null_count() == 1  # this run brings its own with its metrics


def test_boards_of_boxes_and_masks_hold_the_classes() -> None:
    boxes = board("boxes", {"model": "mine", "bbox_map": 31.0})
    assert boxes["model"].to_list() == ["Deformable-DETR", "mine", "Faster-RCNN", "Cascade-RCNN"]
    assert boxes["tool"].to_list() == [63.7, None, 61.5, 62.4]
    classes = {row["model"]: row.get("segm_tool") for row in published_rows("masks") if row["trained_on"] == "Seg50"}
    assert classes == {"Mask-RCNN": 51.2, "Cascade-Mask-RCNN": 56.8, "Mask2Former": 63.5}


def test_every_number_of_the_board_is_printed_with_one_digit() -> None:
    source = Path(endoscapes_board.__file__).with_suffix(".toml")
    lines = [line for line in source.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    tables = "\n".join(lines)
    numbers = re.findall(r"(?<![\w.])\d+\.\d+(?! %)", tables)
    assert len(numbers) == 3 * 7 + 3 * 14 + 6 * 2 + 24 * 8 + 4 * 4
    assert all(re.fullmatch(r"\d\d?\.\d", number) for number in numbers)
