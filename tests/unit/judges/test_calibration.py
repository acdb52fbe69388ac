import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import Misuse
from surgvalid.judges import calibrate


def a_file(path: Path, judge: str, verdicts: dict[int, bool | None]) -> Path:
    rows = [
        {"judge": judge, "qID": f"q{i}", "reference": "r", "candidate": "c", "verdict": said}
        for i, said in verdicts.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rates_are_those_counted_by_hand(tmp_path: Path) -> None:
    gold = a_file(tmp_path / "gold.jsonl", "people", {0: True, 1: True, 2: False, 3: False, 4: None, 5: True})
    judge = a_file(
        tmp_path / "j.jsonl", "j", {0: True, 1: False, 2: False, 3: False, 4: True, 5: None, 6: True, 7: True}
    )
    (found,) = calibrate(gold, [judge]).judges
    assert (found.right, found.wrong, found.undecided) == ((1, 2), (2, 2), 1)
    assert (found.accepted, found.judged) == (4, 7)
    row = found.row()
    assert (row["sensitivity"], row["specificity"]) == (0.5, 1.0)
    assert row["corrected"] == 1.0
    assert row["bias"] == pytest.approx(4 / 7 - 1)


def test_the_correction_finds_the_share_that_people_would_have_given(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    truth = rng.random(4000) < 0.35
    said = np.where(truth, rng.random(4000) < 0.92, rng.random(4000) < 0.3)
    judge = a_file(tmp_path / "j.jsonl", "lenient", {i: bool(v) for i, v in enumerate(said)})
    gold = a_file(tmp_path / "gold.jsonl", "people", {i: bool(truth[i]) for i in range(800)})
    row = calibrate(gold, [judge]).table.row(0, named=True)
    assert row["accepted"] > 0.48
    assert row["corrected_low"] < 0.35 < row["corrected_high"]
    assert row["corrected"] == pytest.approx(truth.mean(), abs=0.04)
    assert row["bias"] == pytest.approx(row["accepted"] - row["corrected"])


def test_a_gold_set_that_cannot_serve_is_refused(tmp_path: Path) -> None:
    judge = a_file(tmp_path / "j.jsonl", "j", {0: True})
    with pytest.raises(Misuse, match="no gold answer was judged by j"):
        calibrate(a_file(tmp_path / "a.jsonl", "people", {9: True}), [judge])
    with pytest.raises(Misuse, match="no answer that people call right or wrong"):
        calibrate(a_file(tmp_path / "b.jsonl", "people", {0: None}), [judge])
    both = a_file(tmp_path / "c.jsonl", "one", {0: True})
    both.write_text(both.read_text() + both.read_text().replace("one", "two"))
    with pytest.raises(Misuse, match="several people"):
        calibrate(both, [judge])


def test_a_share_that_the_errors_do_not_allow_is_said(tmp_path: Path) -> None:
    gold = a_file(tmp_path / "gold.jsonl", "people", {i: i % 2 == 0 for i in range(80)})
    said = {i: (i % 2 == 0 and i % 10 != 0) for i in range(80)} | dict.fromkeys(range(80, 400), True)
    (caution,) = calibrate(gold, [a_file(tmp_path / "j.jsonl", "j", said)]).warnings
    assert "accepts more answers than its errors on the gold answers allow" in caution
    (caution,) = calibrate(
        a_file(tmp_path / "g.jsonl", "people", {i: i < 40 for i in range(80)}),
        [a_file(tmp_path / "k.jsonl", "k", {i: i < 50 for i in range(400)})],
    ).warnings
    assert "accepts fewer answers" in caution


def test_a_judge_without_wrong_gold_answers_is_not_called_a_guesser(tmp_path: Path) -> None:
    gold = a_file(tmp_path / "gold.jsonl", "people", dict.fromkeys(range(40), True))
    cautions = calibrate(gold, [a_file(tmp_path / "j.jsonl", "j", dict.fromkeys(range(40), True))]).warnings
    assert cautions[-1] == "j: no wrong gold answer has its opinion, so nothing can be corrected"


def test_the_verb_warns_of_few_gold_answers_and_of_judges_that_guess(tmp_path: Path) -> None:
    gold = a_file(tmp_path / "gold.jsonl", "people", {0: True, 1: False})
    judge = a_file(tmp_path / "j.jsonl", "j", {0: False, 1: True})
    result = CliRunner().invoke(build_app(), ["score", "judge", "calibrate", str(judge), "--gold", str(gold)])
    assert result.exit_code == 0
    assert "only 1 right and 1 wrong gold answers" in result.stderr
    assert "no better than chance" in result.stderr
    assert "sensitivity" in result.stdout


def test_the_verb_prints_the_object_of_a_result_as_json(tmp_path: Path) -> None:
    gold = a_file(tmp_path / "gold.jsonl", "people", {0: True, 1: False})
    judge = a_file(tmp_path / "j.jsonl", "j", {0: True, 1: False})
    judge.write_text(judge.read_text() + '{"judge": "j", "qID"')
    done = CliRunner().invoke(build_app(), ["score", "judge", "calibrate", str(judge), "--gold", str(gold), "--json"])
    data = json.loads(done.stdout)
    assert set(data) == {"rows", "prose", "warnings", "notes"}
    assert [(row["judge"], row["sensitivity"]) for row in data["rows"]] == [("j", 1.0)]
    assert any("only 1 right and 1 wrong gold answers" in warning for warning in data["warnings"])
    assert any("set aside" in warning for warning in data["warnings"])
    report = calibrate(gold, [judge])
    assert report.as_dict() == data
    assert report.request.verb == "judge calibrate"
