"""Hand a submission in: its files are received in pieces, as a web service would, and stored whole or not at all.

The limits of the phase hold: for the files, and for uploads that a team began and did not finish, counted over all
submissions whose folders lie side by side. Then intake looks at what arrived.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from surgvalid.errors import Misuse
from surgvalid.results.manifest import sha256_of
from surgvalid.results.request import VerbRequest
from surgvalid.schema.findings import Finding, Severity
from surgvalid.submissions.description import KINDS
from surgvalid.submissions.intake import SubmissionCheck, checked, handed_in_findings
from surgvalid.submissions.phase import SubmissionPhase
from surgvalid.submissions.phase_status import check_phase, shard_folders, status_of, write_phase
from surgvalid.submissions.stages import Stage, note_stage, why_held
from surgvalid.submissions.uploads import Uploads

HANDED_IN, IMAGE, INTAKE = "handed-in", "image.tar", "intake"
_UPLOADS = ".uploads"
_CHUNK = 1 << 20


def take_submission(
    phase: SubmissionPhase,
    run: str | Path,
    *,
    team: str | None = None,
    image: str | Path | None = None,
    weights: str | Path | None = None,
    description: str | Path | None = None,
) -> SubmissionCheck:
    """What intake says of a submission that is now stored in its folder, also written to `intake` there.

    What was received before an interruption is not sent again. A part that intake refused makes way for another one;
    the parts that it took stay. Weights are looked at where they lie.

    Args:
        phase: Limits.
        run: The folder of the submission. The records of unfinished uploads lie beside it.
        team: Whose uploads are counted; the name of the folder without one.
        image: The archive that the team hands in.
        weights: A folder of weights.
        description: Of the method.

    Raises:
        Misuse: Nothing is handed in, or the submission is held, was handed in before, was run already or belongs to
            another phase.
        UploadRefused: A file is larger than allowed, or too many uploads of the team are unfinished.
    """
    folder = Path(run)
    if image is None and description is None:
        raise Misuse("hand in an image, a description or both")
    if problem := why_held(folder) or ("it was run already" if shard_folders(folder) else ""):
        raise Misuse(f"{folder}: {problem}; hand in to another folder")
    check_phase(folder, phase)
    received = Receiving(Uploads(folder.parent / _UPLOADS, phase.upload), team or folder.name, folder / HANDED_IN)
    if image is not None:
        _make_way(phase, folder / HANDED_IN, IMAGE, Path(image))
        received.file(Path(image), IMAGE)
    if description is not None:
        _make_way(phase, folder / HANDED_IN, "description.*", Path(description))
        received.file(Path(description), f"description{_ending(Path(description))}")
    write_phase(folder, phase)
    note_stage(folder, Stage.UPLOADED, team=received.team, files=received.digests)
    findings = _findings(phase, folder / HANDED_IN, weights)
    settled = {"files": received.digests, "phase": phase.as_dict()}
    request = VerbRequest("submission hand-in", {"team": received.team}, settled=settled)
    result = replace(checked(findings), request=request)
    result.to_dir(folder / INTAKE, force=True)
    problems = [finding.message for finding in findings if finding.severity is Severity.ERROR]
    note_stage(folder, result.stage, **({"code": "handed-in-refused", "problems": problems} if problems else {}))
    return result


def _make_way(phase: SubmissionPhase, stored: Path, pattern: str, source: Path) -> None:
    """Take away a part that intake refuses, where another file is handed in instead."""
    for place in stored.glob(pattern) if source.is_file() else ():
        refused = any(finding.severity is Severity.ERROR for finding in _part_findings(phase, place))
        if refused and sha256_of(place) != sha256_of(source):
            place.unlink()


def _part_findings(phase: SubmissionPhase, place: Path) -> list[Finding]:
    image, description = (place, None) if place.name == IMAGE else (None, place)
    return handed_in_findings(phase, image=image, weights=None, description=description)


def _findings(phase: SubmissionPhase, stored: Path, weights: str | Path | None) -> list[Finding]:
    """What is noticed about everything that lies there: another part lets in nothing that was refused before."""
    parts = [*stored.glob(IMAGE), *sorted(stored.glob("description.*"))]
    findings = [finding for place in parts for finding in _part_findings(phase, place)]
    return findings + handed_in_findings(phase, image=None, weights=weights, description=None)


def handed_in_image(run: Path) -> Path | None:
    """The image of a submission that was taken in, or None where none was.

    Raises:
        Misuse: Intake refused it, or never came to an end.
    """
    path = run / HANDED_IN / IMAGE
    if not path.exists():
        return None
    stages = [row["stage"] for row in status_of(run)["history"] if row["stage"].startswith(("intake", "uploaded"))]
    last = stages[-1] if stages else "not recorded"
    if last != Stage.INTAKE_OK:
        advice = "hand in again the part that was refused" if last == Stage.INTAKE_REFUSED else "hand it in again"
        raise Misuse(f"{run}: what was handed in is {last}; {advice}")
    return path


class Receiving:
    """A team's files on their way into the folder of a submission."""

    def __init__(self, uploads: Uploads, team: str, target: Path) -> None:
        self.uploads, self.team, self.target = uploads, team, target
        self.digests: dict[str, str] = {}
        """Of what was received, by name: the SHA-256."""

    def file(self, source: Path, name: str) -> Path:
        """A file as it lies in the folder now, received in pieces; those that came before are not sent again.

        Raises:
            Misuse: It is no file, or another one was handed in before.
            UploadRefused: Too large, or too many uploads are unfinished.
        """
        if not source.is_file():
            raise Misuse(f"{source} is no file that can be handed in")
        place, digest, size = self.target / name, sha256_of(source), source.stat().st_size
        self.digests[name] = digest
        if place.exists():
            return self._as_before(place, digest)
        self.target.mkdir(parents=True, exist_ok=True)
        upload = self.uploads.begun(self.team, size_bytes=size, digest=digest)
        upload = upload or self.uploads.begin(self.team, size_bytes=size, digest=digest)
        with open(source, "rb") as handle:
            handle.seek(offset := self.uploads.received_bytes(upload, self.team))
            while piece := handle.read(min(_CHUNK, self.uploads.limits.most_piece_bytes)):
                offset = self.uploads.add(upload, self.team, offset=offset, piece=piece)
        try:
            return self.uploads.finish(upload, self.team, place)
        except FileExistsError:  # another process handed something in at the same time
            self.uploads.abandon(upload, self.team)
            return self._as_before(place, digest)

    def _as_before(self, place: Path, digest: str) -> Path:
        if sha256_of(place) != digest:
            raise Misuse(f"{place} was handed in before and is another file; hand in to another folder")
        return place


def _ending(description: Path) -> str:
    ending = description.suffix.lower()
    return ending if ending in KINDS else ".zip"
