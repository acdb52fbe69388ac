import dataclasses
import json
import threading
from pathlib import Path

import pytest

from judge_cases import Saying, a_case, always, some_cases
from surgvalid.errors import FileUnreadable, RunInterrupted
from surgvalid.judges import Panel, Verdict, VerdictStore, open_judge
from surgvalid.judges._verdict_file import content_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "verdicts.jsonl"


def test_a_verdict_is_found_again_by_another_run(path: Path) -> None:
    verdict = Verdict(True, "judged", "same", 1.25, 40)
    VerdictStore(path).put("j", a_case(), verdict)
    assert VerdictStore(path).get("j", a_case()) == verdict
    assert VerdictStore(path).get("another", a_case()) is None
    assert len(VerdictStore(path)) == 1


def test_the_key_covers_content_and_not_the_identifier() -> None:
    case = a_case(definitions="d")
    assert content_key("j", case) == content_key("j", dataclasses.replace(case, case="q9"))
    changes = dict.fromkeys(["procedure", "question", "reference", "candidate", "definitions"], "x")
    changes |= {"start_s": 1.0, "end_s": 99.0}
    keys = {content_key("j", dataclasses.replace(case, **{key: value})) for key, value in changes.items()}
    assert len(keys | {content_key("j", case), content_key("k", case)}) == len(changes) + 2


def test_texts_that_meet_at_another_place_have_another_key() -> None:
    assert content_key("j", a_case("b", reference="a")) != content_key("j", a_case("", reference="ab"))


def test_another_prompt_version_is_asked_anew(path: Path) -> None:
    VerdictStore(path).put("j", a_case(), Verdict(True, "judged"))
    assert VerdictStore(path).get("j", a_case(), "next") is None


def test_failures_are_no_results_and_are_asked_again(path: Path) -> None:
    Panel([always("j", None, "failed")], store=VerdictStore(path)).decide(some_cases(3))
    assert not path.exists()
    judge = always("j", True)
    Panel([judge], store=VerdictStore(path)).decide(some_cases(3))
    assert len(judge.asked) == 3


def test_abstentions_are_results(path: Path) -> None:
    Panel([always("j", None)], store=VerdictStore(path)).decide(some_cases(3))
    judge = always("j", True)
    decisions = Panel([judge], store=VerdictStore(path)).decide(some_cases(3))
    assert judge.asked == []
    assert {d.state for d in decisions} == {"abstained"}


def test_an_interrupted_run_resumes_without_asking_twice(path: Path) -> None:
    class Interrupted(Saying):
        def judge_each(self, cases, done):  # type: ignore[no-untyped-def]
            for position, case in enumerate(cases):
                if len(self.asked) == 4:
                    raise KeyboardInterrupt
                done(position, self.judge([case])[0])

    first = Interrupted("j", lambda case: Verdict("cystic" in case.candidate, "judged"))
    with pytest.raises(KeyboardInterrupt):
        Panel([first], store=VerdictStore(path)).decide(some_cases(10))
    second = Saying("j", lambda case: Verdict("cystic" in case.candidate, "judged"))
    panel = Panel([second], store=VerdictStore(path))
    decisions = panel.decide(some_cases(10))
    assert first.asked + second.asked == [f"q{i}" for i in range(10)]
    assert [d.correct for d in decisions] == [i % 2 == 1 for i in range(10)]
    assert (panel.counts()["asked"], panel.counts()["reused"]) == (6, 4)


def test_a_second_judge_is_the_only_one_asked(path: Path) -> None:
    Panel([always("a", True)], store=VerdictStore(path)).decide(some_cases(5))
    first, second = always("a", True), always("b", False)
    decisions = Panel([first, second], store=VerdictStore(path)).decide(some_cases(5))
    assert (len(first.asked), len(second.asked)) == (0, 5)
    assert {d.state for d in decisions} == {"tie"}


def test_judges_that_cost_nothing_are_not_stored(path: Path) -> None:
    Panel([open_judge("exact"), open_judge("none")], store=VerdictStore(path)).decide(some_cases(3))
    assert not path.exists()


def test_a_line_cut_by_an_interruption_costs_one_verdict_and_no_more(path: Path) -> None:
    store = VerdictStore(path)
    for case in some_cases(3):
        store.put("j", case, Verdict(True, "judged"))
    path.write_bytes(path.read_bytes()[:-30])
    store = VerdictStore(path)
    assert len(store) == 2
    assert len(store.problems) == 1
    store.put("j", some_cases(3)[2], Verdict(False, "judged"))
    assert VerdictStore(path).get("j", some_cases(3)[2]) == Verdict(False, "judged")
    assert len(VerdictStore(path)) == 3


def test_the_first_of_two_equal_questions_counts(path: Path) -> None:
    one, two = VerdictStore(path), VerdictStore(path)
    one.put("j", a_case(), Verdict(True, "judged"))
    two.put("j", a_case(), Verdict(False, "judged"))
    found = VerdictStore(path).get("j", a_case())
    assert found is not None
    assert found.correct is True


def test_several_runs_may_write_at_once(path: Path) -> None:
    def run(name: str) -> None:
        store = VerdictStore(path)
        for case in some_cases(100):
            store.put(name, case, Verdict(True, "judged", "x" * 400))

    threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = VerdictStore(path)
    assert len(store) == 400
    assert store.problems == []


def test_somebody_elses_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"qID": "1", "content": "x"}\n')
    with pytest.raises(FileUnreadable, match="is no store of replies"):
        VerdictStore(path)
    assert path.read_text() == '{"qID": "1", "content": "x"}\n'


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunInterrupted, match="cannot be written"):
        VerdictStore(tmp_path / "file" / "verdicts.jsonl").put("j", a_case(), Verdict(True, "judged"))


def test_damaged_values_in_a_store_are_named_and_skipped(path: Path) -> None:
    VerdictStore(path).put("j", a_case(), Verdict(True, "judged"))
    good = json.loads(path.read_text())
    bad = [
        good | {"state": "judged", "verdict": "yes"},
        good | {"state": "judged", "verdict": None},
        good | {"state": "failed"},
        good | {"key": 7},
        good | {"key": "k", "latency_s": "soon", "tokens": "many"},
    ]
    with path.open("a") as handle:
        handle.writelines(json.dumps(row) + "\n" for row in bad)
    store = VerdictStore(path)
    assert store.get("j", a_case()) == Verdict(True, "judged")
    assert len(store.problems) == 2


def test_a_reply_that_says_nothing_usable_is_named_and_asked_again(path: Path) -> None:
    VerdictStore(path).put("j", a_case(), Verdict(True, "judged"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"verdict": "yes"}) + "\n")
    store = VerdictStore(path)
    assert store.get("j", a_case()) is None
    assert store.problems == ["verdicts.jsonl byte 0: no reply of this kind"]
    store.put("j", a_case(), Verdict(False, "judged"))
    assert VerdictStore(path).get("j", a_case()) == Verdict(False, "judged")


def test_any_candidate_survives_the_store_and_the_store_reads_as_a_verdict_file(path: Path) -> None:
    cases = [a_case("\ud800\u2028\n\u202e\x00", case="odd"), a_case("plain", case="even")]
    store = VerdictStore(path)
    store.put("j", cases[0], Verdict(True, "judged"))
    store.put("j", cases[1], Verdict(None, "abstained"))
    assert len(VerdictStore(path)) == 2
    verdicts = open_judge(f"cached:{path}").judge(cases)
    assert [v.state for v in verdicts] == ["judged", "abstained"]
