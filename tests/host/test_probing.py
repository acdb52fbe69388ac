"""What the values of many submissions give away, and a leaderboard on which most of them show none of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from host_service import PRE, Service
from surgvalid.host.acting import acting, log_problems
from surgvalid.host.acts import boards, jobs, reports, submissions
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.evidence import problems
from surgvalid.host.pages.history import advice_on
from surgvalid.host.people.models import Team
from surgvalid.host.runs.models import Job, Submission
from surgvalid.submissions.stages import Stage

pytestmark = pytest.mark.database
HALF = [question % 2.0 for question in range(60)]


@pytest.fixture
def laddered(service: Service) -> Service:
    service.change('counted = "best" ', 'counted = "ladder" ')
    return service


def scored(service: Service, team: Team | None, values: Sequence[float], tmp_path: Path, **more: object) -> Submission:
    """A submission whose answers were right so often, scored as a worker reports it."""
    one = service.hand_in(team, **more)
    with acting("system", "try"):
        run = submissions.queue_run(one, one.at)
        submissions.move(one, Stage.INFERRED, one.at)
        Job.objects.filter(submission=one).delete()
        submissions.queue_scoring(run, one.at)
    submissions.run_folder(one, run.number).mkdir(parents=True)
    return report(service, values, tmp_path / str(one.pk))


def report(service: Service, values: Sequence[float], folder: Path) -> Submission:
    worker = service.worker("scoring", name=f"scorer-{folder.name}-{len(list(folder.parent.iterdir()))}")
    job = jobs.claim(worker, duties=["scoring"])
    assert job is not None
    (folder / "scores").mkdir(parents=True)
    (folder / "scores" / "manifest.json").write_text("{}")
    number = np.arange(len(values))
    about = {"video": [f"v{n % 4}" for n in number], "capability": "aggregation", "ood": number % 2 == 0}
    about |= {"clinical": number % 3 == 0, "metric": "correct", "value": list(values), "status": "answered"}
    frame = pl.DataFrame({"model": "team", "case": [f"q{n}" for n in number], **about})
    frame.write_parquet(folder / "scores" / "scores.parquet")
    means = {"technical": float(np.mean(values)), "clinical": float(np.mean(values[::3]))}
    facts = {"values": means, "references_digest": "0" * 64}
    reports.report(worker, job.pk, job.fencing, reports.WorkerReport(facts=facts, folder=folder))
    return Submission.objects.get(pk=job.submission_id)


def on_board(team: Team) -> dict[str, int]:
    """Which submission of a team counts on each leaderboard."""
    phase = current_challenge().phase(PRE)
    return {board: boards.entries_of(phase, board)[f"team-{team.pk}"]["submission"] for board in phase.boards}


def test_a_little_better_shows_the_value_before_and_much_better_its_own(laddered: Service, tmp_path: Path) -> None:
    team = laddered.team("a")
    first = scored(laddered, team, HALF, tmp_path)
    lucky = scored(laddered, team, [1.0, *HALF[1:6], 1.0, *HALF[7:]], tmp_path)
    assert lucky.values["technical"] > first.values["technical"]
    assert boards.team_values(lucky) == boards.team_values(first) == {"technical": 0.5, "clinical": 0.5}
    assert on_board(team) == {"technical": first.pk, "clinical": first.pk}
    assert "clinical and technical leaderboard" in advice_on(lucky)
    assert "guessing" not in advice_on(first)
    better = scored(laddered, team, [1.0] * 50 + [0.0] * 10, tmp_path)
    assert boards.team_values(better)["technical"] == pytest.approx(0.833)
    assert on_board(team) == {"technical": better.pk, "clinical": better.pk}
    worse = scored(laddered, team, [0.0] * 60, tmp_path)
    assert boards.team_values(worse) == boards.team_values(better)
    assert on_board(team) == {"technical": better.pk, "clinical": better.pk}
    assert log_problems() == []
    assert [one for one in problems() if "submission" in one and "upload" not in one] == []


def test_a_submission_that_was_taken_off_leaves_the_place_to_the_next_that_counts(
    laddered: Service, tmp_path: Path
) -> None:
    team = laddered.team("a")
    first = scored(laddered, team, HALF, tmp_path)
    better = scored(laddered, team, [1.0] * 60, tmp_path)
    submissions.disqualify("system", better, reason="it read the references")
    assert on_board(team) == {"technical": first.pk, "clinical": first.pk}
    again = scored(laddered, team, [0.0] * 3 + [1.0] * 57, tmp_path)
    assert on_board(team) == {"technical": again.pk, "clinical": again.pk}


def test_a_run_made_again_stays_the_one_that_counts(laddered: Service, tmp_path: Path) -> None:
    team = laddered.team("a")
    first = scored(laddered, team, HALF, tmp_path)
    with acting("system", "try"):
        run = submissions.queue_run(first, first.at)
        Job.objects.filter(submission=first, state="waiting").delete()
        submissions.queue_scoring(run, first.at)
    submissions.run_folder(first, run.number).mkdir(parents=True)
    again = report(laddered, [0.0] * 60, tmp_path / "again")
    assert boards.team_values(again) == {"technical": 0.0, "clinical": 0.0}
    assert on_board(team) == {"technical": first.pk, "clinical": first.pk}


def test_what_was_scored_before_the_rule_changed_counts_by_its_value(service: Service, tmp_path: Path) -> None:
    team = service.team("a")
    best = scored(service, team, [1.0] * 40 + [0.0] * 20, tmp_path)
    scored(service, team, HALF, tmp_path)
    service.change('counted = "best" ', 'counted = "ladder" ')
    lucky = scored(service, team, [1.0] * 41 + [0.0] * 19, tmp_path)
    assert on_board(team) == {"technical": best.pk, "clinical": best.pk}
    assert boards.team_values(lucky) == boards.team_values(best)


def test_baselines_stand_with_their_own_values(laddered: Service, tmp_path: Path) -> None:
    one = scored(laddered, None, HALF, tmp_path, baseline="open")
    assert one.ladder == {}


def test_rules_say_what_values_give_away(service: Service) -> None:
    phase = current_challenge().phase(PRE)
    assert phase.question_count > 0
    assert "up to 20 bits" in phase.probing
    assert f"of {phase.question_count:,} yes-or-no questions" in phase.probing
    assert current_challenge().phase("final").probing == ""
    service.change('counted = "best" ', 'counted = "ladder" ')
    assert "one bit" in current_challenge().phase(PRE).probing
