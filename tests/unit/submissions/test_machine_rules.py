"""The GPU of a phase is compared with the one that is there, before the folder of a run is claimed."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from hostile_programs import good
from stand_in_gpu import A100, T4, stand_in_gpus
from submission_runs import records, rules, tasks
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.session import Participant
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.sandbox import Gpu, gpus_here, open_engine, watched_gpu
from surgvalid.submissions.intake import check_submission
from surgvalid.submissions.machine_rules import unlike
from surgvalid.submissions.phase import GpuRule, SubmissionPhase, phase_of
from surgvalid.submissions.phase_run import run_submission
from surgvalid.submissions.rehearsal import phase_settings, rehearse
from surgvalid.submissions.starter import new_pack

needs_none = pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU's driver here")


def phase(**gpu: Any) -> SubmissionPhase:
    rule = {"count": 1} | gpu
    return phase_of({"name": "p", "track": "frame", "engines": ["process"], "gpu": rule, "budget": {"state": "free"}})


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    new_pack(tmp_path / "pack")
    (tmp_path / "pack" / "example_input" / "references.json").unlink()
    return tmp_path / "pack" / "example_input"


def run(rule: SubmissionPhase, questions: Path, tmp_path: Path, gpu: str | None) -> Path:
    return run_submission(rule, questions, out=tmp_path / "out", command=good(tmp_path / "program"), gpu=gpu)


def test_devices_are_read_from_the_drivers_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_gpus(tmp_path / "bin", monkeypatch, A100, T4)
    first, second = gpus_here()
    assert first == Gpu("0", "GPU-0a0a0a0a-1111-2222-3333-444455556666", "NVIDIA A100-SXM4-80GB", 81920)
    assert second.name == "Tesla T4"
    stand_in_gpus(tmp_path / "bin", monkeypatch)
    assert gpus_here() == ()


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (GpuRule(count=1), ""),
        (GpuRule(count=1, kind="a100", memory_mb=80000), ""),
        (GpuRule(count=1, kind="H100"), "it is called 'NVIDIA A100-SXM4-80GB'"),
        (GpuRule(count=1, memory_mb=90000), "it has 81920 MB"),
    ],
)
def test_a_device_keeps_class_and_memory_or_says_which_it_does_not(rule: GpuRule, reason: str) -> None:
    device = Gpu("0", "GPU-1", "NVIDIA A100-SXM4-80GB", 81920)
    assert reason in unlike(rule, device)
    assert bool(unlike(rule, device)) == bool(reason)


@needs_none
def test_without_the_drivers_program_a_rule_cannot_be_kept_and_nothing_is_claimed(
    questions: Path, tmp_path: Path
) -> None:
    with pytest.raises(Misuse, match=r"gives a container a GPU of class 'A100'.*nvidia-smi.* is not here"):
        run(phase(**{"class": "A100"}), questions, tmp_path, "0")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("gpu", "reason"),
    [
        ("1", "GPU 1 .Tesla T4, 15360 MB. is another: it is called 'Tesla T4' and it has 15360 MB"),
        ("7", "nvidia-smi knows no '7' here, only GPU 0"),
        (None, "gives a container one GPU; name it"),
    ],
)
def test_another_gpu_is_refused_before_the_folder_is_claimed(
    gpu: str | None, reason: str, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_gpus(tmp_path / "bin", monkeypatch, A100, T4)
    with pytest.raises(Misuse, match=reason):
        run(phase(**{"class": "A100", "memory_mb": 40000}), questions, tmp_path, gpu)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("gpu", ["0", "GPU-0a0a0a0a-1111-2222-3333-444455556666"])
def test_the_right_one_is_taken_by_index_or_uuid_and_watched(
    gpu: str, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in_gpus(tmp_path / "bin", monkeypatch, A100, T4)
    place = run(phase(**{"class": "A100", "memory_mb": 40000}), questions, tmp_path, gpu)
    assert {record.outcome.value for record in records(place).values()} == {"ok"}


def test_memory_and_clock_of_the_gpu_stand_beside_each_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_gpus(tmp_path / "bin", monkeypatch, A100)
    out = run_tasks(
        tasks(tmp_path / "media", 2), engine=open_engine("process"), out=tmp_path / "out", rules=rules(),
        entrant=Participant(command=good(tmp_path / "program", "time.sleep(1.5)\nreturn 'yes'"), gpu="0"),
    )  # fmt: skip
    for record in records(out).values():
        assert record.usage is not None
        assert {name: record.usage[name] for name in ("gpu_memory_mb", "gpu_clock_mhz")} == {
            "gpu_memory_mb": 2048, "gpu_clock_mhz": 345,
        }  # fmt: skip


def test_a_watch_ends_with_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_gpus(tmp_path / "bin", monkeypatch, A100)
    with watched_gpu("0") as watch:
        deadline = time.monotonic() + 60
        while not watch.seen() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert watch.seen()
    with watched_gpu(None) as watch:
        assert watch.seen() == {}


def test_a_class_without_a_gpu_contradicts_itself() -> None:
    with pytest.raises(InputInvalid, match="mean nothing where count is 0"):
        phase(count=0, memory_mb=80000)


def test_a_check_names_the_gpus_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_gpus(tmp_path / "bin", monkeypatch, A100, T4)
    fitting = check_submission(phase(memory_mb=40000)).findings
    assert [f.message for f in fitting if f.subject == "gpu"] == ["GPU 0 (NVIDIA A100-SXM4-80GB, 81920 MB) fits"]
    lacking = check_submission(phase(**{"class": "H200"}))
    assert lacking.is_refused
    assert lacking.stage == "intake_ok", "what the machine lacks is not held against a team"


@needs_none
def test_a_rehearsal_says_where_its_gpu_is_not_that_of_the_phase(questions: Path, tmp_path: Path) -> None:
    made = rehearse(
        questions, out=tmp_path / "rehearsal", command=good(tmp_path / "program"),
        settings=phase_settings(phase(**{"class": "A100"}), replicates=10),
    )  # fmt: skip
    (finding,) = [finding for finding in made.findings if finding.code == "other-gpu"]
    assert "a GPU of class 'A100'; none was given here" in finding.message
    assert "other-gpu" in made.prose
    assert not made.is_worrying


def test_a_rehearsal_refuses_a_gpu_that_the_phase_does_not_have(questions: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="gives a container no GPU; got '0'"):
        rehearse(
            questions, out=tmp_path / "rehearsal", command=good(tmp_path / "program"), gpu="0",
            settings=phase_settings(phase(count=0)),
        )  # fmt: skip
    assert not (tmp_path / "rehearsal").exists()
