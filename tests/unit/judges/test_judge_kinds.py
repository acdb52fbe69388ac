import subprocess
import sys
from pathlib import Path

import pytest

from judge_cases import a_case
from surgvalid import judges
from surgvalid.errors import ExtraNeeded, FileUnreadable, Misuse, UnknownName
from surgvalid.judges import JUDGES, open_judge
from surgvalid.judges.exact import tidied


def test_the_exported_names_are_the_contract() -> None:
    contract = {"JudgeCase", "Verdict", "Judge", "Vote", "PanelDecision", "Panel", "open_judge", "VerdictStore"}
    workbench = {
        "ReportingJudge",
        "JUDGES",
        "verdict_row",
        "check_judge",
        "check_size",
        "CheckReport",
        "CheckInterrupted",
    }
    workbench |= {"in_official_protocol", "calibrate", "CalibrationReport", "side_by_side", "open_judges"}
    assert set(judges.__all__) == contract | workbench | {"agreement_of", "Agreement", "VERDICT_STATES"}


def test_a_new_kind_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "USAGE = 'coin'\nclass Coin:\n    name = 'coin'\ndef build(argument):\n    return Coin()\n"
    (tmp_path / "coin.py").write_text(source)
    monkeypatch.setattr(judges, "__path__", [str(tmp_path)])
    assert list(JUDGES) == ["coin"]
    assert open_judge("coin").name == "coin"


def test_opening_one_kind_imports_no_other() -> None:
    code = (
        "import sys; from surgvalid.judges import JUDGES, open_judge; open_judge('exact'); list(JUDGES);"
        "print([m for m in"
        " ('httpx', 'torch', 'surgvalid.judges.openai', 'surgvalid.judges.local') if m in sys.modules])"
    )
    env = {"PYTHONPATH": str(Path(judges.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_kind_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="unknown judge 'opnai'; did you mean 'openai'"):
        open_judge("opnai:m@http://x")


@pytest.mark.parametrize("spec", ["_case", "__init__", "", "exact.py", "../exact"])
def test_private_files_and_paths_are_no_kinds(spec: str) -> None:
    with pytest.raises(UnknownName):
        open_judge(spec)


@pytest.mark.parametrize("spec", ["cached", "cached:", "cached: ", "openai", "local:"])
def test_a_kind_that_needs_something_says_what(spec: str) -> None:
    with pytest.raises(Misuse, match="says too little; write"):
        open_judge(spec)


@pytest.mark.parametrize("spec", ["exact:x", "none:"])
def test_a_kind_that_needs_nothing_refuses_something(spec: str) -> None:
    with pytest.raises(Misuse, match="takes nothing after its name"):
        open_judge(spec)


def test_the_local_judge_names_the_extra_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExtraNeeded, match=r"judge 'local' needs torch; install surgvalid\[local-models\]"):
        open_judge(f"local:{tmp_path}")


def test_a_cached_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileUnreadable, match="No such file"):
        open_judge("cached:nowhere.jsonl")


@pytest.mark.parametrize(
    "candidate",
    ["Cystic Duct", " cystic\u00a0 duct\n", "cystic duct.", "cystic duct .", "ｃｙｓｔｉｃ duct", "CYSTIC DUCT"],
)
def test_exact_overlooks_case_space_width_and_one_period(candidate: str) -> None:
    assert open_judge("exact").judge([a_case(candidate)])[0].correct is True


@pytest.mark.parametrize("candidate", ["", "cystic duct..", "the cystic duct", "cysticduct", "cystic duct!", "duct"])
def test_exact_overlooks_nothing_else(candidate: str) -> None:
    verdict = open_judge("exact").judge([a_case(candidate)])[0]
    assert (verdict.correct, verdict.state) == (False, "judged")


def test_tidying_folds_letters_that_have_two_spellings() -> None:
    assert tidied("GEFÄSS") == tidied("Gefa\u0308ß")
