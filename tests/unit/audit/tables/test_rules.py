"""Each rule fires on what breaks it, with the arithmetic, and is silent where rounding explains the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import surgvalid

Row = dict[str, str]


def audit(*rows: Row, facts: dict[str, Any] | None = None, **options: Any) -> pl.DataFrame:
    cells = [
        {"table": "t", "row": f"m{number}", "column": column, "value": text}
        for number, row in enumerate(rows)
        for column, text in row.items()
    ]
    sidecar = None if facts is None else [{"table": "t", **facts}]
    return surgvalid.audit_tables(cells, facts=sidecar, **options).table


def rules(*rows: Row, **options: Any) -> list[str]:
    return audit(*rows, **options)["rule"].to_list()


def test_accuracy_is_weighted_recall_in_multi_class_tables() -> None:
    table = audit({"A": "0.09", "wR": "0.40"}, kind="multi-class")
    assert table.select("severity", "rule", "printed").rows() == [
        ("inconsistent", "accuracy-recall", "A = 0.09, wR = 0.40")
    ]
    assert "0.085 to 0.095 and 0.395 to 0.405 do not meet" in table["arithmetic"][0]
    assert rules({"A": "0.39", "wR": "0.40"}, kind="multi-class") == []
    assert rules({"A": "0.09", "wR": "0.40"}, kind="multi-label") == []


def test_jaccard_lies_between_its_bounds() -> None:
    assert rules({"F1": "0.50", "J": "0.20"}) == ["jaccard-f1"]
    assert rules({"F1": "0.50", "J": "0.52"}) == ["jaccard-f1"]
    assert rules({"F1": "0.50", "J": "0.33"}) == []
    assert rules({"Dice": "90.1", "mIoU": "75.0"}) == ["jaccard-f1"]
    assert rules({"wF1": "0.50", "wJ": "0.20"}) == ["jaccard-f1"]


def test_cut_off_digits_are_an_explanation() -> None:
    """Four times 0.399 is 1.596: cut off 0.39 and 1.59, while four times 0.39 rounded reaches 1.58 only."""
    shares = {f"x / {letter}": "0.39" for letter in "abcd"}
    assert rules({**shares, "x / Total": "1.59"}) == []
    assert rules({**shares, "x / Total": "1.62"}) == ["total"]


def test_an_f1_of_averages_is_named_as_such() -> None:
    table = audit({"P": "0.90", "R": "0.60", "F1": "0.72", "J": "0.40"})
    assert table["rule"].to_list() == ["jaccard-f1"]
    assert "harmonic mean of the averaged precision and recall" in table["meaning"][0]


def test_f1_is_at_most_the_harmonic_mean() -> None:
    assert rules({"P": "0.20", "R": "0.40", "F1": "0.35"}) == ["f1-harmonic"]
    assert rules({"P": "0.20", "R": "0.40", "F1": "0.27"}) == []
    assert rules({"P": "0.20", "R": "0.40", "F1": "0.10"}) == []
    assert rules({"P": "0.20", "R": "0.40", "F1": "0.10"}, kind="binary") == ["f1-harmonic"]


def test_jaccard_is_at_most_precision_and_recall() -> None:
    assert rules({"P": "0.90", "R": "0.30", "J": "0.35"}) == ["jaccard-bound"]
    assert rules({"P": "0.90", "R": "0.30", "J": "0.31"}) == []


def test_shares_are_whole_counts() -> None:
    table = audit({"Acc": "0.37"}, kind="multi-class", cases=36)
    assert table["rule"].to_list() == ["whole-counts"]
    assert "13/36 = 0.3611 and 14/36 = 0.3889" in table["arithmetic"][0]
    assert rules({"Acc": "0.36"}, kind="multi-class", cases=36) == []
    assert rules({"Acc": "0.27"}, kind="multi-class", cases=36) == [], "10/36 cut off"
    assert rules({"Acc": "36.9 %"}, kind="multi-class", cases=36) == ["whole-counts"]


def test_a_column_may_have_its_own_number_of_cases() -> None:
    facts = {"column": "Test", "cases": "74"}
    assert rules({"Test": "24.3"}, {"Test": "9.5"}, facts=facts) == []
    assert rules({"Test": "24.3"}, {"Test": "9.9"}, facts=facts) == ["whole-counts"]


def test_label_wise_accuracy_has_a_least_and_a_greatest_value() -> None:
    facts = {"kind": "multi-label", "prevalence": "0.60;0.50;0.40"}
    assert rules({"A": "0.30", "wR": "0.80"}, facts=facts) == ["labelwise-accuracy"]
    assert rules({"A": "0.95", "wR": "0.80"}, facts=facts) == ["labelwise-accuracy"]
    assert rules({"A": "0.60", "wR": "0.80"}, facts=facts) == []


def test_accuracy_that_is_weighted_recall_is_odd_in_multi_label_tables() -> None:
    assert rules({"A": "0.64", "wR": "0.64"}, kind="multi-label") == ["single-label-scoring"]


def test_a_search_tells_rows_that_nothing_was_found_for() -> None:
    names = ("A", "F1", "J", "P", "R", "wF1", "wJ", "wP", "wR")
    texts = ("0.09", "0.31", "0.22", "0.69", "0.30", "0.50", "0.36", "0.57", "0.54")
    row = dict(zip(names, texts, strict=True))
    table = audit(row, kind="multi-label", classes=7)
    assert table.select("severity", "rule").rows() == [("suspicious", "no-solution")]
    assert "no solution found for K = 7" in table["arithmetic"][0]
    assert rules(row | {"A": "0.80"}, kind="multi-label", classes=7) == []
    assert rules(row, kind="multi-label") == []


def test_predictors_that_always_say_the_same_are_recognised() -> None:
    yes = {"A": "0.30", "P": "0.30", "J": "0.30", "R": "1.00"}
    no = {"A": "0.70", "P": "0.00", "J": "0.00", "R": "0.00", "F1": "0.00"}
    one = {"A": "0.80", "F1": "0.22", "P": "0.20", "R": "0.25"}
    assert rules(yes, {"A": "0.9", "P": "0.9", "J": "0.8", "R": "0.9"}) == ["degenerate"]
    assert rules(no, {"A": "0.9", "P": "0.9", "J": "0.8", "R": "0.9", "F1": "0.85"}) == ["degenerate"]
    table = audit(one, {"A": "0.75", "F1": "0.37", "P": "0.40", "R": "0.55"})
    assert table["rule"].to_list() == ["degenerate", "degenerate-best"]
    assert "always names one class of 4" in table["meaning"][0]
    assert table["printed"][1] == "A = 0.80"


def test_full_recall_of_saying_yes_is_no_news() -> None:
    yes = {"A": "0.30", "P": "0.30", "J": "0.30", "R": "1.00"}
    assert "degenerate-best" not in rules(yes, {"A": "0.9", "P": "0.9", "J": "0.8", "R": "0.9"})


def test_prevalences_fix_what_always_saying_the_same_scores() -> None:
    yes = {"A": "0.23", "P": "0.23", "J": "0.23", "R": "1.00", "F1": "0.37", "wP": "0.24"}
    facts = {"kind": "multi-label", "prevalence": "24.0;17.1;27.1"}
    other = dict.fromkeys(yes, "0.50")
    assert rules(yes, other, facts=facts) == ["degenerate"]
    wrong = audit(yes, other, facts={**facts, "prevalence": "34.0;27.1;37.1"})
    assert set(wrong.filter(rule="prevalence")["printed"]) == {
        "A = 0.23",
        "P = 0.23",
        "J = 0.23",
        "F1 = 0.37",
        "wP = 0.24",
    }


def test_yes_and_no_are_right_in_turn() -> None:
    yes = {"A": "0.30", "P": "0.30", "J": "0.30", "R": "1.00", "F1": "0.45"}
    no = {"A": "0.60", "P": "0.00", "J": "0.00", "R": "0.00", "F1": "0.00"}
    table = audit(yes, no, kind="multi-label").filter(rule="prevalence")
    assert table["arithmetic"].to_list() == ["0.30 (m0) + 0.60 = 1 does not hold"]
    assert audit(yes, no | {"A": "0.70"}, kind="multi-label").filter(rule="prevalence").is_empty()


def test_bold_must_be_best_where_the_table_uses_it_so() -> None:
    rows = [{"F1": "**0.50**", "J": "0.40", "P": "0.6"}, {"F1": "0.40", "J": "**0.35**", "P": "0.5"}]
    table = audit(*rows)
    assert table.select("severity", "rule", "row", "arithmetic").rows() == [
        ("inconsistent", "bold-not-best", "m1", "0.40 (m0) > 0.35")
    ]
    assert rules({"F1": "**0.50**", "x": "1"}, {"F1": "0.50", "x": "2"}) == [], "more digits may tell them apart"
    assert rules({"Error": "**0.10**"}, {"Error": "0.20"}) == [], "smaller may be better"


def test_a_whole_row_in_bold_is_only_suspicious() -> None:
    ours = {"F1": "**0.50**", "J": "**0.40**", "P": "**0.70**"}
    table = audit(ours, {"F1": "0.40", "J": "0.35", "P": "0.80"})
    assert table.select("severity", "rule").rows() == [("suspicious", "bold-not-best")]


def test_averages_are_the_mean_of_their_members() -> None:
    good = {"mAP / C1": "42.9", "mAP / C2": "46.5", "mAP / C3": "65.1", "mAP / Avg": "51.5"}
    bad = good | {"mAP / Avg": "51.9"}
    table = audit(good, bad)
    assert table.select("severity", "rule", "row").rows() == [("inconsistent", "average", "m1")]
    assert "(42.9 + 46.5 + 65.1)/3 = 51.5" in table["arithmetic"][0]
    assert rules(good, good | {"mAP / Avg": "51.6"}) == [], "a tenth is what rounding allows"


def test_an_average_that_never_fits_may_be_weighted() -> None:
    rows = [{"C1": "40.0", "C2": "60.0", "Avg": text} for text in ("42.0", "43.0")]
    assert audit(*rows)["severity"].to_list() == ["suspicious"] * 2
    rows = [{"C1": "40.0", "C2": "60.0", "Avg": text} for text in ("72.0", "43.0")]
    assert audit(*rows)["severity"].to_list() == ["inconsistent", "suspicious"]
    rows = [{"C1": "15.6", "C2": "11.2", "Overall": text} for text in ("5.3", "7.3")]
    assert audit(*rows)["severity"].to_list() == ["note"]


@pytest.mark.parametrize(("support", "found"), [("1234", 0), ("1,234", 0), ("1254", 1)])
def test_the_cases_of_a_row_of_averages_are_a_total(support: str, found: int, tmp_path: Path) -> None:
    """What classification_report of scikit-learn prints."""
    rows = ["Grasper | 0.91 | 0.88 | 510", "Hook | 0.95 | 0.97 | 602", "Clipper | 0.70 | 0.55 | 122",
            "accuracy | | 0.89 | 1234", "micro avg | 0.89 | 0.89 | 1234",
            f"macro avg | 0.85 | 0.80 | {support}", f"weighted avg | 0.91 | 0.89 | {support}"]  # fmt: skip
    lines = ["Class | Precision | Recall | Support", "---|---|---|---", *rows]
    (tmp_path / "t.md").write_text("\n".join(f"| {line} |" for line in lines) + "\n")
    assert surgvalid.audit_tables(tmp_path / "t.md").table["rule"].to_list() == ["average"] * found


@pytest.mark.parametrize("head", ["p", "P value", "p-value"])
def test_a_p_value_of_all_is_no_average_of_those_of_parts(head: str) -> None:
    cells = [{"table": "t", "row": row, "column": head, "value": p}
             for row, p in (("North", "0.15"), ("South", "0.008"), ("All", "0.005"))]  # fmt: skip
    assert surgvalid.audit_tables(cells).table.is_empty()


def test_a_total_may_be_of_the_columns_next_to_it() -> None:
    """Videos and frames before what is annotated; the totals below say nothing of those at the right."""
    rows = [("Train", "40 | 86,304 | 48,133 | 44,887 | 93,020"), ("Val", "8 | 21,486 | 10,967 | 12,002 | 22,969"),
            ("Test", "32 | 76,000 | 40,500 | 42,330 | 82,830"),
            ("Total", "80 | 183,790 | 99,600 | 99,219 | 198,819")]  # fmt: skip
    heads = ("Videos", "Frames", "Grasper", "Hook", "Total")

    def found(changed: str) -> list[str]:
        cells = [{"table": "t", "row": row, "column": head, "value": value.replace("82,830", changed)}
                 for row, values in rows for head, value in zip(heads, values.split(" | "), strict=True)]  # fmt: skip
        return surgvalid.audit_tables(cells).table["severity"].to_list()

    assert found("82,830") == []
    assert set(found("82,380")) == {"inconsistent"}


def test_splits_sum_to_their_total() -> None:
    good = {"# / Train": "120", "# / Val": "41", "# / Test": "40", "# / Total": "201"}
    bad = {"# / Train": "6970", "# / Val": "2331", "# / Test": "1799", "# / Total": "11090"}
    table = audit(good, bad)
    assert table.select("severity", "rule", "arithmetic").rows() == [
        ("inconsistent", "total", "6970 + 2331 + 1799 = 11100, printed 11090")
    ]


def test_bold_is_held_against_the_best_value_of_all(tmp_path: Path) -> None:
    text = """| Model | F1 | J |
|---|---|---|
| Ours | | |
| a | **0.60** | **0.70** |
| b | 0.65 | 0.60 |
| Theirs | | |
| c | 0.90 | 0.50 |
"""
    (tmp_path / "t.md").write_text(text)
    table = surgvalid.audit_tables(tmp_path / "t.md").table.filter(rule="bold-not-best")
    assert table["arithmetic"].to_list() == ["0.90 (Theirs / c) > 0.60"]


@pytest.mark.parametrize(("total", "severities"), [("30", []), ("31", ["note"]), ("33", ["note"]), ("35", ["note"])])
def test_small_whole_numbers_add_up_exactly_or_are_told(total: str, severities: list[str]) -> None:
    cells = [("A", "12"), ("B", "10"), ("C", "8"), ("Total", total)]
    rows = [{"table": "t", "row": row, "column": "videos", "value": text} for row, text in cells]
    assert surgvalid.audit_tables(rows).table["severity"].to_list() == severities


def test_rounded_percentages_need_not_add_up() -> None:
    cells = [("A", "33"), ("B", "33"), ("C", "33")]
    for heading, total in (("share", "99"), ("share (%)", "98"), ("x", "100")):
        rows = [
            {"table": "t", "row": row, "column": heading, "value": text} for row, text in (*cells, ("Total", total))
        ]
        assert surgvalid.audit_tables(rows).table.is_empty()


def test_letters_joined_in_print_are_read(tmp_path: Path) -> None:
    rows = ["| Model | Speci\ufb01city | Accuracy |", "|---|---|---|", "| A | 0.80 | 0.90 |", "| B | 1.80 | 0.70 |"]
    text = "\n".join([*rows, "| C | 0.8 | \uff11.\uff12 |", ""])
    (tmp_path / "t.md").write_text(text, encoding="utf-8")
    table = surgvalid.audit_tables(tmp_path / "t.md").table
    assert set(table.select("rule", "row").rows()) == {("range", "B"), ("range", "C")}


def test_a_number_of_cases_in_other_words_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("Table 1. Accuracy (120 cases)\n\n| Model | Accuracy |\n|---|---|\n| A | 0.80 |\n")
    notes = [one.text for one in surgvalid.audit_tables(tmp_path / "t.md").findings if one.code == "fact-missing"]
    assert any("number of cases as it is read (n = ... in the caption" in note for note in notes)


def test_totals_below_a_column_are_seen_too() -> None:
    cells = [("A", "1,200"), ("B", "800"), ("Total", "2,100")]
    rows = [{"table": "t", "row": row, "column": "cases", "value": text} for row, text in cells]
    assert surgvalid.audit_tables(rows).table["rule"].to_list() == ["total"]


def test_what_is_printed_twice_is_noticed() -> None:
    row = {"A": "0.51", "F1": "0.42", "P": "0.43", "R": "0.44"}
    assert rules(row, row | {"A": "0.52"}, row) == ["repeated-row"]
    long = {"A": "0.9012", "F1": "0.8811", "R": "0.8732"}
    assert rules(long, long | {"A": "0.9013"}, long) == ["repeated-row"], "three numbers of four digits"
    assert rules({name: text[:4] for name, text in long.items()}, {name: text[:4] for name, text in long.items()}) == []
    cells = [
        {"table": table, "row": f"m{n}", "column": column, "value": text[:-1] + str(n)}
        for table in ("Table 1. One", "Table 2. Two")
        for n in range(2)
        for column, text in row.items()
    ]
    assert surgvalid.audit_tables(cells).table.select("rule", "table").rows() == [("repeated-table", "Table 2. Two")]


@pytest.mark.parametrize(("text", "found"), [("1.03", True), ("-0.10", True), ("1.00", False)])
def test_shares_have_a_range(text: str, found: bool) -> None:
    rows = [{"A": "0.90", "F1": "0.80", "P": "0.80"}, {"A": text, "F1": "0.70", "P": "0.80"}]
    assert ("range" in rules(*rows)) is found


def test_percentages_and_shares_are_told_apart() -> None:
    assert rules({"F1": "50.0", "J": "20.0"}) == ["jaccard-f1"]
    assert rules({"F1": "50.0", "J": "0.9", "P": "60.0"}) == ["jaccard-f1"], "0.9 with one decimal is a percentage here"
    assert rules({"F1": "104.0", "J": "80.0"}) == ["range", "jaccard-f1"]


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("0.80 [0.72, 0.88]", 0), ("0.80 (0.76-0.84)", 1), ("80.0 % (76.0 % to 84.0 %)", 1), ("0.80 (0.73; 0.86)", 0),
        ("0.80 [0.82, 0.90]", 2), ("0.80 [0.65, 0.95]", 0), ("0.80 ± 0.01", 0), ("1.00 [0.97, 1.00]", 0),
        ("0.8 (0.8-0.8)", 0), ("**0.80** (95% CI 0.78–0.82)", 1),
    ],
)  # fmt: skip
def test_printed_intervals_have_the_width_of_their_cases(printed: str, found: int) -> None:
    """100 cases, accuracy 0.8: 0.157 wide; half of it is too narrow, whatever the digits and the method."""
    table = audit({"Acc": printed}, kind="multi-class", cases=100)
    assert table["rule"].to_list() == ["interval"] * found
    if found == 1:
        assert "0.51 times" in table["arithmetic"][0] or "0.26 times" in table["arithmetic"][0]


def test_intervals_in_a_column_of_their_own_and_without_known_cases(tmp_path: Path) -> None:
    head = "Table 1. Results\n\n| Model | Accuracy | 95% CI |\n|---|---|---|\n"
    text = f"{head}| A | 0.80 | 0.76-0.84 |\n| B | 0.70 | [0.72, 0.78] |\n"
    (tmp_path / "t.md").write_text(text)
    known = surgvalid.audit_tables(tmp_path / "t.md", kind="multi-class", cases=100).table
    assert known.select("row", "rule").rows() == [("A", "interval"), ("B", "interval"), ("B", "interval")]
    assert surgvalid.audit_tables(tmp_path / "t.md").table.select("row", "rule").rows() == [("B", "interval")]


@pytest.mark.parametrize("ends", ["-0.002 to 0.028", "(−0.002, 0.028)", "-0.028–-0.002", "[-0.028; 0.002]"])
def test_intervals_in_a_column_of_their_own_may_hold_zero(ends: str, tmp_path: Path) -> None:
    text = f"| Model | Difference | 95% CI | p |\n|---|---|---|---|\n| A | 0.500 | {ends} | 0.003 |\n"
    (tmp_path / "t.md").write_text(text)
    (found,) = surgvalid.audit_tables(tmp_path / "t.md").table.filter(rule="interval")["arithmetic"]
    assert "0.5 does not lie between" in found


@pytest.mark.parametrize(
    "heads",
    ["95% CI low | 95% CI high", "CI_lower | CI_upper", "Lower | Upper", "LCL | UCL", "lower bound | upper bound"],
)
def test_intervals_whose_ends_have_columns_of_their_own(heads: str, tmp_path: Path) -> None:
    text = (
        f"| Model | Accuracy | {heads} |\n|---|---|---|---|\n| A | 0.80 | 0.76 | 0.84 |\n| B | 0.70 | 0.60 | 0.80 |\n"
    )
    (tmp_path / "t.md").write_text(text)
    known = surgvalid.audit_tables(tmp_path / "t.md", kind="multi-class", cases=100).table
    assert known.select("row", "rule").rows() == [("A", "interval")]


@pytest.mark.parametrize(
    ("head", "printed", "found"),
    [
        ("Accuracy (95% CI)", "0.80 ± 0.04", 1), ("Accuracy (95% CI)", "0.80 ± 0.08", 0),
        ("Accuracy", "0.80, 95% CI 0.76-0.84", 1), ("Accuracy (80% CI)", "0.80 (0.75-0.85)", 0),
        ("Accuracy (80% CI)", "0.80 (0.78-0.82)", 1), ("Accuracy (IQR)", "0.80 (0.79-0.81)", 0),
        ("Accuracy, median (range)", "0.80 (0.79-0.81)", 0),
        ("Accuracy", "0.80 [12, 13]", 0), ("Accuracy", "0.80 (5,000)", 0), ("Accuracy", "0.80 (n=12-13)", 0),
        ("Accuracy (95% CI)", "80 (76, 84)", 1),
    ],
)  # fmt: skip
def test_what_stands_behind_a_number_is_an_interval_only_where_it_reads_as_one(
    head: str, printed: str, found: int, tmp_path: Path
) -> None:
    """A half width, an interval at another level, and what is none: quartiles, citations, numbers of cases."""
    (tmp_path / "t.md").write_text(f"| Model | {head} | n |\n|---|---|---|\n| A | {printed} | 9 |\n")
    table = surgvalid.audit_tables(tmp_path / "t.md", kind="multi-class", cases=100)
    assert table.table["rule"].to_list() == ["interval"] * found
    assert table.cells["row"].to_list() == ["A", "A"]


def test_columns_of_conditions_are_no_ends_of_an_interval(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("| Model | All | Low | High |\n|---|---|---|---|\n| A | 0.80 | 0.70 | 0.75 |\n")
    assert surgvalid.audit_tables(tmp_path / "t.md", columns={"All": "accuracy"}, cases=100).table.is_empty()


def test_quartiles_are_no_interval_of_a_mean(tmp_path: Path) -> None:
    text = "Table 1. Accuracy over folds, median {}\n\n| Model | Accuracy |\n|---|---|\n| A | 0.80 (0.79-0.81) |\n"
    found = []
    for words in ("(IQR)", "with what was found"):
        (tmp_path / "t.md").write_text(text.format(words))
        found.append(surgvalid.audit_tables(tmp_path / "t.md", kind="multi-class", cases=100).table.height)
    assert found == [0, 1]


def test_a_table_without_a_known_metric_does_not_pass_in_silence() -> None:
    audit = surgvalid.audit_tables([{"table": "1", "row": "a", "column": "Model Accuracy", "value": "0.80"}])
    assert "nobody said the metric of any column" in " ".join(one.text for one in audit.findings)


def test_accuracy_of_one_class_lies_between_sensitivity_and_specificity() -> None:
    row = {"Acc": "0.95", "Sensitivity": "0.80", "Specificity": "0.90"}
    table = audit(row, kind="binary")
    assert table.select("severity", "rule").rows() == [("impossible", "accuracy-between")]
    assert (
        "(recall is 0.795 to 0.805; specificity is 0.895 to 0.905); 0.945 to 0.955 and 0.795 to 0.905 do not"
        in table["arithmetic"][0]
    )
    assert audit(row)["severity"].to_list() == ["suspicious"]
    assert rules(row, kind="multi-class") == []
    assert rules({**row, "Acc": "0.90"}, kind="binary") == []


def test_one_number_above_one_is_an_error_and_makes_no_column_of_percentages() -> None:
    texts = ["0.81", "0.92", "1.07", "0.88"]
    table = audit(*({"Dice": text} for text in texts))
    assert table.select("severity", "rule", "row").rows() == [("impossible", "range", "m2")]
    assert rules(*({"Dice": text} for text in ("0.81", "85.00", "0.92"))) == ["range"]
    assert rules(*({"AP": text} for text in ("0.3", "0.1", "12.4", "0.8"))) == []
    assert rules(*({"Accuracy": text} for text in ("0.8", "0.75", "1.31", "0.9"))) == ["range"]
    assert rules({"Accuracy": "0.81"}, {"Accuracy": "1.31"}) == ["range"]
    mixed = audit(*({"Dice": text} for text in ("0.81", "85.00", "0.92")))
    assert "not in percent beside shares" in mixed["meaning"][0]
    assert rules(*({"AP": text, "Acc": "31.05"} for text in ("0.31", "0.12", "12.40", "0.80"))) == []


def test_a_p_value_above_one_is_none() -> None:
    rows = [
        {"Dice": "0.81", "p-value": "0.03"},
        {"Dice": "0.82", "p-value": "1.30"},
        {"Dice": "0.83", "p-value": "<0.01"},
    ]
    assert audit(*rows).select("severity", "rule", "row", "printed").rows() == [
        ("impossible", "range", "m1", "p-value = 1.30")
    ]


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("45/52 (86.5%)", 0), ("45/52 (88.5%)", 1), ("86.5 % (45/52)", 0), ("0.87 (45/52)", 0), ("0.78 (45/52)", 1),
        ("45/52 (0.86)", 0), ("0.78 (2024/25)", 0), ("12 (3/4)", 0), ("0.78", 0),
    ],
)  # fmt: skip
def test_counts_beside_a_share_are_that_share(printed: str, found: int) -> None:
    assert rules({"Found": printed}) == ["counts-beside"] * found


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["120 (60.0%)", "50 (25.0%)", "30 (15.0%)"], []),
        (["120 (66.3%)", "50 (25.0%)", "30 (15.0%)"], ["suspicious"]),
        (["120 (52.0%)", "50 (25.0%)", "30 (15.0%)"], ["inconsistent"]),
        (["120 (52.0%)", "50 (45.0%)", "30 (11.0%)"], []), (["120 (52.0)", "50 (25.0)", "30 (15.0)"], []),
        (["250 (52.0%)", "50 (25.0%)", "30 (15.0%)"], []),
    ],
)  # fmt: skip
def test_counts_are_shares_of_the_cases_that_their_column_names(cells: list[str], found: list[str]) -> None:
    """Fewer cases may be known than there are, and shares of rows fit no column; what has no percent sign is a mean."""
    table = audit(*({"Training (n = 200)": cell} for cell in cells))
    assert table.select("severity", "rule").rows() == [(grade, "counts-beside") for grade in found]
    means = [{"table": "t", "row": "Age, mean (SD), %", "column": "All (n = 200)", "value": "52 (25.0)"}]
    assert surgvalid.audit_tables(means).table.is_empty()


@pytest.mark.parametrize("printed", ["71 of 73 (92.3%)", "0.92 (71 of 73)"])
def test_counts_may_be_written_in_words(printed: str) -> None:
    assert rules({"Found": printed}) == ["counts-beside"]


@pytest.mark.parametrize(
    ("head", "printed", "p", "found"),
    [
        ("Difference in Dice (95% CI)", "0.05 (0.02 to 0.08)", "0.001", ""),
        ("Difference in Dice (95% CI)", "0.05 (0.02 to 0.08)", "0.48", "suspicious"),
        ("Δ Dice (95% CI)", "−0.05 [−0.09, 0.02]", "<0.001", "suspicious"),
        ("Δ Dice (95% CI)", "−0.05 [−0.09, 0.02]", "0.04", ""), ("Dice (95% CI)", "0.85 (0.82 to 0.88)", "0.48", ""),
        ("OR (95% CI)", "2.10 (1.40–3.15)", "<0.001", ""), ("OR (95% CI)", "2.10 (1.40–3.15)", "0.61", "inconsistent"),
        ("Odds ratio (95% CI)", "0.90 (0.60–1.35)", "0.0003", "inconsistent"),
        ("Odds ratio (95% CI)", "0.90 (0.60–1.35)", "> 0.5", ""), ("HR (95% CI)", "1.50 (0.00–2.00)", "0.001", ""),
    ],
)  # fmt: skip
def test_a_p_value_agrees_with_the_interval_beside_it(head: str, printed: str, p: str, found: str) -> None:
    for name in ("P", "p value"):
        table = audit({head: printed, name: p})
        assert table.select("severity", "rule").rows() == [(found, "p-value")] * bool(found)
    assert rules({head: printed, "p value, Holm": p}) == [], "corrected p-values are of several intervals"


def test_intervals_of_what_is_no_metric_hold_their_number() -> None:
    """A difference is below 0 without being out of range, and its ends may be exchanged."""
    assert rules({"Δ Dice": "-0.1", "n": "12"}) == []
    assert rules({"Mean difference (95% CI)": "0.05 (0.09 to 0.01)"}) == ["interval"]
    assert rules({"Mean difference (95% CI)": "−0.05 (−0.09–−0.01)"}) == []
    assert rules({"Time in minutes (95% CI)": "45 (61 to 70)"}) == ["interval"]
    assert rules({"Time in minutes": "45 (61 to 70)"}) == []


def test_the_number_of_cases_is_taken_from_the_caption_with_caution(tmp_path: Path) -> None:
    text = (
        "Table 1. Results of the test set (n = 36)\n\n| Model | Accuracy | F1 |\n|---|---|---|\n| A | 0.37 | 0.30 |\n"
    )
    (tmp_path / "t.md").write_text(text)
    found = surgvalid.audit_tables(tmp_path / "t.md", kind="multi-class")
    assert found.table.select("severity", "rule").rows() == [("suspicious", "whole-counts")]
    assert "36 cases that the table names" in found.table["arithmetic"][0]


@pytest.mark.parametrize(
    ("metric", "found"), [("Sensitivity", 1), ("Specificity", 1), ("PPV", 1), ("AUC", 0), ("F1", 0)]
)
def test_intervals_of_shares_of_some_cases_are_no_narrower_than_of_all(metric: str, found: int) -> None:
    assert rules({metric: "0.80 (0.78-0.82)"}, kind="binary", cases=100) == ["interval"] * found
    assert rules({metric: "0.80 (0.70-0.90)"}, kind="binary", cases=100) == []
