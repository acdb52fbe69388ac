import numpy as np
import polars as pl
import pytest

from shared_data import shared
from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.stats.agreement.coefficients import Units, cohen, fleiss, gwet, icc, krippendorff
from surgvalid.stats.agreement.ratings import segment_ratings, unit_ratings
from surgvalid.stats.agreement.report import agreement

COLUMNS = {"rater": "annotator", "label": "phase", "video": "video", "start": "start_s", "end": "end_s"}


def rated(videos: int = 8, units: int = 10, noise: float = 0.2, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for video in range(videos):
        for unit in range(units):
            truth = int(rng.integers(0, 3))
            for rater in ("ann", "bob", "cem"):
                said = int(rng.integers(0, 3)) if rng.random() < noise * (1 + video % 3) else truth
                rows.append((f"v{video}", f"u{unit}", rater, said))
    return pl.DataFrame(rows, schema=["video", "unit", "rater", "said"], orient="row")


def segments() -> pl.DataFrame:
    rows = [
        ("v1", "ann", 0.0, 10.0, "cut"), ("v1", "ann", 10.0, 20.0, "sew"),
        ("v1", "bob", 0.0, 12.0, "cut"), ("v1", "bob", 14.0, 20.0, "sew"),
        ("v2", "ann", 5.0, 9.0, "cut"), ("v2", "bob", 5.0, 9.5, "cut"),
        ("v3", "ann", 2.0, 4.0, "sew"),
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["video", "annotator", "start_s", "end_s", "phase"], orient="row")


def test_every_coefficient_has_an_interval_over_videos() -> None:
    table = agreement(
        rated(), unit="unit", rater="rater", label="said", video="video", scale="interval", replicates=200
    ).table
    assert set(table["coefficient"]) == {
        "agreement", "cohen kappa", "fleiss kappa", "krippendorff alpha, interval", "ICC(2,1)", "ICC(3,1)",
    }  # fmt: skip
    assert table.filter(coefficient="cohen kappa").height == 3
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()


def test_intervals_are_wider_when_videos_are_respected() -> None:
    frame = rated(units=40)
    whole = frame.with_columns(unit=pl.col("video") + pl.col("unit"))
    clustered = agreement(frame, unit="unit", rater="rater", label="said", video="video").table
    alone = agreement(whole, unit="unit", rater="rater", label="said")
    assert (
        clustered.filter(coefficient="fleiss kappa")["sd"][0] > alone.table.filter(coefficient="fleiss kappa")["sd"][0]
    )
    assert "each unit counts as independent" in " ".join(alone.warnings)


def test_perfect_agreement_is_one_and_one_label_only_is_undefined() -> None:
    frame = rated(noise=0.0)
    table = agreement(frame, unit="unit", rater="rater", label="said", video="video", replicates=30).table
    assert set(table["value"]) == {1.0}
    same = agreement(
        frame.with_columns(said=pl.lit(1)), unit="unit", rater="rater", label="said", video="video", replicates=30
    ).table
    kappa = same.filter(coefficient="cohen kappa").row(0, named=True)
    assert kappa["value"] is None
    assert "undefined" in kappa["note"]


def test_relabelling_and_order_change_no_nominal_coefficient() -> None:
    frame = rated()
    names = frame.with_columns(said=pl.col("said").replace_strict({0: "z", 1: "k", 2: "a"}, return_dtype=pl.String))
    options = {"unit": "unit", "rater": "rater", "label": "said", "video": "video", "replicates": 50}
    one = agreement(frame, **options).table
    other = agreement(names.sample(fraction=1, shuffle=True, seed=2), **options).table
    np.testing.assert_allclose(one["value"], other["value"])
    np.testing.assert_allclose(one["low"], other["low"])


def test_missing_ratings_leave_fleiss_out_and_keep_alpha() -> None:
    frame = rated().with_columns(
        said=pl.when((pl.col("unit") == "u3") & (pl.col("rater") == "bob")).then(None).otherwise("said")
    )
    result = agreement(frame, unit="unit", rater="rater", label="said", video="video", replicates=30)
    assert "fleiss kappa" not in result.table["coefficient"]
    assert "Fleiss' kappa is left out" in " ".join(result.notes)
    assert result.table.filter(coefficient="krippendorff alpha, nominal")["value"][0] is not None


def test_segments_are_rated_by_time() -> None:
    found = segment_ratings(segments(), **COLUMNS)
    assert found.raters == ["ann", "bob"]
    assert found.weights.sum() == pytest.approx(20 + 9.5 + 4)
    sampled = {"Idle": found.categories.index("Idle")}
    v1 = found.videos == 0
    agree = (found.codes[v1, 0] == found.codes[v1, 1]) @ found.weights[v1]
    assert agree == pytest.approx(10 + 6)
    v3 = found.codes[found.videos == 2]
    assert (v3[:, 1] == -1).all()
    assert v3[0, 0] == sampled["Idle"]


def test_segments_equal_units_sampled_at_every_step() -> None:
    frame = segments().filter(pl.col("video") == "v1")
    rows = []
    for second in range(20):
        for rater in ("ann", "bob"):
            mine = frame.filter(
                (pl.col("annotator") == rater) & (pl.col("start_s") <= second) & (pl.col("end_s") > second)
            )
            rows.append((f"s{second:02d}", rater, mine["phase"][0] if mine.height else "Idle"))
    sampled = pl.DataFrame(rows, schema=["unit", "annotator", "phase"], orient="row")
    by_unit = agreement(sampled, unit="unit", rater="annotator", label="phase", replicates=20).table
    by_time = agreement(frame, **COLUMNS, replicates=20).table
    np.testing.assert_allclose(by_unit["value"], by_time["value"])


def test_wrong_segments_are_all_listed() -> None:
    bad = pl.concat([segments(), pl.DataFrame(
        [("v1", "ann", 15.0, 18.0, "cut"), ("v2", "bob", 30.0, 20.0, "cut")],
        schema=["video", "annotator", "start_s", "end_s", "phase"], orient="row")])  # fmt: skip
    with pytest.raises(TableInvalid) as caught:
        agreement(bad, **COLUMNS)
    assert "overlap at 15" in str(caught.value)
    assert "30 to 20" in str(caught.value)


@pytest.mark.parametrize(("rule", "label"), [("first", "cut"), ("last", "sew")])
def test_overlaps_can_be_declared(rule: str, label: str) -> None:
    frame = pl.DataFrame({"video": ["v"] * 3, "annotator": ["a", "a", "b"], "start_s": [0.0, 5.0, 0.0],
                          "end_s": [8.0, 10.0, 10.0], "phase": ["cut", "sew", "cut"]})  # fmt: skip
    found = segment_ratings(frame, **COLUMNS, overlaps=rule)
    middle = found.codes[1, 0]
    assert found.categories[middle] == label


def test_double_ratings_and_missing_columns_are_refused() -> None:
    with pytest.raises(TableInvalid, match="rated unit 'u0' 2 times"):
        unit_ratings(pl.concat([rated(), rated().head(1)]), unit="unit", rater="rater", label="said", video="video")
    with pytest.raises(TableInvalid, match="column 'who' is missing"):
        agreement(rated(), unit="unit", rater="who", label="said")
    with pytest.raises(Misuse, match="at least two raters"):
        agreement(rated().filter(pl.col("rater") == "ann"), unit="unit", rater="rater", label="said", video="video")
    with pytest.raises(Misuse, match="either a unit column"):
        agreement(rated(), rater="rater", label="said")
    with pytest.raises(UnknownName, match="unknown scale"):
        agreement(rated(), unit="unit", rater="rater", label="said", scale="ratio")


def test_every_double_rating_is_counted() -> None:
    twice = pl.concat([rated(), rated()])
    with pytest.raises(TableInvalid, match=r"ratings: 240 problems of one kind:\n  240 like: "):
        agreement(twice, rater="rater", label="said", unit="unit", video="video")


def test_an_order_with_a_label_twice_and_endless_steps_are_misuse() -> None:
    columns = {"rater": "rater", "label": "said", "unit": "unit", "video": "video"}
    with pytest.raises(Misuse, match="'1' is named twice"):
        agreement(rated(), **columns, scale="ordinal", order=["0", "1", "1", "2"])
    with pytest.raises(Misuse, match="positive and finite, got inf"):
        agreement(segments(), **COLUMNS, step_s=float("inf"))


def test_an_ordinal_scale_needs_an_order() -> None:
    words = rated().with_columns(
        said=pl.col("said").replace_strict({0: "low", 1: "mid", 2: "top"}, return_dtype=pl.String)
    )
    options = {
        "unit": "unit",
        "rater": "rater",
        "label": "said",
        "video": "video",
        "scale": "ordinal",
        "replicates": 20,
    }
    with pytest.raises(Misuse, match="pass order"):
        agreement(words, **options)
    ordered = agreement(words, order=["low", "mid", "top"], **options).table
    numbers = agreement(rated(), **options).table
    np.testing.assert_allclose(ordered["value"], numbers["value"])


def test_one_video_has_values_without_intervals() -> None:
    result = agreement(rated(videos=1), unit="unit", rater="rater", label="said", video="video")
    assert result.table["low"].null_count() == result.table.height
    assert "one video only" in " ".join(result.warnings)


def test_coefficients_that_cannot_be_computed_are_none() -> None:
    codes = np.array([[0, 1], [1, -1], [0, 0]])
    assert fleiss(codes, Units.single(3)) is None
    assert icc(np.array([[1.0, np.nan], [2.0, 1.0]]), Units.single(2), kind="2,1") is None
    with pytest.raises(UnknownName):
        cohen(codes[:, 0], codes[:, 1], 2, Units.single(3), weights="cubic")
    with pytest.raises(UnknownName):
        krippendorff(codes, 2, Units.single(3), scale="ratio")


def test_three_people_on_fourteen_real_procedures() -> None:
    frame = pl.read_csv(shared("data", "poem", "segments.csv"))
    with pytest.raises(TableInvalid, match="overlap at 3473"):
        agreement(frame, **COLUMNS)
    table = agreement(frame, **COLUMNS, overlaps="last").table
    assert table["videos"].unique().to_list() == [14]
    kappa = table.filter(coefficient="fleiss kappa").row(0, named=True)
    assert kappa["value"] == pytest.approx(0.8945, abs=1e-3)
    assert kappa["low"] < kappa["value"] < kappa["high"]
    alpha = table.filter(coefficient="krippendorff alpha, nominal").row(0, named=True)
    assert alpha["value"] == pytest.approx(kappa["value"], abs=1e-4)


def test_gwets_ac1_is_what_counting_pairs_says():
    """By loops from Gwet 2008: units with a single rating count for nothing, each unit as much as another."""
    draw = np.random.default_rng(4)
    for _ in range(20):
        codes = draw.integers(-1, 4, (30, 3))
        agreed, shares = [], []
        for row in codes.tolist():
            said = [one for one in row if one >= 0]
            if len(said) < 2:
                continue
            pairs = [(a, b) for at, a in enumerate(said) for b in said[at + 1 :]]
            agreed.append(sum(a == b for a, b in pairs) / len(pairs))
            shares.append([said.count(k) / len(said) for k in range(4)])
        means = [sum(column) / len(shares) for column in zip(*shares, strict=True)]
        chance = sum(m * (1 - m) for m in means) / 3
        coefficient = gwet(codes, Units.single(30))
        value = coefficient.value(coefficient.statistics.sum(axis=0))
        assert value == pytest.approx((sum(agreed) / len(agreed) - chance) / (1 - chance))
