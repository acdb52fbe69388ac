"""The challenge as it holds: the newest version that was adopted, and how another becomes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from django.db.models import Count

from surgvalid.errors import InputInvalid
from surgvalid.host import places
from surgvalid.host.acting import acting
from surgvalid.host.acts.refused import reason_of
from surgvalid.host.challenge.challenge import Challenge
from surgvalid.host.challenge.reading import challenge_of, changes_between, read_challenge
from surgvalid.host.runs.models import Announcement, ChallengeVersion, Submission
from surgvalid.host.seals import every_row, is_sealing


def adopt_challenge(
    actor: object, note: str, *, files: Mapping[str, str] | None = None, check: Callable[[], None] | None = None
) -> ChallengeVersion:
    """The version that now holds: the file in the folder of the service, with every change for all to read.

    Nothing is done where nothing changed. Submissions keep the rules under which they were handed in.

    Args:
        actor: Who adopts it.
        note: Why, for everybody.
        files: Texts by their names in the folder, written before it is read; as they were where it is refused.
        check: Raises where the folder is not as it has to be, while nobody else acts.

    Raises:
        InputInvalid: The file has problems, or lacks a phase in which somebody took part; the version before goes on
            holding.
    """
    with acting(actor, "adopt-challenge", note=reason_of(note)) as doing, _written(files or {}, check):
        read = read_challenge(places.home() / places.CHALLENGE)
        _check_phases_stay(read)
        last = ChallengeVersion.objects.last()
        if not is_sealing():  # a service of an older version: its rows count as they are now
            doing.rows.update(every_row())
        if last is not None and last.digest == read.digest:
            doing.about(f"version-{last.number}", unchanged=True)
            return last
        changes = [] if last is None else changes_between(last.text, read.text)
        version = ChallengeVersion.objects.create(
            number=1 if last is None else last.number + 1,
            text=read.text,
            digest=read.digest,
            note=note.strip(),
            changes=changes,
            at=doing.at,
        )
        doing.about(f"version-{version.number}", digest=read.digest, changes=changes)
    return version


@contextmanager
def _written(files: Mapping[str, str], check: Callable[[], None] | None) -> Iterator[None]:
    """These texts in the folder, and what was there before if something fails."""
    if check is not None:
        check()
    paths = {places.home() / name: text.encode() for name, text in files.items()}
    before = {path: path.read_bytes() if path.is_file() else None for path in paths}
    try:
        for path, data in paths.items():
            _replace(path, data)
        yield
    except BaseException:
        for path, old in before.items():
            _replace(path, old)
        raise


def _replace(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(data)
    draft.replace(path)


def _check_phases_stay(read: Challenge) -> None:
    """Nothing, where every phase that has submissions is in the file; its short name is what they are found by."""
    known = {phase.slug for phase in read.phases}
    taken = Submission.objects.order_by().values_list("phase").annotate(count=Count("pk"))
    lost = sorted((phase, count) for phase, count in taken if phase not in known)
    if lost:
        problems = [
            f"phase {phase!r} has {count} submission(s) and must stay; change its title" for phase, count in lost
        ]
        raise InputInvalid(places.CHALLENGE, problems)


def current_version() -> ChallengeVersion:
    """The version that holds.

    Raises:
        ChallengeVersion.DoesNotExist: None was adopted.
    """
    return ChallengeVersion.objects.latest("number")


def current_challenge() -> Challenge:
    """The challenge that holds."""
    version = current_version()
    return _challenge(version.text, places.home(), version.digest)


@lru_cache(maxsize=4)
def _challenge(text: str, folder: Path, _digest: str) -> Challenge:
    return challenge_of(text, folder=folder)


def announce(actor: object, title: str, text: str, *, by: object = None) -> Announcement:
    """Something said to everybody."""
    with acting(actor, "announce", title=title) as doing:
        made = Announcement.objects.create(
            title=reason_of(title, most=200), text=reason_of(text, most=20_000), at=doing.at, made_by=by
        )
        doing.about(f"announcement-{made.pk}")
    return made
