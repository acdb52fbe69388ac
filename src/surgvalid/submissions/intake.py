"""What a team hands in, looked at without being run, and whether this machine can run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.asking.fingerprint import folder_mark
from surgvalid.errors import InputInvalid, Misuse, SurgvalidError
from surgvalid.results.request import requested
from surgvalid.results.result import Result
from surgvalid.results.tables.tasks import CHECKS
from surgvalid.sandbox import Engine, Launch, inspect_image, open_engine
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.shown_text import as_cell
from surgvalid.submissions.description import read_description
from surgvalid.submissions.machine_rules import check_machine, gpu_notes
from surgvalid.submissions.phase import SubmissionPhase, read_phase
from surgvalid.submissions.stages import Stage

_OF_THE_TEAM = ("image", "weights", "description")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SubmissionCheck(Result):
    """What was let in and what was refused: table `checks`."""

    @property
    def is_refused(self) -> bool:
        """Whether anything keeps the submission from being run here."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def stage(self) -> Stage:
        """`intake_ok` or `intake_refused`; what the machine lacks is not held against a team."""
        refused = {f.subject for f in self.findings if f.severity is Severity.ERROR}
        return Stage.INTAKE_REFUSED if refused & set(_OF_THE_TEAM) else Stage.INTAKE_OK

    @property
    def title(self) -> str:
        """The stage."""
        return self.stage.value

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """No table: a terminal shows the stage, and the findings as sentences."""
        return {}

    def facts(self) -> dict[str, Any]:
        """The stage, and the findings one by one."""
        return {"stage": self.stage.value, "findings": [finding.as_dict() for finding in self.findings]}


@requested("submission check", files=("phase", "image", "description"))
def check_submission(
    phase: SubmissionPhase | str | Path,
    *,
    image: str | Path | None = None,
    weights: str | Path | None = None,
    description: str | Path | None = None,
    engine: str | None = None,
) -> SubmissionCheck:
    """Everything that keeps a submission from being run in a phase, and notes on what was let in.

    Nothing of the submission is run, and nothing is stored.

    Args:
        phase: Or its file.
        image: The archive that the team handed in.
        weights: A folder of weights.
        description: Of the method: a document, or a zip archive of some.
        engine: One of the phase's; the first that works without one.
    """
    rules = phase if isinstance(phase, SubmissionPhase) else read_phase(phase)
    findings = [
        *handed_in_findings(rules, image=image, weights=weights, description=description),
        *_judged("engine", lambda: _engine_notes(rules, engine, image)),
        *_judged("gpu", lambda: gpu_notes(rules)),
    ]
    return checked(findings)


def checked(findings: list[Finding]) -> SubmissionCheck:
    """The result of these findings."""
    rows = [
        {
            "about": finding.subject,
            "verdict": "refused" if finding.severity is Severity.ERROR else "taken",
            "detail": as_cell(finding.message),
        }
        for finding in findings
    ]
    result = SubmissionCheck(tables={"checks": CHECKS.frame(rows)}, findings=tuple(findings))
    return replace(result, prose=result.stage.value)


def handed_in_findings(
    phase: SubmissionPhase, *, image: str | Path | None, weights: str | Path | None, description: str | Path | None
) -> list[Finding]:
    """What is noticed about what a team handed in; errors are refusals."""
    findings: list[Finding] = []
    if image is not None:
        findings += _judged("image", lambda: _image_notes(Path(image), phase))
    if weights is not None:
        findings += _judged("weights", lambda: _weights_notes(Path(weights), phase))
    if description is not None:
        findings += _judged("description", lambda: _description_notes(Path(description)))
    return findings


def _judged(subject: str, look: Callable[[], Iterable[str]]) -> list[Finding]:
    """The notes of a look, or its refusals, one finding each."""
    try:
        return [Finding(f"{subject}-taken", Severity.NOTE, note, subject=subject) for note in look()]
    except InputInvalid as error:
        problems = list(error.problems)
    except (SurgvalidError, OSError) as error:
        problems = [str(error)]
    return [Finding(f"{subject}-refused", Severity.ERROR, problem, subject=subject) for problem in problems]


def _image_notes(image: Path, phase: SubmissionPhase) -> list[str]:
    facts = inspect_image(image, phase.image)
    sentence = f"{facts.size_mb:.0f} MB, {facts.layers} layers, {facts.digest}; stored and run as {facts.clean_digest}"
    return [sentence, *facts.notes]


def _weights_notes(weights: Path, phase: SubmissionPhase) -> list[str]:
    return [f"{weights_size_mb(weights, phase):.0f} MB, {folder_mark(weights)}"]


def _description_notes(description: Path) -> list[str]:
    return [f"{len(document.data):,} bytes in {document.name!r}" for document in read_description(description)]


def _engine_notes(phase: SubmissionPhase, engine: str | None, image: str | Path | None) -> list[str]:
    launch = None if image is None else Launch(image=str(image), hidden=phase.hidden)
    chosen = phase_engine(phase, engine, launch=launch)
    check_machine(phase, chosen)
    return [f"{chosen.name} can be used here; {problem}" for problem in chosen.problems()]


def weights_size_mb(weights: Path, phase: SubmissionPhase) -> float:
    """The megabytes of a folder of weights that a phase takes.

    Raises:
        InputInvalid: With a sentence per problem.
    """
    if not weights.is_dir():
        raise InputInvalid(str(weights), ["it is no folder"])
    files = [path for path in weights.rglob("*") if path.is_file() or path.is_symlink()]
    size_mb = sum(path.lstat().st_size for path in files) / 2**20
    problems = [f"{str(path.relative_to(weights))!r} is a link" for path in files if path.is_symlink()]
    closed = [path for path in (weights, *weights.rglob("*")) if not path.is_symlink() and not _is_open(path)]
    if closed:
        more = f" and {len(closed) - 1} more" if len(closed) > 1 else ""
        problems.append(f"{closed[0].name!r}{more} cannot be read by everyone; `chmod -R a+rX` them")
    if size_mb > phase.weights.size_mb:
        problems.append(f"it has {size_mb:.0f} MB; allowed are {phase.weights.size_mb}")
    if len(files) > phase.weights.files:
        problems.append(f"it has {len(files)} files; allowed are {phase.weights.files}")
    if problems:
        raise InputInvalid(str(weights), problems)
    return size_mb


def _is_open(path: Path) -> bool:
    """Whether anyone may read it: the program inside is nobody's user."""
    needed = 0o005 if path.is_dir() else 0o004
    return path.stat().st_mode & needed == needed


def phase_engine(
    phase: SubmissionPhase, name: str | None = None, runtime: str | None = None, *, launch: Launch | None = None
) -> Engine:
    """The first engine of a phase that can run this launch on this machine; without one, anything of its kind.

    Raises:
        Misuse: None can, or the one named is not among those of the phase.
    """
    if name is not None and name not in phase.engines:
        raise Misuse(f"phase {phase.name!r} runs in {', '.join(phase.engines)}; got {name!r}")
    names = (name,) if name else phase.engines
    reasons = []
    for one in names:
        try:
            opened = open_engine(one, runtime=runtime)
            if (problem := opened.available()) is not None:
                raise Misuse(str(problem))
            opened.check(launch or _anything(opened, hidden=phase.hidden))
        except Misuse as error:
            if len(names) == 1:
                raise
            reasons.append(f"{one}: {error}")
        else:
            return opened
    raise Misuse(f"no engine of phase {phase.name!r} can be used here: {'; '.join(reasons)}")


def _anything(engine: Engine, *, hidden: bool) -> Launch:
    return Launch(image="any", hidden=hidden) if engine.takes_images else Launch(command=("true",), hidden=hidden)
