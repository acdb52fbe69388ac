"""Files on their way in. The bytes are the business of `surgvalid.submissions.uploads`; here is whose they are."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db.models import QuerySet, Sum

from surgvalid.errors import Misuse, UploadRefused
from surgvalid.host import places
from surgvalid.host.acting import acting, now
from surgvalid.host.acts.challenge import current_challenge
from surgvalid.host.acts.gates import is_gate_open
from surgvalid.host.acts.quotas import usage_of, why_no_more
from surgvalid.host.acts.refused import Refused
from surgvalid.host.challenge.challenge import ChallengePhase
from surgvalid.host.people.teams import why_not_submit
from surgvalid.host.runs.models import ORGANISERS, LogEntry, Submission, Upload
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
        Refused: The phase is not open, or what comes could never be handed in, or there is no room for it.
        UploadRefused: Too large, or too many are unfinished.
    """
    rules = current_challenge().phase(phase)
    _check_name(name, size_bytes)
    uploads = _uploads(rules)
    key = uploads.begun(_owner(team), size_bytes=size_bytes, digest=digest)
    known = None if key is None else Upload.objects.filter(key=key, phase=phase, received_at=None).first()
    if known is not None and (team is None or rules.is_open(now())):
        return known
    if team is not None:
        check_open(rules, now())
        _check_frequency(team, now())
    with acting(actor, "announce-upload", _owner(team), phase=phase, name=name, digest=digest) as doing:
        if team is not None:
            check_open(rules, doing.at)
            check_worth(team, rules)
        _check_room(team, rules, size_bytes)
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
        discard(upload)


def discard(upload: Upload) -> None:
    """Forget an upload and every byte of it, inside an act; no submission has it."""
    with suppress(UploadRefused):
        _uploads(current_challenge().phase(upload.phase)).abandon(upload.key, _owner(upload.team))
    received_path(upload).unlink(missing_ok=True)
    upload.delete()


def untaken() -> QuerySet[Upload]:
    """Uploads that are of no submission."""
    described = Submission.objects.exclude(description=None).values("description")
    return Upload.objects.exclude(pk__in=Submission.objects.values("image")).exclude(pk__in=described)


UNTOUCHED = timedelta(hours=24)
"""That an upload rests until it is swept."""


def sweep() -> int:
    """The number of uploads that nobody went on with for a day, or that no submission took, all forgotten now; with
    them goes what replaced attempts of runs left, and what was received by halves.
    """
    at, store = now(), places.store()
    old = (at - UNTOUCHED).timestamp()
    left = list(untaken().filter(announced_at__lt=at - UNTOUCHED))
    left = [one for one in left if max((_touched(path) for path in _paths(one)), default=0.0) < old]
    if left:
        with acting("system", "sweep-uploads", uploads=[one.pk for one in left]):
            for one in left:
                discard(one)
    known = set(Upload.objects.values_list("key", flat=True))
    parts = [*(store / "uploads").glob("*"), *(store / "received").glob("*")]
    hidden = [*(store / "submissions").glob("*/run-*/.*"), *(store / places.PICTURES).glob("*")]
    for path in [one for one in parts if one.name.partition(".")[0] not in known] + hidden:
        if _touched(path) < old:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return len(left)


def _paths(upload: Upload) -> list[Path]:
    return [places.store() / "uploads" / f"{upload.key}.part", received_path(upload)]


def _touched(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


MOST_AN_HOUR = 30
"""Uploads that a team announces in an hour."""


def _check_frequency(team: Any, at: datetime) -> None:
    """Nothing, unless a team announces one after another: each stands in the log for ever."""
    made = LogEntry.objects.filter(subject=_owner(team), act="announce-upload", at__gt=at - timedelta(hours=1))
    if made.count() >= MOST_AN_HOUR:
        raise Refused("too-many-announced", f"a team announces at most {MOST_AN_HOUR} uploads in an hour.")


def _check_room(team: Any, phase: ChallengePhase, size_bytes: int) -> None:
    """Nothing, where team and disk have room for it, beside what is under way."""
    phase_uploads = Upload.objects.filter(phase=phase.slug, team=team)
    held = phase_uploads.aggregate(bytes=Sum("size_bytes", default=0))["bytes"]
    if team is not None and held + size_bytes > phase.team_gb * 1e9:
        raise Refused("team-bytes-used", f"the team has {held / 1e9:.1f} GB of {phase.team_gb:g} GB in {phase.title}.")
    coming = Upload.objects.filter(received_at=None).aggregate(bytes=Sum("size_bytes", default=0))["bytes"]
    if free_bytes() < coming + size_bytes + RESERVE_BYTES:
        raise Refused("no-room", "the disk of the service is nearly full.")


RESERVE_BYTES = int(float(os.environ.get("SURGVALID_HOST_RESERVE_GB", "2")) * 1e9)
"""What uploads leave free, so that runs go on being scored."""


def free_bytes() -> int:
    """Room on the disk of the store."""
    places.store().mkdir(parents=True, exist_ok=True, mode=0o700)
    return shutil.disk_usage(places.store()).free


def check_worth(team: Any, phase: ChallengePhase) -> None:
    """Nothing, where a team could hand something in.

    Raises:
        Refused: It is not ready, is not let in, or used its quota.
    """
    if reasons := why_not_submit(team):
        raise Refused("team-not-ready", " ".join(reasons))
    if not is_gate_open(team, phase.slug):
        raise Refused("gate-closed", f"{phase.title} is open to teams that met its qualification criterion.")
    full = why_no_more(usage_of(team, phase))
    if full is not None and full[0] in ("quota-used", "attempts-used"):
        raise Refused(*full)


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
