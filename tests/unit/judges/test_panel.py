import itertools

import pytest

from judge_cases import Saying, a_case, always, some_cases
from surgvalid.errors import Misuse
from surgvalid.judges import Panel, Verdict, VerdictStore, Vote, open_judge
from surgvalid.judges._case import verdict_from_reply
from surgvalid.judges._panel import decision_of

YES, NO, ABSTAINED = Verdict(True, "judged"), Verdict(False, "judged"), Verdict(None, "abstained")
FAILED, OPEN = Verdict(None, "failed"), Verdict(None, "not_judged")


@pytest.mark.parametrize(
    ("votes", "correct", "state"),
    [
        ((), None, "not_judged"),
        ((YES,), True, "judged"),
        ((YES, NO, YES), True, "judged"),
        ((NO, NO, YES), False, "judged"),
        ((YES, NO), None, "tie"),
        ((YES, NO, ABSTAINED), None, "tie"),
        ((YES, ABSTAINED, FAILED), True, "judged"),
        ((NO, OPEN), False, "judged"),
        ((ABSTAINED, ABSTAINED), None, "abstained"),
        ((ABSTAINED, FAILED), None, "not_judged"),
        ((YES, NO, FAILED), None, "not_judged"),
        ((ABSTAINED, OPEN), None, "abstained"),
        ((FAILED, FAILED), None, "not_judged"),
        ((OPEN,), None, "not_judged"),
    ],
)
def test_the_majority_of_opinions_decides(votes: tuple[Verdict, ...], correct: bool | None, state: str) -> None:
    for order in itertools.permutations(votes):
        decision = decision_of(tuple(Vote(str(i), verdict) for i, verdict in enumerate(order)))
        assert (decision.correct, decision.state) == (correct, state)


@pytest.mark.parametrize(
    ("votes", "state"),
    [
        ((FAILED, FAILED, ABSTAINED), "not_judged"),
        ((YES, FAILED, ABSTAINED), "not_judged"),
        ((FAILED, ABSTAINED, ABSTAINED), "abstained"),
        ((YES, ABSTAINED, ABSTAINED), "abstained"),
    ],
)
def test_what_a_failed_judge_could_have_decided_is_not_judged(votes: tuple[Verdict, ...], state: str) -> None:
    for order in itertools.permutations(votes):
        decision = decision_of(tuple(Vote(str(i), verdict) for i, verdict in enumerate(order)), quorum=2)
        assert (decision.correct, decision.state) == (None, state)


def test_a_failed_vote_that_carries_an_opinion_by_mistake_has_none() -> None:
    assert decision_of((Vote("a", Verdict(True, "failed")),)).state == "not_judged"


def test_every_vote_is_kept_and_every_judge_asked_also_when_two_agree() -> None:
    judges = [always("a", True), always("b", True), always("c", False)]
    decisions = Panel(judges).decide(some_cases(3))
    assert [[vote.judge for vote in d.votes] for d in decisions] == [["a", "b", "c"]] * 3
    assert [len(judge.asked) for judge in judges] == [3, 3, 3]
    assert [d.correct for d in decisions] == [True] * 3


def test_decisions_come_in_the_order_of_the_cases() -> None:
    cases = some_cases(200)
    decisions = Panel([Saying("j", lambda c: Verdict(None, "abstained", c.case))]).decide(cases)
    assert [d.votes[0].verdict.text for d in decisions] == [case.case for case in cases]


def test_an_empty_panel_and_the_judge_none_leave_everything_open() -> None:
    assert {d.state for d in Panel([]).decide(some_cases(3))} == {"not_judged"}
    assert {d.state for d in Panel([open_judge("none")]).decide(some_cases(3))} == {"not_judged"}


def test_states_are_counted_over_all_calls() -> None:
    panel = Panel([always("a", True), Saying("b", lambda c: YES if "cystic" in c.candidate else FAILED)])
    panel.decide(some_cases(4))
    panel.decide(some_cases(2))
    counts = panel.counts()
    assert (counts["judged"], counts["not_judged"], counts["failed_votes"]) == (3, 3, 3)
    assert (counts["asked"], counts["reused"]) == (12, 0)


def test_equal_cases_are_one_question() -> None:
    judge = always("a", True)
    panel = Panel([judge])
    decisions = panel.decide([a_case(case="q1"), a_case(case="q2"), a_case("other", case="q3")])
    assert judge.asked == ["q1", "q3"]
    assert [d.correct for d in decisions] == [True] * 3
    assert (panel.counts()["asked"], panel.counts()["reused"]) == (2, 1)


def test_a_fourth_judge_and_a_judge_named_twice_are_refused() -> None:
    with pytest.raises(Misuse, match="at most 3"):
        Panel([always(name, True) for name in "abcd"])
    with pytest.raises(Misuse, match="'a' is on the panel twice"):
        Panel([always("a", True), always("a", False)])


@pytest.mark.parametrize("judges", [0, 1, 2, 3])
def test_progress_adds_up_to_the_number_of_cases(judges: int) -> None:
    steps: list[int] = []
    Panel([always(name, True) for name in "abc"[:judges]]).decide(some_cases(10), progress=steps.append)
    assert sum(steps) == 10
    assert min(steps) > 0


def test_progress_also_counts_what_the_store_knew(tmp_path) -> None:  # type: ignore[no-untyped-def]
    Panel([always("a", True)], store=VerdictStore(tmp_path / "s.jsonl")).decide(some_cases(5))
    steps: list[int] = []
    panel = Panel([always("a", True)], store=VerdictStore(tmp_path / "s.jsonl"))
    panel.decide(some_cases(10), progress=steps.append)
    assert sum(steps) == 10


class Dropping:
    name = "dropping"

    def judge(self, cases):  # type: ignore[no-untyped-def]
        return [YES] * (len(cases) - 1)


class Silent(Dropping):
    def judge_each(self, cases, done):  # type: ignore[no-untyped-def]
        done(0, YES)


class Raising(Dropping):
    def judge_each(self, cases, done):  # type: ignore[no-untyped-def]
        done(0, YES)
        raise ZeroDivisionError("in the judge")


@pytest.mark.parametrize(
    ("judge", "failed", "why"),
    [(Dropping(), 3, "gave 2 verdicts on 3 cases"), (Silent(), 2, "no word"), (Raising(), 2, "ZeroDivisionError")],
)
def test_a_judge_that_breaks_down_has_failed_and_the_run_goes_on(judge: Dropping, failed: int, why: str) -> None:
    panel = Panel([judge, always("b", True), always("c", True)])
    decisions = panel.decide(some_cases(3))
    assert [d.correct for d in decisions] == [True] * 3
    assert panel.table().row(0, named=True)["failed"] == failed
    (warning,) = panel.warnings()
    assert warning.code == "judge-failed"
    assert f"failed on {failed} of 3 answers" in warning.message
    assert why in warning.message


@pytest.mark.parametrize(("abstains_on", "warned"), [(0, False), (1, False), (2, True), (19, True)])
def test_a_judge_that_often_has_no_verdict_is_named_with_what_it_says(abstains_on: int, warned: bool) -> None:
    cases = some_cases(20)
    silent = {case.case for case in cases[:abstains_on]}
    panel = Panel([Saying("a", lambda c: Verdict(None, "abstained", "I would say yes.") if c.case in silent else YES)])
    panel.decide(cases)
    assert [finding.code for finding in panel.warnings()] == ["judge-abstained"] * warned
    told = f"no clear verdict on {abstains_on} of 20 answers (first reply: 'I would say yes.')"
    assert all(told in finding.message for finding in panel.warnings())
    assert not any("wrong" in finding.message for finding in panel.warnings()), "the other judges may have decided"


UNREADABLE = {
    "prose": Verdict(None, "abstained", "I would say yes."),
    "empty": verdict_from_reply(""),
    "cut": verdict_from_reply("Let me see.\nCORRECT", was_cut=True),
    "a refusal": Verdict(None, "abstained", "I will not grade this.", finish="content_filter"),
}


@pytest.mark.parametrize("said", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_judge_of_whom_nothing_can_be_read_has_failed(said: Verdict) -> None:
    panel = Panel([Saying("a", lambda _: said)])
    decisions = panel.decide(some_cases(4))
    assert [d.state for d in decisions] == ["not_judged"] * 4
    assert decisions[0].votes[0].verdict == said, "what it said is kept as it is"
    (warning,) = panel.warnings()
    assert warning.code == "judge-unreadable"
    assert "not one of its 4 replies holds a verdict" in warning.message
    assert panel.table()["abstained"].to_list() == [4]


def test_whoever_is_read_beside_a_judge_that_cannot_be_decides_with_a_quorum() -> None:
    unreadable = Saying("a", lambda _: UNREADABLE["prose"])
    assert Panel([unreadable, always("b", True), always("c", True)]).decide([a_case()])[0].correct is True
    assert Panel([unreadable, always("b", True)]).decide([a_case()])[0].state == "not_judged"


@pytest.mark.parametrize("said", ["UNSURE", '{"verdict": "UNSURE"}', ""])
def test_a_judge_that_chooses_to_abstain_on_everything_has_abstained(said: str) -> None:
    panel = Panel([Saying("a", lambda _: Verdict(None, "abstained", said))])
    assert panel.decide([a_case()])[0].state == "abstained"
    assert [finding.code for finding in panel.warnings()] == ["judge-abstained"]


@pytest.mark.parametrize(
    ("verdicts", "quorum", "state"),
    [
        ((YES, FAILED, FAILED), None, "not_judged"),
        ((YES, FAILED, ABSTAINED), None, "not_judged"),
        ((YES, FAILED, FAILED), 1, "judged"),
        ((YES, YES, FAILED), None, "judged"),
        ((YES, YES, FAILED), 3, "not_judged"),
        ((YES, NO, FAILED), None, "not_judged"),
        ((YES, ABSTAINED), None, "abstained"),
    ],
)
def test_a_decision_needs_a_quorum_of_opinions(verdicts: tuple[Verdict, ...], quorum: int | None, state: str) -> None:
    judges = [Saying(name, lambda _, verdict=verdict: verdict) for name, verdict in zip("abc", verdicts, strict=False)]
    assert Panel(judges, quorum=quorum).decide([a_case()])[0].state == state


@pytest.mark.parametrize("quorum", [0, -1, 3])
def test_a_quorum_that_cannot_be_reached_is_refused(quorum: int) -> None:
    with pytest.raises(Misuse, match="cannot be reached by 2 judges"):
        Panel([always("a", True), always("b", True), open_judge("none")], quorum=quorum)


def test_a_judge_that_never_speaks_counts_for_no_quorum() -> None:
    assert Panel([open_judge("exact"), open_judge("none")]).decide([a_case()])[0].state == "judged"


def test_what_each_judge_did_is_counted() -> None:
    panel = Panel([Saying("a", lambda _: Verdict(None, "abstained", "", 0.5, 7)), always("b", None, "failed")])
    panel.decide([a_case(), a_case(case="again"), a_case("other")])
    columns = ("judge", "cases", "asked", "reused", "failed", "abstained", "tokens", "seconds")
    assert panel.table().select(columns).rows() == [("a", 3, 2, 1, 0, 3, 14, 1.0), ("b", 3, 2, 1, 3, 0, 0, 0.0)]
