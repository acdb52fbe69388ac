from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import surgeval
from surgeval.cli import build_app
from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.stats.monitoring import shuffled_p
from surgeval.stats.watched import Check


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


def watch(frame: pl.DataFrame, **options) -> surgeval.MonitorResult:
    return surgeval.monitor(frame, since="2026-03-01", better="larger", **{"replicates": 499, **options})


def test_nothing_new_raises_no_alarm_and_says_that_this_proves_nothing():
    result = watch(table())
    assert result.alarms.is_empty()
    assert "no proof" in result.title
    assert result.table["min_detectable"].is_not_null().all()
    assert "single-look" in [one.code for one in result.findings]


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


def test_alarms_without_a_change_are_as_rare_as_promised():
    """300 studies of nine checks in which nothing changed; docs/validate_monitor.py has thousands."""
    alarms, studies = 0, 300
    for seed in range(studies):
        rng = np.random.default_rng(10_000 + seed)
        sizes = rng.integers(1, 9, 30).astype(float)
        checks = [
            Check("value", "", "", "m", sizes * rng.gamma(1.0, 1.0, 30), np.where(rng.random(30) < 0.8, sizes, 0.0))
            for _ in range(9)
        ]
        checks = [one._replace(totals=np.where(one.sizes > 0, one.totals, 0.0)) for one in checks]
        _, together = shuffled_p(checks, np.arange(30) >= 20, 199, rng)
        alarms += bool((together <= 0.05).any())
    assert alarms / studies == pytest.approx(0.05, abs=0.035)


def test_more_looks_ask_for_more_evidence():
    frame = table(seed=3, value=0.65)
    one, many = (watch(frame, looks=looks, replicates=1999) for looks in (1, 50))
    assert one.table["p_adjusted"].equals(many.table["p_adjusted"])
    assert one.alarms.height == (one.table["p_adjusted"] <= 0.05).sum()
    assert many.alarms.height == (one.table["p_adjusted"] <= 0.001).sum()
    assert "single-look" not in [finding.code for finding in many.findings]


def test_too_few_new_videos_say_that_silence_means_nothing():
    frame = table().filter(pl.col("date") < "2026-03-03")
    result = watch(frame, looks=400, replicates=9999)
    assert "alarm-unreachable" in [one.code for one in result.findings]
    with pytest.raises(Misuse, match="each period needs 2"):
        surgeval.monitor(frame, since="2026-03-02", better="larger")


def test_times_that_cannot_be_compared_are_refused_with_every_problem():
    frame = table()
    with pytest.raises(UnknownName, match="column of times"):
        surgeval.monitor(frame.drop("date"), since="2026-03-01", better="larger")
    with pytest.raises(Misuse, match="ISO dates"):
        surgeval.monitor(frame, since="March", better="larger")
    torn = frame.with_columns(
        date=pl.when(pl.col("case") == "3-0").then(pl.lit("2026-04-01")).when(pl.col("video") == "v5").then(None)
        .otherwise(pl.col("date"))
    )  # fmt: skip
    with pytest.raises(TableInvalid) as caught:
        watch(torn)
    assert caught.value.problems == ["video 'v3' lies before and after 2026-03-01", "video 'v5' has no date"]
    with pytest.raises(Misuse, match="draw 999 or more"):
        watch(frame, looks=50)
    with pytest.raises(Misuse, match="holds numbers"):
        surgeval.monitor(frame.with_columns(date=pl.lit(1.0)), since="2026-03-01", better="larger")


def test_the_verb_ends_with_one_on_an_alarm_and_writes_a_page(tmp_path: Path):
    table(value=0.5).write_csv(tmp_path / "t.csv")
    words = ["monitor", str(tmp_path / "t.csv"), "--since", "2026-03-01", "--better", "larger", "--boot", "199"]
    done = CliRunner().invoke(build_app(), [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 1, done.output
    assert "raise an alarm" in done.output
    if (tmp_path / "out" / "monitor.html").exists():
        assert "Every video in its turn" in (tmp_path / "out" / "monitor.html").read_text(encoding="utf-8")
