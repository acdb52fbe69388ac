"""The challenge file is checked as a whole, and times in it mean what its readers think."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import FileUnreadable, InputInvalid
from surgvalid.host.challenge.entries import is_within
from surgvalid.host.challenge.example import new_challenge
from surgvalid.host.challenge.reading import changes_between, read_challenge

START = datetime(2026, 7, 15)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_challenge(tmp_path, start=START)
    return tmp_path


def changed(folder: Path, old: str, new: str) -> Path:
    path = folder / "challenge.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_new_challenge_passes_and_its_phases_overlap(folder: Path) -> None:
    challenge = read_challenge(folder / "challenge.toml")
    pre, final = challenge.phases
    assert final.opens < pre.closes
    assert final.gate is not None
    assert final.gate.baselines == ("closed", "open")
    assert (pre.rules.hidden, final.rules.hidden) == (False, True)
    assert pre.opens == datetime(2026, 7, 14, 22, tzinfo=UTC)  # midnight in Berlin


def test_every_problem_is_listed_at_once(folder: Path) -> None:
    changed(folder, 'counted = "best"', 'counted = "luckiest"\nqutoa = 3')
    changed(folder, "shards = 2", 'shards = 0\nboards = ["technical", "beauty"]')
    changed(folder, "memory_mb = 512", "memory_mb = -1")
    changed(folder, 'rule = "focus"', 'rule = "copland"')
    changed(folder, 'phase = "pre-evaluation", least', 'phase = "warm-up", least')
    with pytest.raises(InputInvalid) as caught:
        read_challenge(folder / "challenge.toml")
    text = "\n".join(caught.value.problems)
    for words in ("counted must be one of best, last", "unknown entry 'qutoa'; did you mean 'quota'?", "shards must be",
                  "not beauty", "[submission] [run] memory_mb must be", "copland", "'warm-up'"):  # fmt: skip
        assert words in text
    assert len(caught.value.problems) >= 8  # memory_mb is wrong in both phases


def test_a_file_that_is_no_toml_is_said_to_be_none(folder: Path) -> None:
    (folder / "challenge.toml").write_text("name = [")
    with pytest.raises(FileUnreadable, match="no TOML"):
        read_challenge(folder / "challenge.toml")


@pytest.mark.parametrize("local", ["2026-03-29T02:30:00", "2026-10-25T02:30:00"])
def test_a_time_that_a_zone_has_never_or_twice_must_have_an_offset(folder: Path, local: str) -> None:
    changed(folder, "opens = 2026-07-15T00:00:00", f"opens = {local}")
    with pytest.raises(InputInvalid, match="exactly once"):
        read_challenge(folder / "challenge.toml")
    changed(folder, f"opens = {local}", f"opens = {local}+02:00")
    if "03-29" in local:
        assert read_challenge(folder / "challenge.toml").phases[0].opens.hour == 0


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)).map(lambda one: one.replace(microsecond=0)),
    st.sampled_from(("UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Auckland")),
    st.integers(-2_000_000, 2_000_000),
)
def test_the_closing_second_belongs_to_the_phase_in_every_zone(closes: datetime, zone: str, off_us: int) -> None:
    end = closes.replace(tzinfo=UTC)
    at = (end + timedelta(microseconds=off_us)).astimezone(ZoneInfo(zone))
    assert is_within(at, end - timedelta(days=1), end) == (off_us < 1_000_000)
    assert is_within(at, end, None) == (off_us >= 0)


def test_files_outside_the_folder_are_refused(folder: Path) -> None:
    changed(folder, 'questions = "data/final"', 'questions = "../other"')
    with pytest.raises(InputInvalid, match="in the folder of the challenge"):
        read_challenge(folder / "challenge.toml")


def test_the_digest_covers_texts_and_questions_and_changes_are_named(folder: Path) -> None:
    before = read_challenge(folder / "challenge.toml")
    (folder / "texts" / "rules.md").write_text("other rules")
    after = read_challenge(folder / "challenge.toml")
    assert before.digest != after.digest
    changed(folder, "quota = 10  ", "quota = 12  ")
    newest = read_challenge(folder / "challenge.toml")
    assert changes_between(after.text, newest.text) == [{"name": "phases.pre-evaluation.quota", "old": 10, "new": 12}]


@pytest.mark.parametrize("rule", ["mean-then-rank", "rank-then-mean", "test-then-rank"])
def test_a_rule_that_makes_no_board_is_refused_before_anybody_takes_part(folder: Path, rule: str) -> None:
    """With them leaderboards stayed empty, both ranked the same questions, and nobody ever qualified."""
    with pytest.raises(InputInvalid, match=r"rule must be focus.*surgvalid rank"):
        read_challenge(changed(folder, 'rule = "focus"', f'rule = "{rule}"'))
