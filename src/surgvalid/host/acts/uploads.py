"""Files on their way in. The bytes are the business of `surgvalid.submissions.uploads`; here is whose they are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from surgvalid.errors import Misuse, UploadRefused
from surgvalid.host import places
from surgvalid.host.acting import acting, now
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.refused import Refused
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.runs.models import ORGANISERS, Upload
from surgvalid.submissions.description import KINDS
from surgvalid.submissions.uploads import Uploads

IMAGE = "image.tar"
MOST_PIECE_BYTES = 8 << 20
"""A piece is held in memory, one for each thread of the server."""
MOST_DESCRIPTION_BYTES = 50 << 20
MOST_NAME = 80


def received_path(upload: Upload) -> Path:
    """Where a file lies once it was received."""
    return places.store() / "received" / str(upload.key)


def announce_upload(
    actor: object, team: Any, phase: str, name: str, *, size_bytes: int, digest: str, by: Any = None
) -> Upload:
    """An upload that may now be sent, or the unfinished one of the same file.

    Args:
        actor: Who announces it.
        team: Whose it is; None for the organisers.
        phase: Its limits hold.
        name: `image.tar`, or that of a description.
        size_bytes: Of the whole file.
        digest: Its SHA-256: from now on no byte can be another.
        by: The person, where there is one.

    Raises:
        Refused: The phase is not open.
        UploadRefused: Too large, or too many are unfinished.
    """
    rules = current_challenge().phase(phase)
    _check_name(name, size_bytes)
    with acting(actor, "announce-upload", _owner(team), phase=phase, name=name, digest=digest) as doing:
        if team is not None:
            check_open(rules, doing.at)
        uploads = _uploads(rules)
        key = uploads.begun(_owner(team), size_bytes=size_bytes, digest=digest)
        known = None if key is None else Upload.objects.filter(key=key, phase=phase, received_at=None).first()
        if known is not None:
            return known
        key = uploads.begin(_owner(team), size_bytes=size_bytes, digest=digest)
        return Upload.objects.create(
            key=key,
            team=team,
            made_by=by,
            phase=phase,
            name=name,
            size_bytes=size_bytes,
            digest=digest,
            announced_at=doing.at,
        )


def add_piece(upload: Upload, *, offset: int, piece: bytes, length: int | None = None) -> int:
    """The bytes received so far; no act, since nobody else sees them.

    Raises:
        UploadRefused: Not the next piece, or too large.
    """
    if len(piece) > MOST_PIECE_BYTES:
        raise UploadRefused(f"a piece has at most {MOST_PIECE_BYTES:,} bytes; got {len(piece):,}")
    uploads = _uploads(current_challenge().phase(upload.phase))
    return uploads.add(upload.key, _owner(upload.team), offset=offset, piece=piece, length=length)


def received_bytes(upload: Upload) -> int:
    """Where the next piece begins."""
    if upload.received_at is not None or received_path(upload).exists():
        return int(upload.size_bytes)
    return _uploads(current_challenge().phase(upload.phase)).received_bytes(upload.key, _owner(upload.team))


def receive(actor: object, upload: Upload) -> Path:
    """The complete file, whose bytes are those announced; asking again gives it again.

    Raises:
        UploadRefused: Bytes are missing, or others than announced.
    """
    place = received_path(upload)
    if upload.received_at is not None:
        return place
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not place.exists():
        _uploads(current_challenge().phase(upload.phase)).finish(upload.key, _owner(upload.team), place)
    with acting(actor, "receive-upload", f"upload-{upload.pk}", digest=upload.digest) as doing:
        upload.received_at = doing.at
        upload.save(update_fields=("received_at",))
    return place


def abandon_upload(actor: object, upload: Upload) -> None:
    """Forget an upload that was not finished."""
    if upload.received_at is not None:
        raise Refused("not-now", "the file was received already.")
    with acting(actor, "abandon-upload", f"upload-{upload.pk}"):
        _uploads(current_challenge().phase(upload.phase)).abandon(upload.key, _owner(upload.team))
        upload.delete()


def check_open(phase: ChallengePhase, at: Any) -> None:
    """Nothing, while a phase is open.

    Raises:
        Refused: It is not.
    """
    if at < phase.opens:
        raise Refused("phase-not-open", f"{phase.title} opens at {phase.opens.isoformat()}; it is {at.isoformat()}.")
    if not phase.is_open(at):
        raise Refused("phase-closed", f"{phase.title} closed at {phase.closes.isoformat()}; it is {at.isoformat()}.")


def check_in_time(phase: ChallengePhase, upload: Upload) -> None:
    """Nothing, when an upload was announced in time and arrived within the grace.

    Raises:
        Refused: It was not.
    """
    check_open(phase, upload.announced_at)
    if now() >= phase.closes + timedelta(seconds=1 + phase.upload_grace_s):
        raise Refused("upload-late", f"{phase.title} closed at {phase.closes.isoformat()}, and the grace is over.")


def _check_name(name: str, size_bytes: int) -> None:
    if name == IMAGE:
        return
    if not name.isprintable() or len(name) > MOST_NAME:
        raise Misuse(
            f"the name of a description has at most {MOST_NAME} letters that can be printed; got {name[:90]!r}"
        )
    if Path(name).name != name or Path(name).suffix.lower() not in (*KINDS, ".zip"):
        raise Misuse(f"a description is one of {', '.join(sorted((*KINDS, '.zip')))}; got {name!r}")
    if size_bytes > MOST_DESCRIPTION_BYTES:
        raise UploadRefused(f"a description has at most {MOST_DESCRIPTION_BYTES:,} bytes; got {size_bytes:,}")


def _owner(team: Any) -> str:
    return ORGANISERS if team is None else f"team-{team.pk}"


def _uploads(phase: ChallengePhase) -> Uploads:
    return Uploads(places.store() / "uploads", phase.rules.upload)
