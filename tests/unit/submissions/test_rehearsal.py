"""A rehearsal tells what the organisers would see, and above all when something is silently worth nothing."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from hostile_programs import SERVE, good, script
from submission_runs import events
from surgvalid import results
from surgvalid.asking.journal import forget_run
from surgvalid.asking.plan import AskingRules, PlanState
from surgvalid.asking.session import Participant, Workplace, open_tcp_session
from surgvalid.errors import Misuse, UnknownName
from surgvalid.sandbox import Launch, open_engine
from surgvalid.sandbox.process import ProcessEngine
from surgvalid.submissions.rehearsal import Rehearsal, RehearsalSettings, rehearse
from surgvalid.submissions.results import run_facts
from surgvalid.submissions.starter import KINDS, new_pack

BATCH = """
import json, os
source, target = os.environ["SURG_INPUT"], os.environ["SURG_OUTPUT"]
answers = []
for r in json.load(open(source + "/request.json")):
    try:
        open(source + "/frames/" + r["qID"] + ".png", "rb").close()
        content = "yes"
    except OSError as error:
        print("cannot open", error)
        content = ""
    answers.append({"qID": r["qID"], "content": content, "latency": 0.1})
json.dump(answers, open(target + "/answer.json", "w"))
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    new_pack(tmp_path / "pack")
    return tmp_path / "pack"


def go(pack: Path, command: tuple[str, ...], out: str = "out", **settings: Any) -> Rehearsal:
    chosen = RehearsalSettings(**{"state": PlanState.FREE, "replicates": 20, "budget_s": 20.0} | settings)
    return rehearse(pack / "example_input", out=pack.parent / out, command=command, settings=chosen)


def test_a_good_program_gets_numbers_and_a_score(pack: Path, tmp_path: Path) -> None:
    found = go(pack, good(tmp_path, "return 'yes'"))
    assert found.run.outcomes == {"ok": 3}
    assert not found.is_worrying
    assert found.score is not None
    assert found.score.headline["accuracy"] == pytest.approx(0.25)
    for word in ("p50", "p95", "max", "headroom", "forfeited  0 late", "memory     peak", "score      0.2500"):
        assert word in found.prose
    assert (tmp_path / "out" / "scores" / "results.csv").is_file()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["verb"] == "rehearse"
    assert len(json.loads((tmp_path / "out" / "answer.json").read_text())) == 3


def test_a_rehearsal_is_a_result_whose_copy_is_the_same_run(pack: Path, tmp_path: Path) -> None:
    rehearsal = go(pack, good(tmp_path, "return 'yes'"))
    assert rehearsal.table.rows() == [("ok", 3)]
    rehearsal.to_dir(tmp_path / "copy")
    stored = results.read(tmp_path / "copy")
    assert stored.table.rows() == [("ok", 3)]
    assert (stored.prose, stored.findings) == (rehearsal.prose, rehearsal.findings)
    assert run_facts(tmp_path / "copy") == run_facts(tmp_path / "out") == rehearsal.run


def test_the_same_works_over_loopback(pack: Path, tmp_path: Path) -> None:
    found = go(pack, good(tmp_path, "return os.environ['SURG_SOCKET']"), protocol="server-tcp")
    assert found.run.outcomes == {"ok": 3}
    with pytest.raises(Misuse, match="no loopback in common"):
        open_tcp_session(
            open_engine("podman"), Participant(image="x"), AskingRules(), Workplace(tmp_path, tmp_path, tmp_path)
        )


def test_without_references_there_is_no_score_and_it_says_so(pack: Path, tmp_path: Path) -> None:
    (pack / "example_input" / "references.json").unlink()
    found = go(pack, good(tmp_path))
    assert found.score is None
    assert "no references" in found.prose


def test_late_invalid_and_crashed_answers_are_listed_with_reasons(pack: Path, tmp_path: Path) -> None:
    body = (
        "if 'sponge' in question['question']: time.sleep(4.5)\n"
        "if 'clips' in question['question']: raise ValueError('no clips today')\n"
        "return 'none'"
    )
    found = go(pack, good(tmp_path, body), budget_s=4.0)
    assert found.run.outcomes == {"ok": 1, "timeout": 1, "invalid": 1}
    assert {f.code for f in found.findings} == {"answer-timeout", "answer-invalid", "container-said"}
    assert "headroom   none: 1 late" in found.prose
    assert "no clips today" in found.prose
    assert found.is_worrying
    assert found.score is not None
    late = found.score.results.filter(found.score.results["timed_out"])["qID"].to_list()
    assert late == ["example-1"]


SERVING = "import importlib.util\nspec = importlib.util.spec_from_file_location('serve', {serve!r})\n"
SERVING += "serve = importlib.util.module_from_spec(spec); spec.loader.exec_module(serve)\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("serve.serve(lambda question: 3)", ["got 3; answer with a string, also for a number"]),
        ("serve.serve(lambda question: print('yes'))", ["got nothing; answer with a string"]),
        (
            "serve.serve(lambda question: question['frame'])",
            ["status 500", "what the program printed", "KeyError: 'frame'"],
        ),
        (
            "open('/app/weights.pt')",
            ["exit code 1 before it was ready", "(4 times)", "directory: '/app", "serve(answer)"],
        ),
        ("open('/input/request.json')", ["directory: '/input/request.json'", "--rules protocol=batch"]),
        ("serve.serve(lambda question: '', listen='127.0.0.1:0')", ["not ready within 1 s", "SURG_SOCKET names"]),
        ("serve.serve(lambda question: '')", ["3 of 3 answers are empty"]),
    ],
)
def test_a_usual_mistake_is_told_once_and_with_its_remedy(
    pack: Path, tmp_path: Path, text: str, said: list[str]
) -> None:
    slow_to_start = {"start_up_s": 1.0} if "not ready within 1 s" in said else {}
    command = script(tmp_path, SERVING.format(serve=str(SERVE)) + text)
    found = go(pack, command, state=PlanState.PER_VIDEO, **slow_to_start)
    assert found.is_worrying
    for part in said:
        assert found.prose.count(part) == 1, found.prose


def test_what_was_printed_where_an_answer_was_lost_outlives_later_containers(pack: Path, tmp_path: Path) -> None:
    """Each question has a container of its own here, and only the first one fails."""
    seen = tmp_path / "seen"
    body = f"first = not os.path.exists({str(seen)!r}); open({str(seen)!r}, 'w').close()\n"
    body += "print('this is', 'the first' if first else 'another', flush=True)\nreturn None if first else 'yes'"
    found = go(pack, good(tmp_path, body), state=PlanState.PER_QUESTION)
    assert found.run.outcomes == {"ok": 2, "invalid": 1}
    assert "this is the first" in found.prose
    assert "this is another" not in found.prose


def test_a_program_that_is_not_there_is_said_before_anything_is_asked(pack: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="'no-such-program' is no program of this machine"):
        go(pack, ("no-such-program", "app.py"))
    assert not (pack.parent / "out").exists()


def test_a_server_that_is_given_a_batch_is_told_what_it_is(pack: Path, tmp_path: Path) -> None:
    found = go(pack, good(tmp_path), protocol="batch")
    assert found.run.outcomes == {"crashed": 3}
    assert "SURG_SOCKET is not set" in found.prose
    assert "(no batch)" in found.prose
    assert "nan" not in found.prose


def test_many_lost_questions_are_counted_not_listed(pack: Path, tmp_path: Path) -> None:
    rows = json.loads((pack / "example_input" / "request.json").read_text())
    for number in range(30):
        rows.append(rows[0] | {"qID": f"more-{number}"})
        shutil.copy(pack / "example_input/frames/example-1.png", pack / f"example_input/frames/more-{number}.png")
    (pack / "example_input" / "request.json").write_text(json.dumps(rows))
    found = go(pack, good(tmp_path, "return 3"))
    assert found.run.outcomes == {"invalid": 33}
    assert found.prose.count("must be text") == 1
    assert " and 17 more]" in found.prose
    assert "13 more questions were lost" in found.prose


def test_an_input_that_cannot_be_read_is_said_plainly(pack: Path, tmp_path: Path) -> None:
    (pack / "example_input" / "frames" / "example-2.png").write_bytes(b"")
    found = go(pack, good(tmp_path))
    assert found.run.outcomes == {"ok": 2, "not_asked": 1}
    assert "input-unreadable [example-2]: example-2.png is empty" in found.prose
    assert found.is_worrying


def test_a_container_that_misses_its_input_is_no_silent_zero(pack: Path, tmp_path: Path) -> None:
    """The program reads folders; given an archive it answers everything, with nothing."""
    command = script(tmp_path, BATCH)
    fine = go(pack, command, "folder", protocol="batch", budget="pooled")
    assert fine.run.empty == 0
    assert "in /input lay" not in fine.prose
    for layout in ("zip", "nested-zip"):
        lost = go(pack, command, layout, protocol="batch", budget="pooled", layout=layout)
        assert lost.run.outcomes == {"ok": 3}
        assert lost.is_worrying
        assert "3 of 3 answers are empty" in lost.prose
        (held,) = (finding.message for finding in lost.findings if finding.code == "input-held")
        assert held == "in /input lay: FO_definitions.json, batch-frames.zip, batch.json, request.json"
        assert "cannot open" in lost.prose


def test_both_budget_rules_are_reported(pack: Path, tmp_path: Path) -> None:
    command = script(tmp_path, BATCH)
    pooled = go(pack, command, "pooled", protocol="batch", budget="pooled", setup_s=120.0, budget_s=5.0)
    assert "of 135 s, headroom" in pooled.prose
    assert "0 of 3 (pooled: 120 s + 5 s each)" in pooled.prose
    told = go(pack, command, "told", protocol="batch", budget="per-question")
    assert "not verified" in told.prose


def test_an_overrun_says_what_is_forfeited(pack: Path, tmp_path: Path) -> None:
    command = script(tmp_path, BATCH + "\nimport time; time.sleep(600)")
    found = go(pack, command, protocol="batch", budget="pooled", setup_s=0.1, budget_s=0.1)
    assert found.run.outcomes == {"timeout": 3}
    assert "3 of 3 (pooled" in found.prose
    assert found.score is not None
    assert found.score.headline["accuracy"] == 0


def test_the_same_answer_to_everything_is_questioned(pack: Path, tmp_path: Path) -> None:
    rows = json.loads((pack / "example_input" / "request.json").read_text())
    for number in range(4):
        rows.append(rows[0] | {"qID": f"more-{number}"})
        shutil.copy(pack / "example_input/frames/example-1.png", pack / f"example_input/frames/more-{number}.png")
    (pack / "example_input" / "request.json").write_text(json.dumps(rows))
    found = go(pack, good(tmp_path))
    assert "all 7 answers are the same text" in found.prose
    assert not found.is_worrying


def test_an_interrupted_rehearsal_goes_on(pack: Path, tmp_path: Path) -> None:
    command = good(tmp_path, "return str(os.getpid())")
    first = go(pack, command)
    answers = tmp_path / "out" / "answers.jsonl"
    kept = answers.read_text().splitlines(keepends=True)[:2]
    answers.write_text("".join(kept))
    again = go(pack, command)
    assert again.run.outcomes == first.run.outcomes
    assert answers.read_text().startswith("".join(kept))
    assert len(events(tmp_path / "out", "started")) == 2


def test_settings_that_mean_nothing_are_refused(pack: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="pooled budget needs"):
        RehearsalSettings(budget="pooled")
    for wrong in ({"protocol": "http"}, {"budget": "none"}, {"track": "film"}):
        with pytest.raises(UnknownName):
            RehearsalSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="either an image or a command"):
        rehearse(pack / "example_input", out=tmp_path / "o", engine="process")
    with pytest.raises(Misuse, match=r"not installed"):
        rehearse(pack / "example_input", out=tmp_path / "o", image="x.tar", engine="podman", runtime="no-such-runtime")


@pytest.mark.parametrize("kind", KINDS)
def test_every_pack_has_what_it_needs_and_compiles(tmp_path: Path, kind: str) -> None:
    written = new_pack(tmp_path / kind, kind=kind)
    names = {str(path.relative_to(tmp_path / kind)) for path in written}
    assert {"Dockerfile", "README.md", "app.py", "requirements.txt", "serve.py", "rehearse.sh"} <= names
    for path in written:
        if path.suffix == ".py":
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
    text = (tmp_path / kind / "Dockerfile").read_text()
    assert "\nUSER 65534:65534\n" in text
    assert all(f"COPY {name}" in text or name in text for name in ("app.py", "serve.py"))


def test_the_plain_pack_works_as_it_is(pack: Path) -> None:
    found = go(pack, (sys.executable, "-E", str(pack / "app.py")))
    assert found.run.outcomes == {"ok": 3}
    assert found.score is not None
    assert found.score.headline["accuracy"] == pytest.approx(0.75)


def test_a_pack_is_not_written_over(pack: Path) -> None:
    (pack / "app.py").write_text("mine")
    with pytest.raises(Misuse, match="exists already"):
        new_pack(pack)
    assert (pack / "app.py").read_text() == "mine"
    new_pack(pack, force=True)
    assert (pack / "app.py").read_text() != "mine"
    with pytest.raises(UnknownName):
        new_pack(pack, kind="rust")


def test_a_program_that_was_edited_is_another_run_and_one_that_was_not_is_not_run_again(
    pack: Path, tmp_path: Path
) -> None:
    command = (sys.executable, str(pack / "app.py"))
    first = go(pack, command)
    assert "nothing was run" not in first.prose
    again = go(pack, command)
    assert "nothing was run: answers of 20" in again.prose
    assert again.score is not None
    (pack / "model.py").write_text("ANSWER = 'no'\n")
    with pytest.raises(Misuse, match=r"holds another run: entrant: files: .*model\.py differ"):
        go(pack, command)
    (pack / "model.py").unlink()
    (pack / "app.py").write_text((pack / "app.py").read_text().replace("def answer", "# better\ndef answer"))
    with pytest.raises(Misuse, match=r"app\.py differ"):
        go(pack, command)


def test_other_videos_or_another_code_folder_are_another_run(pack: Path, tmp_path: Path) -> None:
    command = good(tmp_path / "program")
    go(pack, command)
    frame = next((pack / "example_input" / "frames").iterdir())
    frame.write_bytes(frame.read_bytes() + b" ")
    with pytest.raises(Misuse, match="holds another run: media differ"):
        go(pack, command)


def test_what_a_rehearsal_writes_into_the_code_folder_is_no_part_of_the_code(pack: Path) -> None:
    def mark() -> object:
        return Participant(command=("true",), code=pack).as_dict()["code"]

    before = mark()
    rehearse(
        pack / "example_input", out=pack / "rehearsal", command=(sys.executable, str(pack / "app.py")),
        settings=RehearsalSettings(state=PlanState.FREE, replicates=10),
    )  # fmt: skip
    assert mark() == before
    (pack / "app.py").write_text("other")
    assert mark() != before


def test_a_folder_is_claimed_only_when_the_launch_is_possible(pack: Path, tmp_path: Path) -> None:
    class NoGpu(ProcessEngine):
        def check(self, launch: Launch) -> None:
            if launch.gpu is not None:
                raise Misuse("no NVIDIA GPU is here")

    program = good(tmp_path / "program")
    common: dict[str, Any] = {"out": tmp_path / "out", "command": program, "engine": NoGpu()}
    with pytest.raises(Misuse, match="no NVIDIA GPU"):
        rehearse(pack / "example_input", gpu="0", **common)
    found = rehearse(pack / "example_input", settings=RehearsalSettings(state=PlanState.FREE, replicates=10), **common)
    assert found.run.outcomes == {"ok": 3}


def test_a_second_start_in_one_folder_is_refused_and_harms_nothing(pack: Path, tmp_path: Path) -> None:
    """The second one comes while the first is asking; before, it removed the sockets of the first."""
    program = good(tmp_path / "program")
    tried: list[str] = []

    def start_another(_: int) -> None:
        with pytest.raises(Misuse, match="another process is at work"):
            go(pack, program)
        with pytest.raises(Misuse, match="another process is at work"):
            forget_run(tmp_path / "out")
        tried.append("yes")

    chosen = RehearsalSettings(state=PlanState.FREE, replicates=20, budget_s=20.0)
    found = rehearse(
        pack / "example_input", out=tmp_path / "out", command=program, settings=chosen, progress=start_another
    )
    assert found.run.outcomes == {"ok": 3}
    assert len(tried) == 3
