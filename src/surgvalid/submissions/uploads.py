"""Image archives that arrive in pieces: in order, from one owner, of the size and digest that were announced.

An upload says first how large it is and what its digest will be. Each piece names the place where it begins;
the only place accepted is where the last one ended, so a piece that is replayed, skipped or out of order is
refused with the place to go on. Nobody but the owner can tell an upload from one that does not exist. What
comes out is a file of exactly the announced bytes, still a stranger's: it goes to image intake next.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from surgvalid.errors import UploadRefused

_NAME = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadLimits:
    """What may be uploaded."""

    most_bytes: int = 40_000 << 20
    most_piece_bytes: int = 64 << 20
    most_open: int = 2
    """Unfinished uploads of one owner."""


class _Announced(NamedTuple):
    owner: str
    size_bytes: int
    digest: str


class Uploads:
    """A folder of uploads under way."""

    def __init__(self, folder: Path, limits: UploadLimits | None = None) -> None:
        self._folder, self.limits = folder, limits or UploadLimits()
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)

    def begin(self, owner: str, *, size_bytes: int, digest: str) -> str:
        """The name of a new upload, which nobody can guess.

        Args:
            owner: Who may add to it: a team, by whatever name the caller knows it.
            size_bytes: Of the whole file.
            digest: Its SHA-256, in hexadecimal.

        Raises:
            UploadRefused: Too large, no digest, or too many uploads of this owner are unfinished.
        """
        if not 0 < size_bytes <= self.limits.most_bytes:
            raise UploadRefused(f"it announces {size_bytes:,} bytes; allowed are 1 to {self.limits.most_bytes:,}")
        if not _DIGEST.fullmatch(digest):
            raise UploadRefused("its digest is not a SHA-256 in 64 small hexadecimal digits")
        with self._alone():
            known = [self._announced(path.stem) for path in self._folder.glob("*.json")]
            if sum(one is not None and one.owner == owner for one in known) >= self.limits.most_open:
                raise UploadRefused(
                    f"{self.limits.most_open} uploads are unfinished or not handed in; go on with one by sending the "
                    "same file again, or abandon one"
                )
            name = secrets.token_hex(16)
            self._draft(name).touch(mode=0o600, exist_ok=False)
            self._announce(name, _Announced(owner, size_bytes, digest))
        return name

    def begun(self, owner: str, *, size_bytes: int, digest: str) -> str | None:
        """The name of an unfinished upload of this owner that announced this very file, or None."""
        wanted = _Announced(owner, size_bytes, digest)
        names = sorted(path.stem for path in self._folder.glob("*.json"))
        return next((name for name in names if self._announced(name) == wanted), None)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else begins an upload meanwhile: of several at once only as many as are allowed come through."""
        import fcntl  # as below

        lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _announce(self, name: str, announced: _Announced) -> None:
        """Store the announcement whole or not at all."""
        draft = self._folder / f"{name}.draft"
        with open(draft, "x", encoding="utf-8") as handle:
            json.dump(announced._asdict(), handle)
            handle.flush()
            os.fsync(handle.fileno())
        draft.rename(self._folder / f"{name}.json")

    def received_bytes(self, name: str, owner: str) -> int:
        """Where the next piece begins."""
        self._owned(name, owner)
        return self._draft(name).stat().st_size

    def add(self, name: str, owner: str, *, offset: int, piece: bytes, length: int | None = None) -> int:
        """The number of bytes received so far, with this piece.

        Args:
            name: From `begin`.
            owner: Who sends it.
            offset: Where in the file it begins.
            piece: Its bytes.
            length: What the sender declared its length to be, where that was said.

        Raises:
            UploadRefused: Not the next piece, not the length declared, too large, or not this owner's upload.
        """
        announced = self._owned(name, owner)
        if length is not None and length != len(piece):
            raise UploadRefused(f"the piece has {len(piece):,} bytes and declares {length:,}; send it again")
        if not 0 < len(piece) <= self.limits.most_piece_bytes:
            raise UploadRefused(f"a piece has 1 to {self.limits.most_piece_bytes:,} bytes; got {len(piece):,}")
        with self._locked(name) as file:
            have = os.fstat(file).st_size
            if offset != have:
                raise UploadRefused(f"the next piece begins at byte {have}; got one that begins at {offset}")
            if have + len(piece) > announced.size_bytes:
                raise UploadRefused(f"it has more than the {announced.size_bytes:,} bytes that it announced")
            _write_whole(file, piece, have)
            return have + len(piece)

    def finish(self, name: str, owner: str, target: Path) -> Path:
        """The complete file, moved to `target`, which must not exist.

        Raises:
            UploadRefused: Bytes are missing, or they are not those that were announced; then nothing is kept.
        """
        announced = self._owned(name, owner)
        with self._locked(name) as file:
            have = os.fstat(file).st_size
            if have != announced.size_bytes:
                raise UploadRefused(f"{announced.size_bytes - have:,} bytes are missing; go on at byte {have}")
            if not hmac.compare_digest(_digest(file), announced.digest):
                self._remove(name)
                raise UploadRefused("its bytes are not those announced (another SHA-256); begin again")
            try:
                os.link(self._draft(name), target)
            except FileExistsError:
                if not os.path.samestat(os.fstat(file), os.lstat(target)):  # moved, then interrupted
                    raise
            self._remove(name)
        return target

    def abandon(self, name: str, owner: str) -> None:
        """Forget an upload and what was received of it."""
        self._owned(name, owner)
        self._remove(name)

    def _owned(self, name: str, owner: str) -> _Announced:
        """What an upload announced; a stranger's and one that does not exist read alike."""
        known = self._announced(name) if _NAME.fullmatch(name) else None
        if known is None or not hmac.compare_digest(known.owner.encode(), owner.encode()):
            raise UploadRefused("there is no such upload; begin one")
        return known

    def _announced(self, name: str) -> _Announced | None:
        """What an upload announced; None where there is none, or one that nobody can read."""
        try:
            return _Announced(**json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _draft(self, name: str) -> Path:
        return self._folder / f"{name}.part"

    @contextmanager
    def _locked(self, name: str) -> Iterator[int]:
        """The file received so far, held by nobody else: of two equal pieces at once only one is the next."""
        try:
            file = os.open(self._draft(name), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise UploadRefused("there is no such upload; begin one") from None
        import fcntl  # only hosts need it, and those are no Windows machines

        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)

    def _remove(self, name: str) -> None:
        for ending in ("json", "part"):
            (self._folder / f"{name}.{ending}").unlink(missing_ok=True)


def _write_whole(file: int, piece: bytes, offset: int) -> None:
    """Write all of it or nothing: a full disk must not leave half a piece behind."""
    view, done = memoryview(piece), 0
    try:
        while done < len(view):
            done += os.pwrite(file, view[done:], offset + done)
    except OSError as error:
        os.ftruncate(file, offset)
        raise UploadRefused(f"it could not be stored ({error.strerror}); send this piece again later") from error


def _digest(file: int) -> str:
    digest, at = hashlib.sha256(), 0
    while chunk := os.pread(file, _CHUNK, at):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()
