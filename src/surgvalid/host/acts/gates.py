"""Who may enter a phase: decided from leaderboards, with the evidence, and again with every new leaderboard."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from surgvalid.host.acting import acting
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused, reason_of
from surgvalid.host.challenge.challenge import Challenge, QualificationCriterion
from surgvalid.host.runs.models import BoardSnapshot, GateDecision


def is_gate_open(team: Any, phase: str, challenge: Challenge | None = None) -> bool:
    """Whether a team may hand in for a phase, as far as its qualification goes."""
    if (challenge or current_challenge()).phase(phase).gate is None:
        return True
    last = GateDecision.objects.filter(team=team, phase=phase).last()
    return last is not None and bool(last.opened)


def evidence_of(gate: QualificationCriterion, model: str) -> tuple[bool, dict[str, Any]]:
    """Whether a model qualifies on the newest leaderboards, and its value against every baseline there."""
    evidence: dict[str, Any] = {}
    for board in gate.boards:
        snapshot = BoardSnapshot.objects.filter(phase=gate.phase, board=board).last()
        rows = [] if snapshot is None else snapshot.tables.get("gate_evidence", [])
        wanted = {f"baseline-{name}" for name in gate.baselines}
        mine = [row for row in rows if row["model"] == model and row["baseline"] in wanted]
        beaten = {row["baseline"] for row in mine if row["above"]}
        evidence[board] = {
            "snapshot": None if snapshot is None else snapshot.pk,
            "against": mine,
            "beats_all": bool(wanted) and beaten == wanted,
        }
    return sum(one["beats_all"] for one in evidence.values()) >= gate.least_boards, evidence


def decide_gates(challenge: Challenge, phase: str, models: set[str], at: datetime) -> list[GateDecision]:
    """New decisions for everybody on a leaderboard of `phase`, where the last one was another; inside the act of the
    leaderboard.

    What the organisers decided by hand stays.
    """
    made = []
    for behind in [one for one in challenge.phases if one.gate is not None and one.gate.phase == phase]:
        gate = behind.gate
        if gate is None:
            continue
        known = set(GateDecision.objects.filter(phase=behind.slug).values_list("team_id", flat=True))
        teams = {int(model.removeprefix("team-")) for model in models if model.startswith("team-")} | known
        for team in sorted(teams):
            last = GateDecision.objects.filter(team_id=team, phase=behind.slug).last()
            opened, evidence = evidence_of(gate, f"team-{team}")
            if last is None or (not last.by_hand and last.opened != opened):
                made.append(
                    GateDecision.objects.create(
                        team_id=team, phase=behind.slug, opened=opened, evidence=evidence, at=at
                    )
                )
    return made


def decide_by_hand(actor: object, team: Any, phase: str, *, opened: bool, reason: str) -> GateDecision:
    """A decision of the organisers, which no later leaderboard changes."""
    gate = current_challenge().phase(phase).gate
    if gate is None:
        raise Refused("not-now", f"phase {phase} has no qualification criterion.")
    evidence = evidence_of(gate, f"team-{team.pk}")[1]
    with acting(actor, "decide-gate", f"team-{team.pk}", phase=phase, opened=opened) as doing:
        doing.about(doing.subject, reason=reason_of(reason))
        return GateDecision.objects.create(
            team=team, phase=phase, opened=opened, evidence=evidence, at=doing.at, by_hand=reason.strip()
        )
