"""Classification: hand-checked cases, scikit-learn, and bad input."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import surgvalid
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics import CLASSIFICATION


def rows(reference: str = "abab", prediction: str = "abaa") -> dict[str, list[object]]:
    return {
        "video": list("uuvv"),
        "frame": [0, 1, 0, 1],
        "reference": list(reference),
        "prediction": [label if label != "." else None for label in prediction],
    }


def random_scores(labels: int = 3, frames: int = 60, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(labels), frames)
    table = {"video": np.repeat(["u", "v", "w"], frames // 3), "second": np.tile(np.arange(frames // 3) * 0.5, 3)}
    names = [f"class {place}" for place in range(labels)]
    table["reference"] = np.array(names)[rng.integers(0, labels, frames)]
    return pl.DataFrame({**table, **{f"score:{name}": scores[:, place] for place, name in enumerate(names)}})


def test_accuracy_and_its_videos_are_as_counted_by_hand() -> None:
    result = surgvalid.evaluate("classification", rows(), metrics=["accuracy"], replicates=50)
    assert result.value("accuracy") == 0.75
    assert result.per_video["value"].to_list() == [1.0, 0.5]
    assert result.metrics.select("low", "high", "method").row(0) == (None, None, "none")
    assert [one.code for one in result.findings if one.code == "few-videos"] == ["few-videos"]
    drawn = surgvalid.evaluate("classification", rows(), metrics=["accuracy"], method="bootstrap", replicates=50)
    assert drawn.metrics.select("low", "high", "method").row(0) == (0.5, 1.0, "bootstrap")
    recall = result.per_class.filter(pl.col("metric") == "recall")
    assert recall["class"].to_list() == ["a", "b"]
    assert recall["value"].to_list() == [1.0, 0.5]
    assert recall["references"].to_list() == [2, 2]


def test_a_case_without_prediction_counts_as_wrong_and_says_so() -> None:
    result = surgvalid.evaluate("classification", rows(prediction="aba."), metrics=["accuracy"], replicates=50)
    assert result.value("accuracy") == 0.75
    assert result.scores is not None
    cases = result.scores.frame.filter(metric="correct")
    assert cases["status"].to_list() == ["answered"] * 3 + ["missing"]
    assert any("1 cases have no prediction" in note for note in result.notes)


def test_single_label_numbers_equal_scikit_learn() -> None:
    frame = random_scores()
    result = surgvalid.evaluate("classification", frame, replicates=20)
    names = [name.split(":")[1] for name in frame.columns if name.startswith("score:")]
    scores = frame.select(f"score:{name}" for name in names).to_numpy()
    predicted = np.array(names)[scores.argmax(axis=1)]
    reference = frame["reference"].to_numpy()
    assert result.value("macro_f1") == pytest.approx(sk.f1_score(reference, predicted, average="macro"))
    assert result.value("mcc") == pytest.approx(sk.matthews_corrcoef(reference, predicted))
    one_hot = reference[:, None] == np.array(names)
    assert result.value("mean_ap") == pytest.approx(sk.average_precision_score(one_hot, scores, average="macro"))
    assert result.value("macro_auroc") == pytest.approx(sk.roc_auc_score(one_hot, scores, average="macro"))
    per_video = result.per_video.filter(pl.col("metric") == "accuracy", pl.col("video") == "v")["value"].item()
    chosen = (frame["video"] == "v").to_numpy()
    assert per_video == pytest.approx(sk.accuracy_score(reference[chosen], predicted[chosen]))


def test_sets_of_labels_equal_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    truth, guess, score = rng.integers(0, 2, (40, 2)), rng.integers(0, 2, (40, 2)), rng.random((40, 2))
    columns = {f"reference:{c}": truth[:, i] for i, c in enumerate("xy")}
    columns |= {f"prediction:{c}": guess[:, i] for i, c in enumerate("xy")}
    columns |= {f"score:{c}": score[:, i] for i, c in enumerate("xy")}
    frame = pl.DataFrame({"video": ["u"] * 20 + ["v"] * 20, "frame": [*range(20), *range(20)], **columns})
    result = surgvalid.evaluate("classification", frame, replicates=20)
    assert result.value("macro_recall") == pytest.approx(sk.recall_score(truth, guess, average="macro"))
    assert result.value("mean_ap") == pytest.approx(sk.average_precision_score(truth, score, average="macro"))
    assert result.scores is not None
    assert result.scores.frame.filter(metric="set_exact")["value"].mean() == pytest.approx(
        sk.accuracy_score(truth, guess)
    )


def test_strata_are_measured_on_their_own_rows() -> None:
    table = rows() | {"smoke": ["no", "yes", "no", "yes"]}
    result = surgvalid.evaluate("classification", table, metrics=["accuracy"], by=["smoke"], replicates=50)
    found = {row["stratum_value"]: row["value"] for row in result.per_stratum.to_dicts()}
    assert found == {"no": 1.0, "yes": 0.5}
    assert result.scores is not None
    assert result.scores.strata == ["smoke"]


def test_one_video_gives_a_value_without_an_interval() -> None:
    table = {"video": ["u"] * 2, "frame": [0, 1], "reference": ["a", "b"], "prediction": ["a", "a"]}
    row = surgvalid.evaluate("classification", table, metrics=["accuracy"], replicates=10).metrics.row(0, named=True)
    assert (row["value"], row["low"], row["high"]) == (0.5, None, None)
    assert "one video only" in row["note"]


def test_every_metric_of_scores_is_known_and_every_number_has_its_conventions() -> None:
    result = surgvalid.evaluate("classification", random_scores(), replicates=10)
    classes = {f"per class: {name}" for name in result.per_class["metric"]}
    assert set(result.conventions) == {*result.metrics["metric"], *classes}
    assert all(record["estimand"] for record in result.conventions.values())
    assert result.metrics["conventions"].str.len_chars().min() > 0


def test_every_metric_of_the_family_runs_on_one_form_of_input() -> None:
    single = random_scores(labels=6)
    several = single.drop("reference").with_columns(
        (single["reference"] == f"class {place}").cast(pl.Int8).alias(f"reference:class {place}") for place in range(6)
    )
    several = several.with_columns(pl.col(f"reference:class {p}").alias(f"prediction:class {p}") for p in range(6))
    for name in CLASSIFICATION:
        table = several if name.startswith("label_") else single
        assert not math.isinf(surgvalid.evaluate("classification", table, metrics=[name], replicates=2).value(name))


def test_unknown_classes_are_listed() -> None:
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("classification", rows("abcb", "abzz"), classes=["a", "b"])
    assert caught.value.problems == [
        "column 'reference': 1 labels (c) are not among the classes (a, b)",
        "column 'prediction': 2 labels (z) are not among the classes (a, b)",
    ]


def test_scores_that_are_no_numbers_and_members_that_are_neither_0_nor_1_are_listed() -> None:
    bad = random_scores().with_columns(pl.lit("high").alias("score:class 1"))
    with pytest.raises(InputInvalid, match="60 entries are no finite numbers"):
        surgvalid.evaluate("classification", bad)
    table = {"video": ["u"], "frame": [0], "reference:x": [2], "score:x": [0.5]}
    with pytest.raises(InputInvalid, match="something else than 0 and 1"):
        surgvalid.evaluate("classification", table)


def test_what_the_table_cannot_give_is_refused() -> None:
    with pytest.raises(Misuse, match="mean_ap need scores"):
        surgvalid.evaluate("classification", rows(), metrics=["mean_ap"])
    with pytest.raises(UnknownName, match="macro_f1"):
        surgvalid.evaluate("classification", rows(), metrics=["macro_f2"])
    with pytest.raises(UnknownName, match="stratum column"):
        surgvalid.evaluate("classification", rows(), by=["nothing"])
    with pytest.raises(Misuse, match="no option fps"):
        surgvalid.evaluate("classification", rows(), fps=3.0)
    with pytest.raises(UnknownName, match="classification"):
        surgvalid.evaluate("clasification", rows())
    with pytest.raises(InputInvalid, match="no column 'reference'"):
        surgvalid.evaluate("classification", {"video": ["u"], "frame": [0], "prediction": ["a"]})


def test_f1_max_stands_beside_the_floor_it_cannot_miss() -> None:
    result = surgvalid.evaluate("classification", random_scores(), metrics=["f1_max", "f1_max_global"], replicates=20)
    assert result.metrics["metric"].to_list() == [
        *("f1_max", "f1_max_all_positive", "f1_max_global", "f1_max_global_all_positive")
    ]
    reference = np.asarray(random_scores()["reference"])
    shares = [(reference == label).mean() for label in np.unique(reference)]
    assert result.value("f1_max_all_positive") == pytest.approx(np.mean([2 * s / (1 + s) for s in shares]))
    assert result.value("f1_max") >= result.value("f1_max_all_positive")


def test_a_calibration_error_comes_with_its_bins() -> None:
    frame = random_scores()
    names = [name for name in frame.columns if name.startswith("score:")]
    raw = frame.select(names).to_numpy()
    given = raw / raw.sum(axis=1, keepdims=True)
    frame = frame.with_columns(pl.Series(name, given[:, place]) for place, name in enumerate(names))
    result = surgvalid.evaluate("classification", frame, metrics=["ece", "classwise_ece"], replicates=10)
    bins = result.tables["reliability"]
    top = bins.filter(pl.col("metric") == "ece")
    assert top["share"].sum() == pytest.approx(1.0)
    gap = (top["share"] * (top["observed"] - top["confidence"]).abs()).sum()
    assert gap == pytest.approx(result.value("ece"))
    assert bins.filter(pl.col("metric") == "classwise_ece")["task"].n_unique() == len(names)


def test_averages_say_what_other_label_policies_would_give() -> None:
    table = {"video": list("uuvv"), "frame": [0, 1, 0, 1], "reference": list("aabb"), "prediction": list("aabc")}
    given = {"metrics": ["macro_f1"], "classes": list("abcd"), "replicates": 10}
    result = surgvalid.evaluate("classification", table, **given)
    assert any("declared 0.4167, supported 0.8333, union 0.5556" in note for note in result.notes)
    values = {one: surgvalid.evaluate("classification", table, labels=one, **given) for one in ("union", "declared")}
    assert values["union"].value("macro_f1") == pytest.approx(5 / 9)
    assert values["declared"].value("macro_f1") == pytest.approx(5 / 12)
    assert "union" in values["union"].conventions["macro_f1"]["conventions"]["labels"]
    agreed = surgvalid.evaluate("classification", {**table, "prediction": list("aabb")}, replicates=10)
    assert not any("which classes count" in note for note in agreed.notes)


def test_labels_named_differently_on_the_two_sides_are_no_number() -> None:
    moments = {"video": list("uuvv"), "frame": [0, 1, 0, 1]}
    table = {**moments, "reference": ["1.0", "2.0"] * 2, "prediction": [1, 2] * 2}
    said = r"No predicted label .1, 2. occurs in the references .1.0, 2.0.. Numbers are named by --prediction-labels"
    for kind in ("classification", "phases"):
        with pytest.raises(InputInvalid, match=said):
            surgvalid.evaluate(kind, table, replicates=10)
        assert surgvalid.evaluate(kind, table, replicates=10, as_read=True).findings
        alike = surgvalid.evaluate(kind, {**table, "reference": [1, 3] * 2}, replicates=10)
        assert not [note for note in alike.notes if "No predicted label" in note]
        named = surgvalid.evaluate(kind, table, replicates=10, renamed="1:1.0+2:2.0", metrics=[METRIC_OF[kind]])
        assert named.value(METRIC_OF[kind]) == 1.0


METRIC_OF = {"classification": "accuracy", "phases": "phase_accuracy"}


def test_references_of_a_folder_are_read_as_predictions_are(tmp_path: Path) -> None:
    for side in ("ours", "theirs"):
        (tmp_path / side).mkdir()
        for video in "uv":
            (tmp_path / side / f"{video}.csv").write_text("frame,phase\n0,a\n1,b\n")
    sides = tmp_path / "theirs", tmp_path / "ours"
    with pytest.raises(InputInvalid, match="no column 'reference'"):
        surgvalid.evaluate("phases", *sides)
    assert surgvalid.evaluate("phases", *sides, columns={"prediction": "phase"}).value("phase_accuracy") == 1.0
