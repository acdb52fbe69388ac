"""A small hosted challenge for tests: two teams, a baseline, organisers of every role, a scored submission,
leaderboards.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.test import Client

from host_people import ready_person, submitted
from surgvalid.host.acting import acting, now
from surgvalid.host.acts.boards import board_facts, keep_boards
from surgvalid.host.acts.challenge import adopt_challenge, current_challenge
from surgvalid.host.acts.submissions import run_folder
from surgvalid.host.challenge.example import new_challenge
from surgvalid.host.people import acts, teams
from surgvalid.host.people.models import MemberRole, Team, User
from surgvalid.host.people.rules import rules_now
from surgvalid.host.runs.models import (
    BoardSnapshot,
    ChallengeVersion,
    Job,
    Publication,
    RunRecord,
    StageChange,
    Submission,
)
from surgvalid.results.manifest import sha256_of

VALUES = {"technical": 0.61234567, "clinical": 0.58765432}


@dataclass
class World:
    """What the small challenge has."""

    home: Path
    people: dict[str, User]
    team: Team
    rival: Team
    submission: Submission
    snapshot: BoardSnapshot
    clock: Any = None
    """The time of acts, where a test sets it."""

    def client(self, name: str, **options: Any) -> Client:
        """A browser of one of the people; `stranger` is nobody."""
        client = Client(**options)
        if name != "stranger":
            client.force_login(self.people[name], backend="allauth.account.auth_backends.AuthenticationBackend")
        return client


def small_world(home: Path) -> World:
    """The small challenge, in the folder of a service."""
    new_challenge(home, start=datetime.now(UTC) - timedelta(days=35), engines=("process",), videos=4)
    adopt_challenge("system", "The first version.")
    rules = rules_now()
    names = ("loner", "member", "rival", *MemberRole.values)
    people = {name: ready_person(name, rules=rules) for name in names}
    for role in MemberRole:
        acts.give_role(people[role.value], role, by=None)
    team = teams.found_team(people["member"], "Lovelace lab", rules)
    rival = teams.found_team(people["rival"], "Babbage lab", rules)
    one = scored(team, "pre-evaluation")
    return World(home, people, team, rival, one, board_with(one, "pre-evaluation", "technical"))


def scored(team: Team, phase: str, **facts: Any) -> Submission:
    """A submission of a team that was scored."""
    about = {"phase": phase, "version": ChallengeVersion.objects.last(), "stage": "scored", "values": VALUES}
    one = submitted(team, **about, answered=32, **facts)
    for stage in ("uploaded", "intake_ok", "queued", "running", "inferred", "scored"):
        StageChange.objects.create(submission=one, stage=stage, at=now())
    return one


def board_with(submission: Submission, phase: str, board: str, *, published: bool = True) -> BoardSnapshot:
    """A snapshot with one team and one baseline; public unless said otherwise."""
    team, baseline = submission.model_name, "baseline-open"
    rows = [_row(board, team, 1, VALUES[board]), _row(board, baseline, 2, 0.41)]
    spread = {"place_low": 1.0, "place_high": 2.0, "p_first": 0.5}
    snapshot = BoardSnapshot.objects.create(
        phase=phase, board=board, number=BoardSnapshot.objects.count() + 1, at=now(), version=submission.version,
        rule={"rule": "focus", "program": "0", "prize_pool": 1000.0, "unpaid": {}, "baselines": [baseline]},
        inputs={team: {"submission": submission.pk, "run": 1, "scores": "0" * 64}},
        tables={"places": rows, "stability": [{"board": board, "model": row["model"], **spread} for row in rows],
                "prizes": [{"model": team, "place": 1, "amount": 500.0}]},
        log_number=0, log_digest="0" * 64, digest="0" * 64,
    )  # fmt: skip
    if published:
        Publication.objects.create(snapshot=snapshot, published_at=now(), reason="live leaderboard")
    return snapshot


def payable_board(world: World, board: str = "technical", *, rival: bool = False, without: str = "") -> BoardSnapshot:
    """The newest leaderboard of the final, as a worker's report makes it; every baseline but `without` is on it."""
    owners: list[dict[str, Any]] = [{"team": world.team}, *([{"team": world.rival}] if rival else [])]
    owners += [{"team": None, "baseline": one} for one in current_challenge().baselines if one != without]
    for owner in owners:
        if Submission.objects.filter(phase="final", stage="scored", **owner).exists():
            continue
        one = scored(world.team, "final", description_verdict="sufficient")
        Submission.objects.filter(pk=one.pk).update(**owner)
        place = run_folder(one, 1) / "scores"
        place.mkdir(parents=True)
        (place / "manifest.json").write_text("{}")
        digest = sha256_of(place / "manifest.json")
        RunRecord.objects.create(submission=one, number=1, shards=1, made_at=now(), scores_digest=digest)
    return remade_board(board)


def remade_board(board: str = "technical") -> BoardSnapshot:
    """The next leaderboard of the final, of those that are on it now."""
    facts = json.loads(json.dumps(board_facts(current_challenge().phase("final"))))
    models = sorted(facts["boards"][board]["entries"], key=lambda one: not one.startswith("team-"))
    rows = [_row(board, model, place, VALUES[board]) for place, model in enumerate(models, start=1)]
    paid = [{"model": row["model"], "place": row["place"], "amount": 500.0} for row in rows if not row["baseline"]]
    job = Job.objects.create(kind="board", phase="final", owner="boards", made_at=now(), facts=facts, state="done")
    with acting("worker-1", "report-job", f"job-{job.pk}") as doing:
        return keep_boards(job, {board: {"tables": {"places": rows, "prizes": paid}}}, doing)[0]


def _row(board: str, model: str, place: int, value: float) -> dict[str, Any]:
    ranks = {"place": place, "copeland": 3 - 2 * place, "macro_accuracy": value, "win_rate": None}
    return {"board": board, "model": model, **ranks, "baseline": model.startswith("baseline")}
