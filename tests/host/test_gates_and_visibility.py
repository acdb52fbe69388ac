"""Whatever leaderboards say, and whenever: who qualifies, and who sees which value,
against a second way to reckon it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from host_people import submitted
from host_service import FINAL, PRE, Service
from surgvalid.host.acting import acting
from surgvalid.host.acts import boards, gates
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.people.models import Team
from surgvalid.host.runs.models import BoardSnapshot, GateDecision, Publication

pytestmark = pytest.mark.database
BOARDS = ("technical", "clinical")
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
AGAINST = st.fixed_dictionaries({}, optional={name: st.booleans() for name in ("closed", "open", "of-no-matter")})


def snapshot(
    phase: str, board: str, model: str = "", beaten: dict[str, bool] | None = None, **more: Any
) -> BoardSnapshot:
    """A new leaderboard, which is never changed, on which a model stands above some baselines."""
    rows = [{"model": model, "baseline": f"baseline-{name}", "above": above} for name, above in (beaten or {}).items()]
    number = BoardSnapshot.objects.filter(phase=phase, board=board).count() + 1
    with acting("system", "board") as doing:
        return BoardSnapshot.objects.create(
            phase=phase, board=board, number=number, at=doing.at, version_id=1, rule={}, log_number=0, digest="0" * 64,
            log_digest="0" * 64, tables={"gate_evidence": rows}, **{"inputs": {}} | more,
        )  # fmt: skip


def decide(team: Team) -> None:
    """As when a worker reports new leaderboards."""
    with acting("system", "board") as doing:
        gates.decide_gates(current_challenge(), PRE, {f"team-{team.pk}"}, doing.at)


def test_a_gate_opens_for_those_who_beat_every_baseline_on_enough_boards(service: Service) -> None:
    gate = {
        1: 'gate = { phase = "pre-evaluation", least_boards = 1 }',
        2: 'gate = { phase = "pre-evaluation", least_boards = 2 }',
    }
    held = [1]

    @given(st.integers(1, 2), st.lists(st.dictionaries(st.sampled_from(BOARDS), AGAINST), min_size=1, max_size=4))
    @example(2, [{"technical": {"closed": True, "open": True}}])
    @FEW
    def holds(least: int, rounds: list[dict[str, dict[str, bool]]]) -> None:
        if held[0] != least:
            service.change(gate[held[0]], gate[least])
            held[0] = least
        service.made += 1
        team, other = service.team(f"t{service.made}"), service.team(f"o{service.made}")
        now: dict[str, dict[str, bool]] = {}
        for made in rounds:
            for board, beaten in made.items():
                snapshot(PRE, board, f"team-{team.pk}", beaten)
            now |= made
            decide(team)
            passed = [board for board, beaten in now.items() if beaten.get("closed") and beaten.get("open")]
            assert gates.is_gate_open(team, FINAL) == (len(passed) >= least)
            assert not gates.is_gate_open(other, FINAL)

    holds()


def test_a_gate_closes_again_when_a_baseline_was_scored_again(service: Service) -> None:
    team = service.team("a")
    snapshot(PRE, "technical", f"team-{team.pk}", {"closed": True, "open": True})
    decide(team)
    service.clock.at = current_challenge().phase(FINAL).opens
    described = service.upload(team, FINAL, data=b"# Method", name="method.md")
    assert service.hand_in(team, FINAL, description=described).phase == FINAL
    snapshot(PRE, "technical", f"team-{team.pk}", {"closed": True, "open": False})
    decide(team)
    with pytest.raises(Refused) as caught:
        service.hand_in(team, FINAL, description=described)
    assert caught.value.code == "gate-closed"
    assert [one.opened for one in GateDecision.objects.filter(team=team)] == [True, False]
    gates.decide_by_hand("user-1", team, FINAL, opened=True, reason="they had beaten it as it was then")
    snapshot(PRE, "technical", f"team-{team.pk}", {"closed": False, "open": False})
    decide(team)
    assert gates.is_gate_open(team, FINAL)


def test_a_value_is_seen_by_those_whom_the_phase_lets_see_it_and_from_then_on(service: Service) -> None:
    """Every rule of visibility, on leaderboards that are published before, at or after the moment, or never."""
    shown, other = service.team("shown"), service.team("other")
    held, start = ["hidden"], service.clock.at
    moments = st.one_of(st.none(), st.integers(-2, 2))

    @given(st.sampled_from(("public", "team", "hidden")), moments, st.booleans())
    @FEW
    def holds(rule: str, published: int | None, on_board: bool) -> None:
        if rule != held[0]:
            service.change(f'visibility = "{held[0]}"\nneeds', f'visibility = "{rule}"\nneeds')
            held[0] = rule
        Publication.objects.all().delete()  # what was published last is what everybody sees
        values = {"technical": 0.123456, "clinical": 0.2}
        mine, theirs = (submitted(team, phase=FINAL, stage="scored", values=values) for team in (shown, other))
        kept = snapshot(
            FINAL,
            "technical",
            inputs={one.model_name: {"submission": one.pk} for one in ((mine, theirs) if on_board else (theirs,))},
        )
        if published is not None:
            Publication.objects.create(snapshot=kept, published_at=start + timedelta(seconds=published))
        public = published is not None and published <= 0
        assert (boards.public_leaderboard(FINAL, "technical") == kept) == public
        assert boards.public_leaderboard(FINAL, "clinical") is None
        wanted = (
            {"technical": 0.123, "clinical": 0.2}
            if rule != "hidden"
            else {"technical": 0.123}
            if public and on_board
            else {}
        )
        assert boards.team_values(mine) == wanted

    holds()
