"""Bytes of an archive, unpacked in small pieces under a budget: a bomb is noticed while it goes off."""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass

CHUNK = 1 << 20
RATIO_FLOOR_BYTES = 64 << 20
"""Below this much unpacked data no ratio is suspicious: an empty page of zeros packs very well."""
_XZ_MEMORY_BYTES = 256 << 20


class IntakeStops(Exception):
    """Nothing after this point of the archive can be trusted; carries the sentence to show."""


@dataclass
class Budget:
    """How much may still be unpacked, over all files of the archive."""

    bytes_left: int
    ratio: float

    def spend(self, count: int) -> None:
        """Take `count` bytes."""
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise IntakeStops("it unpacks to more than the allowed size; make the image smaller")


Read = Callable[[int], bytes]
"""Up to so many bytes; none at the end."""


def packing_of(head: bytes) -> str:
    """How data that starts so is packed: gzip, xz, zstd, bzip2 or plain."""
    for name, magic in _MAGIC.items():
        if head.startswith(magic):
            return name
    return "plain"


_MAGIC = {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd", "bzip2": b"BZh"}


class Unpacked:
    """A reader of what lies inside another reader, hashed and counted as it goes."""

    def __init__(self, read: Read, budget: Budget, what: str) -> None:
        self._source, self._budget, self._what = read, budget, what
        self._packed = read(CHUNK)
        self.packing = packing_of(self._packed)
        self._in, self._out = len(self._packed), 0
        self._ready = bytearray()
        self._hash = hashlib.sha256()
        if self.packing in ("zstd", "bzip2"):
            raise IntakeStops(f"{what} is packed with {self.packing}, which is not read here; use gzip or no packing")
        self._engine = self._fresh()

    def read(self, count: int) -> bytes:
        """Up to `count` bytes; fewer only at the end."""
        while len(self._ready) < count and (piece := self._piece()):
            self._ready += piece
        taken = bytes(self._ready[:count])
        del self._ready[:count]
        self._hash.update(taken)
        return taken

    def drain(self) -> None:
        """Read to the end, so that digest and size cover everything."""
        while self.read(CHUNK):
            pass

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of what was read so far."""
        return self._hash.hexdigest()

    def _piece(self) -> bytes:
        if self.packing == "plain":
            piece, self._packed = self._packed or self._source(CHUNK), b""
        else:
            piece = self._inflate()
        self._out += len(piece)
        self._budget.spend(len(piece))
        packed = self.packing != "plain"
        if packed and self._out > RATIO_FLOOR_BYTES and self._out > self._budget.ratio * max(self._in, 1):
            raise IntakeStops(f"{self._what} unpacks to more than {self._budget.ratio:g} times its size")
        return piece

    def _inflate(self) -> bytes:
        while True:
            if not self._packed and not self._starving():
                self._refill()
            try:
                piece, self._packed = self._step()
            except (zlib.error, lzma.LZMAError) as error:
                raise IntakeStops(
                    f"{self._what} is damaged: its {self.packing} data does not unpack ({error})"
                ) from error
            if piece:
                return piece
            if self._done():
                if not self._packed:
                    self._refill(needed=False)
                if not self._packed:
                    return b""
                self._engine = self._fresh()  # another packed member follows

    def _starving(self) -> bool:
        """Whether the decompressor still holds input of its own."""
        return isinstance(self._engine, lzma.LZMADecompressor) and not (self._engine.needs_input or self._engine.eof)

    def _done(self) -> bool:
        return bool(self._engine.eof)

    def _refill(self, needed: bool = True) -> None:
        self._packed = self._source(CHUNK)
        self._in += len(self._packed)
        if needed and not self._packed and not self._done():
            raise IntakeStops(f"{self._what} ends in the middle of its {self.packing} data; upload it again")

    def _step(self) -> tuple[bytes, bytes]:
        engine = self._engine
        if isinstance(engine, lzma.LZMADecompressor):
            if engine.eof:
                return b"", self._packed
            piece = engine.decompress(self._packed, CHUNK)
            return piece, engine.unused_data if engine.eof else b""
        if engine.eof:
            return b"", self._packed
        piece = engine.decompress(self._packed, CHUNK)
        return piece, engine.unused_data if engine.eof else engine.unconsumed_tail

    def _fresh(self) -> lzma.LZMADecompressor | zlib._Decompress:
        if self.packing == "xz":
            return lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES)
        return zlib.decompressobj(wbits=31)
