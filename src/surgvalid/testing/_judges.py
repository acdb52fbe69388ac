"""What every judge keeps: one verdict per case, in their order, an opinion only where it judged, and no crash."""

from __future__ import annotations

import tempfile
from pathlib import Path

from surgvalid.judges import VERDICT_STATES, Judge, JudgeCase, Panel, Verdict, VerdictStore, open_judge
from surgvalid.testing._broken import Broken, refuse

LONGEST_TEXT = 600
"""Letters of what a judge said that a verdict may keep."""


def sample_cases(count: int) -> list[JudgeCase]:
    """So many cases of which every second is answered in the words of the reference."""
    return [
        _case("cystic duct" if i % 2 else f"liver {i}", case=f"q{i}", question=f"Question {i}?") for i in range(count)
    ]


def _case(candidate: str, *, case: str = "q1", question: str = "Which structure is clipped?") -> JudgeCase:
    return JudgeCase(case, "Cholecystectomy", 10.0, 20.5, question, "cystic duct", candidate)


ODD_CASES = (
    _case(""),
    _case("\x00\u202e\u200b\ud800"),
    _case("x" * 100_000),
    JudgeCase("", "", 0.0, 0.0, "", "", "", ""),
    JudgeCase("q", "p", float("nan"), float("inf"), "q", "r", "c"),
)
"""Nothing, invisible and broken characters, a flood, and times that are none."""


def check_judge(judge: Judge | str) -> None:
    """Nothing, when a judge keeps the rules of judges.

    Args:
        judge: The judge, or how it is named on the command line, such as `exact`.

    Raises:
        ContractBroken: With every rule that it does not keep.

    Example:
        >>> check_judge("exact")
    """
    opened = open_judge(judge) if isinstance(judge, str) else judge
    refuse("judge", opened.name, [there_is_one_verdict_per_case(opened)])  # the other rules are about these verdicts
    refuse("judge", opened.name, (rule(opened) for rule in JUDGE_RULES[1:]))


def there_is_one_verdict_per_case(judge: Judge) -> Broken:
    """As many verdicts as cases, also for none."""
    for count in (0, 1, 7):
        verdicts = judge.judge(sample_cases(count))
        if len(verdicts) != count:
            yield f"gave {len(verdicts)} verdicts for {count} cases"
        if strangers := [type(verdict).__name__ for verdict in verdicts if not isinstance(verdict, Verdict)]:
            yield f"gave a {strangers[0]} in place of a Verdict"


def the_order_of_the_cases_changes_no_verdict(judge: Judge) -> Broken:
    """The same verdicts for the same cases in another order."""
    cases = sample_cases(9)
    forwards = [verdict[:2] for verdict in judge.judge(cases)]
    backwards = [verdict[:2] for verdict in judge.judge(cases[::-1])]
    if forwards != backwards[::-1]:
        yield "gave other verdicts when the cases came in another order"


def an_opinion_exists_exactly_where_it_was_judged(judge: Judge) -> Broken:
    """State, opinion, times, tokens and text of a verdict fit together."""
    cases = [*sample_cases(9), *ODD_CASES]
    for case, verdict in zip(cases, judge.judge(cases), strict=True):
        where = f"case {case.case!r}: "
        if verdict.state not in VERDICT_STATES:
            yield f"{where}state {verdict.state!r} is none of {', '.join(VERDICT_STATES)}"
        if (verdict.correct is not None) != (verdict.state == "judged"):
            yield f"{where}an opinion of {verdict.correct} in state {verdict.state!r}"
        if verdict.latency_s < 0 or verdict.tokens < 0:
            yield f"{where}took {verdict.latency_s} s and {verdict.tokens} tokens"
        if len(verdict.text) >= LONGEST_TEXT:
            yield f"{where}keeps {len(verdict.text)} letters of text; cut them below {LONGEST_TEXT}"


def odd_cases_pass_through_panel_and_store(judge: Judge) -> Broken:
    """A panel with a store decides the odd cases, also when it meets them again."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            decisions = Panel([judge], store=VerdictStore(Path(folder) / "store.jsonl")).decide(list(ODD_CASES))
            if len(decisions) != len(ODD_CASES):
                yield f"a panel of it decided {len(decisions)} of {len(ODD_CASES)} odd cases"


def a_panel_decides_as_its_only_judge(judge: Judge) -> Broken:
    """A panel of one decides what the one says."""
    cases = sample_cases(5)
    alone, decided = [v.correct for v in judge.judge(cases)], [d.correct for d in Panel([judge]).decide(cases)]
    if alone != decided:
        yield f"said {alone} alone and {decided} as the only judge of a panel"


JUDGE_RULES = (
    there_is_one_verdict_per_case,
    the_order_of_the_cases_changes_no_verdict,
    an_opinion_exists_exactly_where_it_was_judged,
    odd_cases_pass_through_panel_and_store,
    a_panel_decides_as_its_only_judge,
)
