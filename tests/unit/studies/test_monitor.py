from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.stats.planning.monitoring import capital, capital_by_date, detectable_shift


def videos(count: int, start: int, *, value: float, smoke: float, rng: np.random.Generator, bleed: float = 1.0) -> list:
    rows = []
    for number in range(start, start + count):
        ease = rng.normal(0, 0.08)
        for case in range(int(rng.integers(4, 12))):
            for model in "AB":
                rows.append(
                    {"model": model, "case": f"{number}-{case}", "video": f"v{number}", "metric": "score",
                     "value": value + ease + rng.normal(0, 0.1), "smoke": str(rng.random() < smoke),
                     "blood_ml": rng.gamma(2.0, 10.0 * bleed),
                     "date": f"2026-{1 + number // 20:02d}-{1 + number % 20:02d}"}
                )  # fmt: skip
    frame = pl.DataFrame(rows)
    first = frame.filter(pl.col("model") == "A").select("case", "smoke", "blood_ml")
    return frame.drop("smoke", "blood_ml").join(first, on="case", how="left").to_dicts()


def table(seed: int = 0, *, value: float = 0.7, smoke: float = 0.3, bleed: float = 1.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        [*videos(40, 0, value=0.7, smoke=0.3, rng=rng), *videos(20, 40, value=value, smoke=smoke, rng=rng, bleed=bleed)]
    )


def watch(frame: pl.DataFrame, **options) -> surgvalid.MonitorResult:
    return surgvalid.monitor(frame, since="2026-03-01", better="larger", **options)


def test_nothing_new_raises_no_alarm_and_says_that_this_proves_nothing():
    result = watch(table())
    assert result.alarms.is_empty()
    row = result.table.filter((pl.col("kind") == "value") & (pl.col("model") == "A")).row(0, named=True)
    assert f"A change by {row['min_detectable']:.2g} of A (from {row['validation']:.3g})" in result.title
    assert "a smaller one may have gone unseen" in result.title
    assert result.table["min_detectable"].is_not_null().all()


def test_a_drop_is_called_worse():
    result = watch(table(value=0.55))
    assert set(result.alarms.filter(pl.col("kind") == "value")["model"]) == {"A", "B"}
    assert set(result.alarms["verdict"]) == {"worse"}
    row = result.table.filter((pl.col("kind") == "value") & (pl.col("model") == "A")).row(0, named=True)
    frame = table(value=0.55).filter(pl.col("model") == "A")
    new = pl.col("date") >= "2026-03-01"
    assert row["new"] == pytest.approx(frame.filter(new)["value"].mean())
    assert row["validation"] == pytest.approx(frame.filter(~new)["value"].mean())
    assert row["low"] < row["change"] < row["high"] < 0


def test_another_case_mix_and_a_drifting_property_are_named():
    result = watch(table(smoke=0.8, bleed=2.0))
    alarms = {(row["kind"], row["column"], row["verdict"]) for row in result.alarms.to_dicts()}
    assert ("mix", "smoke", "more") in alarms
    assert ("property", "blood_ml", "more") in alarms
    assert not {kind for kind, _, _ in alarms} & {"value"}


def drawn(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    makers = {"normal": rng.normal, "skewed": lambda size: rng.gamma(1.0, 1.0, size),
              "binary": lambda size: (rng.random(size) < 0.8).astype(float)}  # fmt: skip
    return makers[kind](size=count)


@pytest.mark.parametrize("kind", ["normal", "skewed", "binary"])
def test_twenty_looks_at_nothing_keep_the_level(kind: str):
    """1,000 monitored models in which nothing changes, looked at after every third of 60 new videos."""
    rng = np.random.default_rng(5)
    alarms = sum((capital(drawn(kind, 80, rng), 20, fall=0.9)[2::3] >= 20).any() for _ in range(1000))
    assert alarms / 1000 <= 0.05


@pytest.mark.parametrize("kind", ["normal", "binary"])
def test_the_bet_is_fair_whatever_was_seen_before(kind: str):
    """Over all ranks that the next video can have, ties included, the capital is on average what it was."""
    rng = np.random.default_rng(8)
    numbers = drawn(kind, 9, rng)
    orders = [np.concatenate([np.delete(numbers, last), numbers[last : last + 1]]) for last in range(9)]
    assert np.mean([capital(one, 8, fall=0.3)[0] for one in orders]) == pytest.approx(1.0, abs=1e-12)


def test_a_fall_of_one_standard_deviation_is_seen_in_most_of_forty():
    """35 old and 15 new videos; shuffled and shared by twelve looks and all checks, it was seen in 12 of 40."""
    rng, found = np.random.default_rng(12), 0
    for _ in range(40):
        value = np.concatenate([rng.normal(0, 1, 35), rng.normal(-1, 1, 15)])
        names = [f"v{number:02d}" for number in range(50)]
        rows = {"model": "A", "case": names, "video": names, "value": value, "day": list(range(50)),
                "smoke": [str(number % 3) for number in range(50)]}  # fmt: skip
        result = surgvalid.monitor(pl.DataFrame(rows), since="35", time_column="day", better="larger")
        found += "value" in result.alarms["kind"].to_list()
    assert found >= 20


@pytest.mark.parametrize(("before", "after"), [(35, 15), (20, 6), (60, 40)])
def test_what_would_have_been_seen_is_seen_four_times_in_five(before: int, after: int):
    shift, rng = detectable_shift(before, after, 0.025), np.random.default_rng(3)
    later = np.arange(before + after) >= before
    seen = [capital(rng.normal(-shift * later, 1.0), before, fall=0.9).max() >= 40 for _ in range(400)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.1)


def test_an_alarm_stays_and_does_not_depend_on_when_one_looks():
    frame = table(seed=3, value=0.55)
    early = frame.filter(pl.col("date") < "2026-03-16")
    assert watch(early).alarms.height
    first = {(row["kind"], row["model"]) for row in watch(early).alarms.to_dicts()}
    assert first <= {(row["kind"], row["model"]) for row in watch(frame).alarms.to_dicts()}


def test_too_few_new_videos_say_that_silence_means_nothing():
    frame = table().filter(pl.col("date") < "2026-03-03")
    result = watch(frame)
    assert "alarm-unreachable" in [one.code for one in result.findings]
    assert "no proof" in result.title
    with pytest.raises(Misuse, match="each period needs 2"):
        surgvalid.monitor(frame, since="2026-03-02", better="larger")


def test_times_that_cannot_be_compared_are_refused_with_every_problem():
    frame = table()
    with pytest.raises(UnknownName, match="column of times"):
        surgvalid.monitor(frame.drop("date"), since="2026-03-01", better="larger")
    with pytest.raises(Misuse, match="ISO dates"):
        surgvalid.monitor(frame, since="March", better="larger")
    torn = frame.with_columns(
        date=pl.when(pl.col("case") == "3-0").then(pl.lit("2026-04-01")).when(pl.col("video") == "v5").then(None)
        .otherwise(pl.col("date"))
    )  # fmt: skip
    with pytest.raises(TableInvalid) as caught:
        watch(torn)
    assert caught.value.problems == ["video 'v3' lies before and after 2026-03-01", "video 'v5' has no date"]
    with pytest.raises(Misuse, match="holds numbers"):
        surgvalid.monitor(frame.with_columns(date=pl.lit(1.0)), since="2026-03-01", better="larger")


def test_a_plain_table_with_a_date_for_every_patient_is_watched():
    """Dates have as many values as there are patients, so they were left out as names are."""
    rng = np.random.default_rng(2)
    value = np.clip(np.concatenate([rng.normal(0.85, 0.03, 30), rng.normal(0.6, 0.03, 15)]), 0, 1)
    days = [f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}" for number in range(45)]
    wide = pl.DataFrame(
        {"patient": [f"P{n:02d}" for n in range(45)], "unet": value, "swin": value - 0.01, "date": days}
    )
    result = surgvalid.monitor(wide, since=days[30], metric="dice", better="larger")
    assert set(result.alarms["model"]) == {"unet", "swin"}


def test_the_verb_ends_with_one_on_an_alarm_and_writes_a_page(tmp_path: Path):
    table(value=0.5).write_csv(tmp_path / "t.csv")
    words = ["monitor", str(tmp_path / "t.csv"), "--since", "2026-03-01", "--better", "larger"]
    done = CliRunner().invoke(build_app(), [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 1, done.output
    assert "raise an alarm" in done.output
    if (tmp_path / "out" / "monitor.html").exists():
        assert "Every video in its turn" in (tmp_path / "out" / "monitor.html").read_text(encoding="utf-8")


def test_names_of_videos_of_one_date_decide_nothing() -> None:
    """The p-value was .059 or .007 by who came first in the alphabet."""
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(0.8, 0.05, 30), rng.normal(0.76, 0.05, 20)])
    found = set()
    by_value = np.concatenate([np.arange(30), 30 + np.argsort(values[30:])])
    for names in (np.arange(50), np.arange(50)[::-1], rng.permutation(50), by_value):
        rows = {
            "model": ["A"] * 50, "case": [f"v{n:02d}" for n in names], "video": [f"v{n:02d}" for n in names],
            "value": values, "date": ["2026-01-01"] * 30 + [f"2026-02-{1 + n // 5:02d}" for n in range(20)],
        }  # fmt: skip
        result = surgvalid.monitor(rows, since="2026-02-01", better="larger")
        found.add(round(result.table.filter(pl.col("kind") == "value")["p_value"].item(), 12))
    assert len(found) == 1


def test_an_average_over_orders_of_a_date_keeps_the_level() -> None:
    """The capital at the end of a date is 1 on average while nothing changes, however its videos are listed."""
    rng = np.random.default_rng(4)
    ends = []
    for _ in range(150):
        numbers, dates = rng.normal(size=24), np.repeat(np.arange(3), 4)
        numbers[12:] = np.sort(numbers[12:].reshape(3, 4), axis=1).ravel()
        ends.append(capital_by_date(numbers, dates)[-1])
    assert np.mean(ends) == pytest.approx(1.0, abs=3 * np.std(ends) / np.sqrt(len(ends)))


def one_per_patient() -> pl.DataFrame:
    """A value per patient and model, without a status that says why one is missing; A falls in the new patients."""
    rng = np.random.default_rng(8)
    rows = [
        {"patient": f"p{patient:02}", "model": model, "dice": float(rng.normal(0.6 if patient > 39 and model == "A"
         else 0.8, 0.05)), "date": f"2026-{1 + patient // 20:02d}-{1 + patient % 20:02d}"}
        for patient in range(60) for model in "AB"
    ]  # fmt: skip
    return pl.DataFrame(rows)


@pytest.mark.parametrize("as_rows", [True, False])
def test_what_one_model_lacks_takes_no_patient_from_another(as_rows: bool) -> None:
    gone = (pl.col("model") == "B") & (pl.col("date") >= "2026-03-01") & (pl.col("date") != "2026-03-01")
    frame = one_per_patient()
    holes = (
        frame.filter(~gone) if as_rows else frame.with_columns(dice=pl.when(gone).then(None).otherwise(pl.col("dice")))
    )
    falls = [watch(one).alarms.filter(pl.col("kind") == "value", pl.col("model") == "A") for one in (frame, holes)]
    assert falls[0]["videos_new"].to_list() == falls[1]["videos_new"].to_list() == [20]


@pytest.mark.parametrize("as_rows", [True, False])
def test_missing_scores_of_half_of_the_new_patients_raise_an_alarm(as_rows: bool) -> None:
    frame = one_per_patient()
    gone = (pl.col("model") == "B") & (pl.col("date") >= "2026-03-01") & pl.col("patient").str.ends_with("1")
    gone |= (pl.col("model") == "B") & (pl.col("date") >= "2026-03-01") & pl.col("patient").str.contains("[3579]$")
    holes = (
        frame.filter(~gone) if as_rows else frame.with_columns(dice=pl.when(gone).then(None).otherwise(pl.col("dice")))
    )
    result = watch(holes)
    alarms = result.alarms.filter(pl.col("kind") == "missing")
    assert alarms.select("model", "verdict", "new").rows() == [("B", "more", 0.5)]
    assert any(
        "share of cases without a score of B: 0 in the validation, 0.5 since" in one.text for one in result.findings
    )
    assert watch(frame).table.filter(pl.col("kind") == "missing").is_empty()


def test_a_model_without_scores_where_it_is_bad_raises_an_alarm_for_what_is_missing() -> None:
    """Whole videos lack scores, so that the values that are left show no fall."""
    frame = table(value=0.55).filter(pl.col("model") == "A")
    lost = (pl.col("date") >= "2026-03-01") & (pl.col("value").mean().over("video") < 0.62)
    result = watch(frame.with_columns(value=pl.when(~lost).then("value")))
    assert result.alarms.filter(pl.col("kind") == "missing")["verdict"].to_list() == ["more"]
    assert result.table.filter(pl.col("kind") == "value")["videos_new"].item() < 20


def test_where_values_never_varied_any_change_can_raise_an_alarm() -> None:
    frame = table().filter(pl.col("model") == "A").drop("smoke", "blood_ml").with_columns(value=pl.lit(1.0))
    still = watch(frame)
    assert not any(one.code == "alarm-unreachable" for one in still.findings)
    assert "A change by any amount of A (from 1) would have been seen" in still.title
    assert "smaller" not in still.title
    fallen = watch(frame.with_columns(value=pl.when(pl.col("date") >= "2026-03-01").then(0.8).otherwise("value")))
    assert fallen.alarms["verdict"].to_list() == ["worse"]


def growing(videos: int) -> pl.DataFrame:
    """40 videos with two devices, then new ones that bring the devices one after the other, and one without a score."""
    rng = np.random.default_rng(8)
    drawn = rng.normal(size=(60, 2))
    rows = [
        {"model": "A", "video": f"v{number:02d}", "case": f"c{number:02d}", "day": number,
         "score": None if number == 55 else 0.7 + 0.05 * drawn[number, 0],
         "blood_ml": drawn[number, 1] + 4.0 * (number >= 40),
         "device": f"d{number % 10}" if number < 40 else f"d{(number - 40) // 2}"}
        for number in range(videos)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_the_share_of_a_check_does_not_depend_on_what_came_in_since():
    """Shared by the checks that could be made at a look, early looks spent more than late ones, and no level held."""
    shares = set()
    for count in (46, 50, 54, 58, 60):
        changes = surgvalid.monitor(
            growing(count), since="40", time_column="day", better="larger", missing="drop-score"
        )
        rows = changes.table.filter(pl.col("p_adjusted") < 1)
        shares |= {(row["kind"], round(row["p_value"] / row["p_adjusted"], 9)) for row in rows.to_dicts()}
    assert "property" in {kind for kind, _ in shares}, "else nothing was looked at"
    assert len(shares) == len({kind for kind, _ in shares})


def test_labels_that_are_new_take_no_column_from_what_is_watched():
    frame = growing(60)
    many = frame.with_columns(device=pl.when(pl.col("day") >= 50).then("case").otherwise("device"))
    watched = surgvalid.monitor(many, since="40", time_column="day", better="larger", missing="drop-score").table
    assert "device" in watched["column"].to_list()
