"""`surgvalid tools doctor` from the command line, with engines and trials as a test wants them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import UnknownName
from surgvalid.sandbox import ENGINES, Problem, ProblemSeverity, Trial
from surgvalid.sandbox.bubblewrap import BubblewrapEngine
from surgvalid.sandbox.docker import DockerEngine
from surgvalid.sandbox.podman import PodmanEngine

BROKEN = Problem("broken", "it is broken", "mend it")
WEAK = Problem("not-root", "it is weak", "be root", ProblemSeverity.WEAKENS)
PASSED = Trial(1.25, ("it is gone",))


def set_problems(monkeypatch: pytest.MonkeyPatch, podman: tuple[Problem, ...], trial: Trial = PASSED) -> None:
    monkeypatch.setattr("surgvalid.sandbox.trial_run", lambda engine: trial)
    monkeypatch.setattr(PodmanEngine, "problems", lambda self: podman)
    monkeypatch.setattr(DockerEngine, "problems", lambda self: (BROKEN,))
    monkeypatch.setattr(BubblewrapEngine, "problems", lambda self: (BROKEN,))


def test_every_engine_is_examined_and_each_problem_has_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    set_problems(monkeypatch, ())
    result = CliRunner().invoke(build_app(), ["tools", "doctor"])
    assert result.exit_code == 0
    assert (
        "podman: runs images, also on hidden data\n  trial: started, every limit as asked for; ended after"
        in result.stdout
    )
    assert "docker: does not work\n  problem: it is broken\n     fix: mend it" in result.stdout
    assert "process: runs commands, never on hidden data" in result.stdout


def test_nothing_usable_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    set_problems(monkeypatch, (BROKEN,))
    result = CliRunner().invoke(build_app(), ["tools", "doctor"])
    assert result.exit_code == 1
    assert "No engine that isolates works here" in result.stdout


def test_an_engine_whose_trial_fails_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    set_problems(monkeypatch, (), Trial(0.1, (), Problem("trial-failed", "a trial run failed", "try another")))
    result = CliRunner().invoke(build_app(), ["tools", "doctor", "--engine", "podman"])
    assert result.exit_code == 1
    assert "podman: does not work\n  problem: a trial run failed\n     fix: try another" in result.stdout
    assert (
        CliRunner().invoke(build_app(), ["tools", "doctor", "--engine", "podman", "--without", "trial"]).exit_code == 0
    )


def test_a_trial_tells_what_could_not_be_enforced() -> None:
    """A real one: a plain process keeps nothing in."""
    result = CliRunner().invoke(build_app(), ["tools", "doctor", "--engine", "process"])
    assert "trial: started, without death, memory, no-capabilities" in result.stdout


def test_a_runtime_that_is_not_installed_is_told_with_its_fix() -> None:
    result = CliRunner().invoke(
        build_app(), ["tools", "doctor", "--engine", "podman", "--engine", "runtime=no-such-runtime"]
    )
    assert result.exit_code == 1
    assert "not installed" in result.stdout
    assert "apt-get install" in result.stdout


def test_a_weak_engine_is_usable_but_not_for_hidden_data(monkeypatch: pytest.MonkeyPatch) -> None:
    set_problems(monkeypatch, (WEAK,))
    result = CliRunner().invoke(build_app(), ["tools", "doctor", "--json"])
    assert result.exit_code == 0
    told = {report["engine"]: report for report in json.loads(result.stdout)["engines"]}
    assert sorted(told) == sorted(ENGINES)
    assert told["podman"]["usable"]
    assert not told["podman"]["hidden_data"]
    assert told["podman"]["problems"] == [
        {"code": "not-root", "severity": "weakens", "message": "it is weak", "fix": "be root"}
    ]


def test_one_engine_can_be_asked_for_and_an_unknown_one_is_misuse() -> None:
    result = CliRunner().invoke(build_app(), ["tools", "doctor", "--engine", "process"])
    assert result.exit_code == 1
    assert "podman:" not in result.stdout
    result = CliRunner().invoke(build_app(), ["tools", "doctor", "--engine", "podmann"])
    assert isinstance(result.exception, UnknownName)
