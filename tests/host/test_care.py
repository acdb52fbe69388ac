"""Backups, exports, costs and the command line that looks after a service."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest
from django.db import connections

from host_service import PRE, Service
from surgvalid.cli import main
from surgvalid.errors import Misuse, WouldOverwrite
from surgvalid.host import backups, evidence, exports
from surgvalid.host.acting import acting
from surgvalid.host.acts import boards, submissions
from surgvalid.host.acts.challenge import announce, current_challenge
from surgvalid.host.acts.quotas import usage_of
from surgvalid.host.challenge.reading import read_challenge
from surgvalid.host.client import Host
from surgvalid.host.costs import cost_of
from surgvalid.host.runs.models import BoardSnapshot, Publication, RunRecord, Submission, WorkerToken
from surgvalid.results.manifest import sha256_of
from surgvalid.submissions.stages import Stage


def scored(service: Service, name: str, value: float) -> Submission:
    """A submission of a new team with a made-up score, as a report would leave it."""
    handed = service.hand_in(service.team(name))
    place = submissions.run_folder(handed, 1) / "scores"
    place.mkdir(parents=True)
    (place / "manifest.json").write_text("{}")
    with acting("worker-1", "report-job"):
        run = RunRecord.objects.create(submission=handed, number=1, shards=1, made_at=handed.at)
        run.scores_digest = sha256_of(place / "manifest.json")
        run.save()
        handed.values = {"technical": value, "clinical": value}
        submissions.move(handed, Stage.SCORED, handed.at)
    return handed


def snapshot(service: Service, *models: str) -> BoardSnapshot:
    with acting("system", "board") as doing:
        made = BoardSnapshot(
            phase=PRE, board="technical", number=1, at=doing.at, version_id=1, rule={"prize_pool": 10}, inputs={},
            tables={"places": [{"model": one, "place": n, "baseline": False, "macro_accuracy": 0.123456789}
                               for n, one in enumerate(models, start=1)]},
            log_number=doing.end[0], log_digest=doing.end[1],
        )  # fmt: skip
        made.digest = boards.snapshot_digest(made)
        made.save()
    return made


def test_a_backup_brings_everything_back_and_losses_are_named(service: Service, tmp_path: Path) -> None:
    first = scored(service, "a", 0.5)
    snapshot(service, first.model_name)
    place = backups.back_up(tmp_path / "backup")
    assert list(evidence.problems(images=True)) == []
    with pytest.raises(WouldOverwrite):
        backups.back_up(place)
    scored(service, "b", 0.6)  # after the backup
    connections.close_all()
    shutil.rmtree(service.home)
    service.home.mkdir()
    backups.restore(place, service.home)
    assert [one.pk for one in Submission.objects.all()] == [first.pk]
    assert list(evidence.problems(images=True)) == []
    assert usage_of(first.team, current_challenge().phase(PRE)).scored == 1
    next((service.home / "store" / "received").iterdir()).write_bytes(b"other")
    (submissions.run_folder(first, 1) / "scores" / "manifest.json").unlink()
    assert len(list(evidence.problems(images=True))) == 2


def test_an_export_holds_everything_and_names_nobody(service: Service, tmp_path: Path) -> None:
    first = scored(service, "a", 0.5)
    Publication.objects.create(snapshot=snapshot(service, first.model_name), published_at=service.clock())
    announce("user-1", "News", "The first leaderboard is there.")
    place = exports.export(tmp_path / "export", with_report=False)
    listed = pl.read_csv(place / "submissions.csv")
    assert listed.row(0, named=True)["technical"] == 0.5
    assert pl.read_parquet(place / "boards.parquet")["model"].to_list() == [first.model_name]
    text = "".join(path.read_text(errors="ignore") for path in place.rglob("*") if path.suffix != ".parquet")
    assert "example.org" not in text.replace("organisers@example.org", "")
    lines = (place / "log.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["act"] == "announce"
    assert json.loads((place / "metadata.json").read_text())["types"]["resourceTypeGeneral"] == "Dataset"
    assert place.with_suffix(".tar").exists()


def test_boards_show_rounded_values_in_the_order_of_all_digits(service: Service) -> None:
    rows = boards.rounded_rows(snapshot(service, "team-1", "team-2"), 3)
    assert [(row["place"], row["macro_accuracy"]) for row in rows] == [(1, 0.123), (2, 0.123)]


def test_the_best_submission_counts_or_the_last(service: Service) -> None:
    team = service.team("x")
    made = []
    for value in (0.4, 0.7, 0.6):
        one = service.hand_in(team)
        RunRecord.objects.create(submission=one, number=1, shards=1, made_at=one.at, scores_digest="d")
        one.values = {"technical": value, "clinical": 1 - value}
        submissions.move(one, Stage.SCORED, one.at)
        made.append(one.pk)
    phase = current_challenge().phase(PRE)
    assert [boards.entries_of(phase, board)[f"team-{team.pk}"]["submission"] for board in phase.boards] == [
        made[1], made[0],
    ]  # fmt: skip
    service.change('counted = "best"', 'counted = "last"')
    assert boards.entries_of(current_challenge().phase(PRE), "technical")[f"team-{team.pk}"]["submission"] == made[2]
    submissions.disqualify("user-1", Submission.objects.get(pk=made[2]), reason="it asked the judge for mercy")
    assert boards.entries_of(current_challenge().phase(PRE), "technical")[f"team-{team.pk}"]["submission"] == made[1]


def test_the_cost_of_a_phase_is_its_worst_case(service: Service) -> None:
    phase = read_challenge(service.home / "challenge.toml").phase(PRE)
    cost = cost_of(phase, service.home, teams=3)
    # by hand: 32 questions of 5 s; 4 videos, each with a start of 600 s and 3 restarts of 600 s
    assert (cost.questions, cost.videos) == (32, 4)
    assert cost.answers_hours == pytest.approx(32 * 5 / 3600)
    assert cost.worst_hours == pytest.approx((32 * 5 + 4 * 600 + 4 * 3 * 600) / 3600)
    assert cost.attempts_hours == pytest.approx(3 * 30 * cost.worst_hours)
    assert cost.quota_hours == pytest.approx(3 * 10 * (32 * 5 + 4 * 600) / 3600)


def test_a_token_goes_over_https_alone() -> None:
    with pytest.raises(Misuse, match="https"):
        Host("http://challenge.example.org", "secret")
    Host("http://127.0.0.1:1", "secret")


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["surgvalid", *map(str, words)])
    try:
        main()
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def test_the_command_line_makes_checks_and_looks_after_a_service(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "host", "new", tmp_path / "mine") == 0
    assert run(monkeypatch, "host", "check", tmp_path / "mine" / "challenge.toml") == 0
    assert "Example challenge: 2 phases" in capsys.readouterr().out
    assert run(monkeypatch, "host", "admin", "cost", tmp_path / "mine" / "challenge.toml", "--teams", 75) == 0
    assert "75 teams" in capsys.readouterr().out
    here = ("--challenge", service.home)
    assert run(monkeypatch, "host", "admin", "token", "gpu1", "inference", *here) == 0
    assert capsys.readouterr().out.startswith("sgw_")
    assert run(monkeypatch, "host", "admin", "token", "bad", "inference", "scoring", *here) == 2
    assert run(monkeypatch, "host", "admin", "token", "gpu1", "--revoke", *here) == 0
    assert WorkerToken.objects.get(name="gpu1").revoked_at is not None
    capsys.readouterr()
    assert run(monkeypatch, "host", "admin", "verify-log", *here) == 0
    end = capsys.readouterr().out.strip().removeprefix("the log is whole: ")
    assert run(monkeypatch, "host", "admin", "verify-log", "--witness", end, *here) == 0
    assert run(monkeypatch, "host", "admin", "verify-log", "--witness", "1:" + "0" * 64, *here) == 1
    assert run(monkeypatch, "host", "admin", "organiser", "nobody@example.org", *here) == 2
    assert run(monkeypatch, "host", "admin", "backup", tmp_path / "kept", *here) == 0
