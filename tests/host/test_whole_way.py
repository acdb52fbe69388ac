"""The whole way over the API: handed in, run, scored, ranked, qualification, final phase, publication, prizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from host_server import Crew, entrant, pusher, serving, tiny_image
from host_service import FINAL, PRE, Service, let_stand
from surgvalid.host.acting import log_problems
from surgvalid.host.acts import boards, gates, prizes, publishing, submissions
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.client import HostRefused, push_submission
from surgvalid.host.people.models import MemberRole, OrganiserRole
from surgvalid.host.runs.models import BoardSnapshot, GateDecision, Job, LogEntry, RunRecord, Submission

SKILLS = {"good": 1.0, "fair": 0.8, "closed": 0.6, "open": 0.5}


def test_from_upload_to_prizes(service: Service, tmp_path: Path) -> None:
    service.change("replicates = 1000", "replicates = 20")
    teams = {name: service.team(name) for name in ("good", "fair")}
    owner = service.person("owner")
    OrganiserRole.objects.create(user=owner, role=MemberRole.OWNER)
    programs = {name: entrant(tmp_path / name, name, skill) for name, skill in SKILLS.items()}
    with serving() as url:
        crew = Crew(service, url, tmp_path / "scratch")
        organisers = pusher(url, type("", (), {"leader": owner})())  # type: ignore[arg-type]

        def handed(name: str, phase: str) -> dict[str, object]:
            image = tiny_image(tmp_path / f"{name}-{phase}.tar", f"{name} {phase}")
            if name in teams:
                text = tmp_path / "method.md"
                text.write_text("# Method\n\nIt looks at the colour.\n")
                facts = push_submission(pusher(url, teams[name]), image, phase=phase, description=text)
            else:
                facts = push_submission(organisers, image, phase=phase, baseline=name)
            crew.trusted()  # intake
            assert crew.inference(program=programs[name], engine="process") >= 1
            crew.trusted()  # scoring and leaderboards
            return facts

        for name in ("closed", "open", "fair", "good"):
            handed(name, PRE)
        rows = boards.public_leaderboard(PRE, "technical")
        assert rows is not None
        shown = boards.rounded_rows(rows, 3)
        names = {f"team-{team.pk}": name for name, team in teams.items()}
        assert [names.get(row["model"], row["model"]) for row in shown if not row["baseline"]] == ["good", "fair"]
        assert {row["model"] for row in shown if row["baseline"]} == {"baseline-closed", "baseline-open"}
        good = Submission.objects.get(team=teams["good"])
        assert good.values == {"technical": 1.0, "clinical": 1.0}
        assert {row["macro_accuracy"] for row in shown if row["model"] == good.model_name} == {1.0}
        assert RunRecord.objects.get(submission=good).shards == 2

        # the qualification criterion, with its evidence
        decision = GateDecision.objects.filter(team=teams["good"]).latest("pk")
        assert decision.opened
        against = decision.evidence["technical"]["against"]
        assert {one["baseline"]: one["above"] for one in against} == {"baseline-closed": True, "baseline-open": True}
        service.clock.at = current_challenge().phase(FINAL).opens
        gates.decide_by_hand("user-1", teams["fair"], FINAL, opened=False, reason="for the test")
        with pytest.raises(HostRefused, match="qualification criterion"):
            handed("fair", FINAL)

        # the final phase: hidden until it is published
        for name in ("closed", "open", "good"):
            handed(name, FINAL)
        final = Submission.objects.get(team=teams["good"], phase=FINAL)
        assert final.stage == "scored"
        assert boards.team_values(final) == {}
        assert "1.0" not in str(pusher(url, teams["good"]).call("GET", f"submissions/{final.pk}")["values"])
        assert boards.public_leaderboard(FINAL, "technical") is None
        snapshot = BoardSnapshot.objects.filter(phase=FINAL, board="technical").latest("pk")
        later = service.clock.at.replace(day=20, month=10)
        publishing.embargo("user-1", snapshot, later, reason="until the conference")
        with pytest.raises(Refused, match="embargo"):
            publishing.publish("user-1", snapshot, reason="too early")
        service.clock.at = later
        publishing.publish("user-1", snapshot, reason="the conference")
        assert boards.public_leaderboard(FINAL, "technical") == snapshot
        assert boards.team_values(final) == {"technical": 1.0}

        # prizes: only once the description was read
        let_stand()
        with pytest.raises(Refused, match=f"submission {final.pk} is waiting for a decision"):
            prizes.propose_prizes("user-1", snapshot)
        submissions.judge_description("user-1", final, "sufficient")
        submissions.refresh_boards("user-1", FINAL, reason="descriptions were read")
        crew.trusted()
        let_stand()
        paid = prizes.propose_prizes(
            "user-1", BoardSnapshot.objects.filter(phase=FINAL, board="technical").latest("pk")
        )
        row = next(row for row in paid.rows if row["model"] == final.model_name)
        assert row["amount"] == 5000.0
        with pytest.raises(Refused, match="together at most"):
            prizes.sign_prizes("user-1", paid, owner, amounts={final.model_name: 99_000}, reason="generous")
        signed = prizes.sign_prizes("user-1", paid, owner, amounts={final.model_name: 4999.0}, reason="rounded")
        assert signed.signed_rows[0]["amount"] in (4999.0, 0.0)
    assert log_problems() == []
    assert not Job.objects.exclude(state="done").exists()
    acts = set(LogEntry.objects.values_list("act", flat=True))
    assert {"hand-in", "claim-job", "report-job", "embargo", "publish", "sign-prizes", "judge-description"} <= acts
