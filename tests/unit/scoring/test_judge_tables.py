from pathlib import Path

import polars as pl
import pytest

from judge_cases import Saying
from small_questions import answers, questions
from surgvalid.errors import Misuse
from surgvalid.judges import Verdict
from surgvalid.scoring.run import score

REQUESTS, REFERENCES = questions()
RESPONSES = answers("moody", REQUESTS, REFERENCES, seed=1)


def judges() -> list[Saying]:
    exact = Saying("a", lambda case: Verdict(case.candidate == case.reference, "judged", tokens=100))
    moody = Saying("b", lambda case: Verdict(len(case.case) % 2 == 0, "judged", tokens=300))
    silent = Saying("c", lambda case: Verdict(None, "abstained", tokens=7))
    return [exact, moody, silent]


def test_agreement_between_judges_stands_in_the_result_with_its_interval(tmp_path: Path) -> None:
    result = score(REQUESTS, REFERENCES, RESPONSES, judges=judges()[:2], replicates=50)
    table = result.tables["judge_agreement"]
    verdicts = pl.DataFrame(result.verdicts).pivot(on="judge", index="qID", values="verdict")
    percent = table.filter(pl.col("coefficient").str.contains("(?i)percent|agreement"))["value"][0]
    assert percent == pytest.approx((verdicts["a"] == verdicts["b"]).mean())
    row = table.row(0, named=True)
    assert row["low"] <= row["value"] <= row["high"]
    assert row["videos"] > 1
    result.to_dir(tmp_path / "out")
    assert (tmp_path / "out" / "judge_agreement.csv").exists()
    assert "judge_agreement" in result.screen()


def test_one_opinion_is_no_agreement() -> None:
    alone = score(REQUESTS, REFERENCES, RESPONSES, judges=[judges()[0]], replicates=5)
    beside_silence = score(REQUESTS, REFERENCES, RESPONSES, judges=judges()[::2], replicates=5)
    assert "judge_agreement" not in alone.tables
    assert "judge_agreement" not in beside_silence.tables


def test_prices_become_money() -> None:
    result = score(REQUESTS, REFERENCES, RESPONSES, judges=judges()[:2], prices=[2.0, 0.5], replicates=5)
    table = result.tables["judges"]
    assert table["money"].to_list() == pytest.approx(
        [t * p / 1e6 for t, p in zip(table["tokens"], [2, 0.5], strict=True)]
    )
    with pytest.raises(Misuse, match="1 prices for 2 judges"):
        score(REQUESTS, REFERENCES, RESPONSES, judges=judges()[:2], prices=[1.0])
    with pytest.raises(Misuse, match="per million tokens, got -1"):
        score(REQUESTS, REFERENCES, RESPONSES, judges=judges()[:1], prices=[-1.0])
