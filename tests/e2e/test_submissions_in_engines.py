"""The starter pack and hostile programs in every engine that can run here: same outcomes, no leftovers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hostile_programs import raw, script
from python_image import python_archive
from sandbox_engines import ENGINES
from submission_places import LIMITS, Place, leftovers, submission_place
from submission_runs import events, outcomes, records, rules, tasks
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.journal import forget_run
from surgvalid.asking.plan import PlanState
from surgvalid.errors import Misuse
from surgvalid.sandbox import gpus_here, held_image, inspect_image, open_engine
from surgvalid.sandbox._watchdog import kill_marked
from surgvalid.submissions.batch import BatchRules, run_batches
from surgvalid.submissions.gc_invoke import open_invoke_session
from surgvalid.submissions.handing_in import take_submission
from surgvalid.submissions.phase import phase_of
from surgvalid.submissions.phase_run import _linked, run_submission
from surgvalid.submissions.phase_scores import score_submission
from surgvalid.submissions.phase_status import status_of
from surgvalid.submissions.rehearsal import Rehearsal, RehearsalSettings, rehearse
from surgvalid.submissions.starter import new_pack
from unit.submissions.test_batch import READ, WRITE, inputs
from unit.submissions.test_gc_invoke import SERVER, free_port
from waiting import until


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with submission_place(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


def run(place: Place, folder: Path, command: tuple[str, ...], count: int = 6, **changes: Any) -> dict[str, Any]:
    settings = {"health_s": 60.0, "budget_s": 60.0, "stop_s": 0.3} | changes
    out = run_tasks(
        tasks(folder / "media", count, 2), engine=place.engine, entrant=place.entrant(command), out=folder / "out",
        rules=rules(**settings),
    )  # fmt: skip
    assert not leftovers(place, out)
    return records(out)


def test_the_starter_pack_is_rehearsed_and_scored(place: Place, tmp_path: Path) -> None:
    settings = RehearsalSettings(state=PlanState.FREE, replicates=10, budget_s=60.0)
    what: dict[str, Any] = {"command": ("/usr/bin/python3", f"{place.home}/pack/app.py")}
    if place.archive:
        what = {"image": place.archive}
    elif place.engine.name != "process":
        what = {"command": ("/usr/bin/python3", "/app/app.py"), "code": place.home / "pack"}
    found = rehearse(
        place.home / "pack" / "example_input", out=tmp_path / "out", engine=place.engine, limits=LIMITS,
        settings=settings, **what,
    )  # fmt: skip
    assert found.run.outcomes == {"ok": 3}, found.prose
    assert found.score is not None
    assert found.score.headline["accuracy"] == pytest.approx(0.75)
    assert found.run.peak_memory_mb is not None
    assert not leftovers(place, tmp_path / "out")


def test_a_rehearsal_after_an_edit_is_another_run_and_without_one_runs_nothing(place: Place, tmp_path: Path) -> None:
    pack, app = tmp_path / "pack", tmp_path / "pack" / "app.py"
    new_pack(pack)

    def again() -> Rehearsal:
        what: dict[str, Any] = {"command": ("/usr/bin/python3", str(app))}
        if place.archive:
            what = {"image": python_archive(tmp_path / "image.tar", pack, unique="pack")}
        elif place.engine.name != "process":
            what = {"command": ("/usr/bin/python3", "/app/app.py"), "code": pack}
        return rehearse(
            pack / "example_input", out=tmp_path / "out", engine=place.engine, limits=LIMITS,
            settings=RehearsalSettings(state=PlanState.FREE, replicates=10, budget_s=60.0), **what,
        )  # fmt: skip

    assert "nothing was run" not in again().prose
    assert "nothing was run: answers of" in again().prose
    app.write_text(app.read_text().replace("serve(answer, name", "serve(lambda question: 'edited', name"))
    with pytest.raises(Misuse, match="holds another run: entrant"):
        again()
    forget_run(tmp_path / "out")
    assert again().run.distinct == 1
    assert {record.content for record in records(tmp_path / "out").values()} == {"edited"}


def test_every_kind_of_misbehaviour_costs_its_own_question_only(place: Place, tmp_path: Path) -> None:
    """Garbage, a wrong name, a chunked reply and a crash in one run; the rest is answered by a new container."""
    body = (
        "folder = os.path.dirname(question['video'])\n"
        "shown = ' '.join(os.listdir(folder))\n"
        "if count == 1: reply(connection, b'garbage')\n"
        "elif count == 2 and earlier: reply(connection, good.replace(question['qID'].encode(), earlier.encode()))\n"
        "elif count == 3: connection.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n')\n"
        "elif count == 4: os._exit(3)\n"
        "else: reply(connection, good.replace(b'yes', shown.encode()))"
    )
    found = run(place, tmp_path, raw(tmp_path / "programs", body), 5)
    assert sorted(outcomes(found).values()) == ["crashed", "invalid", "invalid", "invalid", "invalid"]
    assert len(events(tmp_path / "out", "started")) == 2


def test_a_hang_is_cut_and_a_video_is_there_only_when_it_is_asked_about(place: Place, tmp_path: Path) -> None:
    body = (
        "shown = os.listdir(os.path.dirname(question['video']))\n"
        "if count == 2: time.sleep(600)\n"
        "text = open(question['video']).read() + ' ' + str(len(shown))\n"
        "reply(connection, good.replace(b'yes', text.encode()))"
    )
    found = run(place, tmp_path, raw(tmp_path / "programs", body), 4, budget_s=3.0, health_s=0.5)
    counted = sorted(outcomes(found).values())
    assert counted.count("timeout") >= 1
    assert {r.content for r in found.values() if r.outcome == "ok"} <= {f"video {i} 1" for i in range(2)}


def test_a_container_killed_behind_our_back_is_a_crash_and_the_run_goes_on(place: Place, tmp_path: Path) -> None:
    asked = tasks(tmp_path / "media", 3)
    calls: list[int] = []

    def kill_after_first(_: int) -> None:
        calls.append(1)
        if len(calls) == 1:
            name = events(tmp_path / "out", "started")[0]["id"]
            if place.engine.takes_images:
                subprocess.run([place.engine.name, "kill", name], capture_output=True, check=True)
            else:
                # Until none is left: what is dying must not answer the next question.
                until(lambda: not kill_marked(name), 60, "it does not die")

    out = run_tasks(
        asked, engine=place.engine, entrant=place.entrant(raw(tmp_path / 'programs', "reply(connection, good)")),
        rules=rules(budget_s=60.0, stop_s=0.3), out=tmp_path / "out", progress=kill_after_first,
    )  # fmt: skip
    assert sorted(outcomes(records(out)).values()) == ["crashed", "ok", "ok"]
    assert not leftovers(place, out)


def test_names_of_the_host_are_not_seen_inside(place: Place, tmp_path: Path) -> None:
    """Neither among what is mounted nor on the command line of the first process; a plain process sees everything."""
    if place.engine.name == "process":
        pytest.skip("a plain process sees the host's own files")
    body = (
        "seen = open('/proc/self/mountinfo').read() + open('/proc/1/cmdline').read()\n"
        "names = [word for word in ('team', 'weights') if 'secret-' + word in seen]\n"
        "names += ['flags'] if '--ro-' + 'bind' in seen else []\n"
        "reply(connection, good.replace(b'yes', ' '.join(names).encode() or b'none'))"
    )
    weights = tmp_path / "secret-weights"
    weights.mkdir()
    with _linked(weights) as linked:
        entrant = replace(place.entrant(raw(tmp_path / "programs", body)), weights=linked)
        out = run_tasks(
            tasks(tmp_path / "media", 2), engine=place.engine, entrant=entrant, rules=rules(budget_s=60.0, stop_s=0.3),
            out=tmp_path / "secret-team" / "out",
        )  # fmt: skip
    assert {record.content for record in records(out).values()} == {"none"}


def test_a_phase_is_run_and_its_evidence_names_machine_image_and_canary(place: Place, tmp_path: Path) -> None:
    new_pack(tmp_path / "pack")
    questions = tmp_path / "pack" / "example_input"
    references = (questions / "references.json").rename(tmp_path / "references.json")
    limits = {"memory_mb": 256, "scratch_mb": 16, "shm_mb": 16, "output_mb": 8, "cpus": 1}
    phase = phase_of({
        "name": "p", "track": "frame", "engines": [place.engine.name], "run": limits,
        "budget": {"seconds": 60, "state": "free"},
    })  # fmt: skip
    run, what = tmp_path / "runs" / "a", _to_run(place, tmp_path / "pack")
    if place.archive:
        assert take_submission(phase, run, image=place.archive).stage == "intake_ok"
        what = {}
    out = run_submission(phase, questions, out=run, engine=place.engine, **what)
    assert {record.outcome.value for record in records(out).values()} == {"ok"}
    (kept,) = events(out, "evidence")
    assert kept["canary"] == place.engine.name
    assert kept["canary_before_s"] > 0
    assert kept["canary_after_s"] > 0
    assert kept["verdict"] in ("ok", "slower")
    if place.archive:
        facts = inspect_image(place.archive)
        assert (kept["image"], kept["clean_image"]) == (facts.digest, facts.clean_digest)
        assert kept["engine_version"]
    scored = score_submission(phase, run, requests=questions / "request.json", references=references, replicates=10)
    assert scored.headline["accuracy"] == pytest.approx(0.75)
    assert status_of(run)["stage"] == "scored"


def _to_run(place: Place, pack: Path) -> dict[str, Any]:
    if place.engine.name == "process":
        return {"command": ("/usr/bin/python3", str(pack / "app.py"))}
    return {"command": ("/usr/bin/python3", "/app/app.py"), "code": pack}


def test_a_gpu_that_is_not_here_is_refused_and_claims_no_folder(place: Place, tmp_path: Path) -> None:
    if place.engine.name == "process" or gpus_here():
        pytest.skip("a plain process has whatever the machine has, and a GPU that is here is given")
    what = {"image": place.archive} if place.archive else _to_run(place, place.home / "pack")
    for _ in range(2):
        with pytest.raises(Misuse, match="GPU"):
            rehearse(
                place.home / "pack" / "example_input", out=tmp_path / "out", engine=place.engine, gpu="0",
                limits=LIMITS, settings=RehearsalSettings(replicates=10), **what,
            )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_an_image_stays_in_the_engine_until_the_last_run_that_needs_it_ends(place: Place, tmp_path: Path) -> None:
    if place.archive is None:
        pytest.skip("it runs commands, not images")
    archive = python_archive(tmp_path / "image.tar", place.home / "pack")
    with ExitStack() as second:
        with held_image(place.engine, archive) as image:
            assert second.enter_context(held_image(open_engine(place.engine.name), archive)) == image
        assert image in place.engine.images(), "the first rehearsal took the image from the second"
    assert image not in place.engine.images()


def test_a_batch_is_answered(place: Place, tmp_path: Path) -> None:
    text = READ.replace('os.environ["SURG_INPUT"]', 'os.environ.get("SURG_INPUT", "/input")')
    text = text.replace('os.environ["SURG_OUTPUT"]', 'os.environ.get("SURG_OUTPUT", "/output")')
    entrant = place.entrant(script(tmp_path / "programs", text + WRITE))
    out = run_batches(
        inputs(tmp_path), engine=place.engine, entrant=entrant, rules=BatchRules(share_s=60.0), out=tmp_path / "out"
    )
    assert outcomes(records(out)) == {f"q{i}": "ok" for i in range(4)}
    (batch,) = events(out, "batch")
    assert batch["evidence"]


def test_one_of_that_mode_that_ends_at_once_has_crashed_and_nothing_failed_on_our_side(
    place: Place, tmp_path: Path
) -> None:
    out = run_tasks(
        tasks(tmp_path / "media", 2), engine=place.engine, out=tmp_path / "out",
        entrant=place.entrant(script(tmp_path / "p", "raise SystemExit(7)")), rules=rules(stop_s=0.3, most_restarts=1),
        open_with=partial(open_invoke_session, port=free_port()),
    )  # fmt: skip
    assert outcomes(records(out)) == {"q0": "crashed", "q1": "crashed"}, events(out)
    assert all("exit code 7" in failed["detail"] for failed in events(out, "start_failed"))


def test_a_container_of_grand_challenges_long_lived_mode_is_asked(place: Place, tmp_path: Path) -> None:
    text = SERVER.replace("BODY", "pass")
    for name, default in (("SURG_INPUT", "/input"), ("SURG_OUTPUT", "/output"), ("SURG_PORT", "4743")):
        text = text.replace(f'os.environ["{name}"]', f'os.environ.get("{name}", "{default}")')
    out = run_tasks(
        tasks(tmp_path / "media", 2), engine=place.engine, entrant=place.entrant(script(tmp_path / "p", text)),
        rules=rules(budget_s=60.0, stop_s=0.3), out=tmp_path / "out",
        open_with=partial(open_invoke_session, port=free_port()),
    )  # fmt: skip
    assert outcomes(records(out)) == {"q0": "ok", "q1": "ok"}, events(out)
