"""An export can be given away: what is not published stays out of it, and no text in it acts in a spreadsheet."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from host_service import Clock, patch_clock
from host_world import World, payable_board, small_world
from surgvalid.host import exports
from surgvalid.host.acts import boards, gates, prizes, publishing
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.people.models import Team

SECRET = ("0.61234567", "0.58765432", "777.25")


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A final whose prizes are signed and whose leaderboard waits for its publication."""
    world = small_world(home)
    snapshot = payable_board(world)
    clock = Clock()
    clock.at = current_challenge().phase("final").closes + timedelta(days=1)
    patch_clock(monkeypatch, clock)
    proposal = prizes.propose_prizes("user-1", snapshot)
    amounts = {f"team-{world.team.pk}": 777.25}
    prizes.sign_prizes("user-1", proposal, world.people["owner"], amounts=amounts, reason="as agreed")
    gates.decide_by_hand("user-1", world.team, "final", opened=True, reason="a mistake of ours")
    return world


def rows(place: Path, table: str, **wanted: str) -> list[dict[str, object]]:
    frame = pl.read_parquet(place / f"{table}.parquet")
    for name, value in wanted.items():
        frame = frame.filter(pl.col(name) == value) if name in frame.columns else frame.clear()
    return frame.to_dicts()


def words_of(place: Path) -> str:
    """Everything in an export that a person could read, tables in both formats."""
    texts = [path.read_text(errors="replace") for path in place.rglob("*") if path.suffix not in ("", ".parquet")]
    return "\n".join(texts + [str(pl.read_parquet(path).to_dicts()) for path in place.rglob("*.parquet")])


def test_what_is_hidden_is_in_no_export_before_its_publication(world: World, tmp_path: Path) -> None:
    place = exports.export(tmp_path / "given", with_report=False)
    for row in rows(place, "submissions", phase="final"):
        assert (row["technical"], row["clinical"]) == (None, None)
    assert rows(place, "submissions", phase="pre-evaluation")[0]["technical"] == 0.61234567
    assert rows(place, "boards", phase="final") == rows(place, "prizes", phase="final") == []
    assert "777.25" not in words_of(place)
    entries = [json.loads(line) for line in (place / "log.jsonl").read_text().splitlines()]
    withheld = [entry["act"] for entry in entries if entry["facts"] is None]
    assert withheld == ["propose-prizes", "sign-prizes"]
    assert all(entry["digest"] for entry in entries)


def test_organisers_get_it_when_they_ask_and_everybody_after_the_publication(world: World, tmp_path: Path) -> None:
    whole = exports.export(tmp_path / "kept", with_hidden=True, with_report=False)
    assert all(secret in words_of(whole) for secret in SECRET)
    final = boards.BoardSnapshot.objects.get(phase="final")
    publishing.publish("user-1", final, reason="the conference")
    given = exports.export(tmp_path / "given", with_report=False)
    assert rows(given, "boards", phase="final")[0]["macro_accuracy"] == 0.61234567
    assert rows(given, "prizes", phase="final")[0]["amount"] == 777.25
    assert '"facts": null' not in (given / "log.jsonl").read_text()


def test_no_text_of_a_team_is_a_formula_in_an_export(world: World, tmp_path: Path) -> None:
    Team.objects.filter(pk=world.team.pk).update(name='=HYPERLINK("http://evil.example.org","prize")')
    Team.objects.filter(pk=world.rival.pk).update(name="@SUM(1)\n+2")
    place = exports.export(tmp_path / "given", with_report=False)
    for path in place.glob("*.csv"):
        for row in pl.read_csv(path, infer_schema=False, raise_if_empty=False).rows():
            assert not [cell for cell in row if (cell or "").startswith(("=", "+", "@", "\t", "\r"))], path.name
    assert "@SUM(1)\n+2" in [row["team"] for row in rows(place, "teams")], "the table for programs has every letter"
