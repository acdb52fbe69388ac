"""Every word that a room has for what became of a question means one word of the list of outcomes."""

import pytest

from surgvalid.asking.messages import ExchangeOutcome
from surgvalid.judges._case import DECISION_STATES, VERDICT_STATES, status_of
from surgvalid.schema.outcomes import OF_A_RESPONSE, WITHOUT_ANSWER, Status
from surgvalid.scoring.native import OutcomeReason


@pytest.mark.parametrize("outcome", ExchangeOutcome)
def test_every_outcome_of_a_run_has_a_status(outcome: ExchangeOutcome) -> None:
    assert outcome.status in OF_A_RESPONSE


@pytest.mark.parametrize("state", sorted({*VERDICT_STATES, *DECISION_STATES}))
def test_every_state_of_a_judge_has_a_status(state: str) -> None:
    assert status_of(state) in Status


@pytest.mark.parametrize("reason", OutcomeReason)
def test_every_reason_of_a_score_has_a_status(reason: OutcomeReason) -> None:
    assert reason.status in Status


def test_every_status_is_reached_from_somewhere() -> None:
    reached = {outcome.status for outcome in ExchangeOutcome} | {reason.status for reason in OutcomeReason}
    assert reached == set(Status)


def test_what_has_no_answer_is_said_of_responses() -> None:
    assert WITHOUT_ANSWER < OF_A_RESPONSE
    assert Status.ANSWERED not in WITHOUT_ANSWER
