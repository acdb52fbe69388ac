"""A packed tar archive read strictly: what two readers could understand differently is an error here.

Bytes are unpacked in small pieces under a budget, so that a bomb is noticed while it goes off. Own code rather than the
standard library's: that one reads a header of any declared size into memory, follows chains of headers by recursion,
and forgives what it does not understand.
"""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

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


BLOCK = 512
HEADER_BYTES = 64 << 10
"""Most that the extra headers of one entry may hold."""
_ZEROS = bytes(BLOCK)
_KINDS = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "named pipe",
}


@dataclass
class TarEntry:
    """One entry as its headers tell it."""

    name: str
    kind: str
    size: int
    mode: int
    uid: int
    gid: int
    mtime: int
    link: str
    attributes: tuple[str, ...] = ()
    """Names of extended attributes."""


@dataclass
class _Extra:
    """What headers before an entry say about it."""

    path: str | None = None
    link: str | None = None
    size: int | None = None
    attributes: list[str] = field(default_factory=list)
    spent: int = 0


class TarReader:
    """Entries of a tar stream; `read` gives the current entry's bytes."""

    def __init__(self, read: Read, what: str) -> None:
        self._source, self._what = read, what
        self._left = 0
        self._padding = 0

    def entries(self) -> Iterator[TarEntry]:
        """Every entry in order. What the caller did not read of one is skipped."""
        while (entry := self._next()) is not None:
            self._left = entry.size
            self._padding = -entry.size % BLOCK
            yield entry
            while self.read(CHUNK):
                pass
            self._exactly(self._padding)

    def read(self, count: int) -> bytes:
        """Up to `count` bytes of the current entry."""
        if not self._left:
            return b""
        piece = self._source(min(count, self._left))
        if not piece:
            raise self._broken("ends in the middle of a file")
        self._left -= len(piece)
        return piece

    def _next(self) -> TarEntry | None:
        extra = _Extra()
        while True:
            block = self._exactly(BLOCK)
            if block == _ZEROS:
                if extra.spent:
                    raise self._broken("ends after a header that belongs to a file")
                return None
            self._check_sum(block)
            kind = block[156:157]
            size = self._number(block[124:136])
            if kind in (b"x", b"L", b"K"):
                self._extra(kind, self._payload(size, extra), extra)
            elif kind in _KINDS:
                return self._entry(block, kind, size, extra)
            else:
                raise self._broken(
                    f"holds an entry of type {kind!r} (sparse, global or unknown), which is not accepted"
                )

    def _entry(self, block: bytes, kind: bytes, size: int, extra: _Extra) -> TarEntry:
        prefix = _text(block[345:500]) if block[257:263] == b"ustar\0" else ""
        name = _text(block[:100])
        name = extra.path or (f"{prefix}/{name}" if prefix else name)
        size = extra.size if extra.size is not None else size
        what = _KINDS[kind]
        if what != "file" and size:
            raise self._broken(f"gives a {what} a size")
        if what == "file" and name.endswith("/"):
            raise self._broken("holds a file whose name ends in '/'")
        mode, uid, gid = (self._number(block[start : start + 8]) for start in (100, 108, 116))
        link = extra.link if extra.link is not None else _text(block[157:257])
        return TarEntry(
            name=name,
            kind=what,
            size=size,
            mode=mode,
            uid=uid,
            gid=gid,
            mtime=self._number(block[136:148]),
            link=link,
            attributes=tuple(extra.attributes),
        )

    def _payload(self, size: int, extra: _Extra) -> bytes:
        extra.spent += size + 1
        if extra.spent > HEADER_BYTES:
            raise self._broken(f"holds an entry whose headers need more than {HEADER_BYTES} bytes")
        data = self._exactly(size)
        self._exactly(-size % BLOCK)
        return data

    def _extra(self, kind: bytes, data: bytes, extra: _Extra) -> None:
        if kind == b"L":
            extra.path = _text(data)
        elif kind == b"K":
            extra.link = _text(data)
        else:
            for key, value in self._records(data):
                self._record(key, value, extra)

    def _record(self, key: str, value: bytes, extra: _Extra) -> None:
        if key.startswith("GNU.sparse"):
            raise self._broken("holds a sparse file, which is not accepted")
        if key in ("path", "linkpath") and b"\0" in value:
            raise self._broken("holds a name with a NUL in it")
        if key == "path":
            extra.path = _text(value)
        elif key == "linkpath":
            extra.link = _text(value)
        elif key == "size":
            if not value.isdigit() or len(value) > 15:
                raise self._broken(f"gives a size that is no number ({value[:20]!r})")
            extra.size = int(value)
        elif key.startswith("SCHILY.xattr."):
            extra.attributes.append(key.removeprefix("SCHILY.xattr."))

    def _records(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        while data:
            digits, _, _ = data.partition(b" ")
            length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
            record, data = data[:length], data[length:]
            key, equals, value = record[len(digits) + 1 :].partition(b"=")
            if len(record) != length or length == 0 or not record.endswith(b"\n") or not equals:
                raise self._broken("holds a malformed extended header")
            yield key.decode("utf-8", "replace"), value[:-1]

    def _number(self, field_: bytes) -> int:
        if field_[0] & 0x80:
            value = int.from_bytes(bytes([field_[0] & 0x7F]) + field_[1:], "big")
            if field_[0] & 0x40 or value >= 1 << 50:
                raise self._broken("holds a header with an impossible number")
            return value
        text = field_.strip(b" \0")
        if text.strip(b"01234567"):
            raise self._broken("holds a header with a field that is no number")
        return int(text, 8) if text else 0

    def _check_sum(self, block: bytes) -> None:
        stored = self._number(block[148:156])
        if stored != sum(block[:148]) + 8 * 32 + sum(block[156:]):
            raise self._broken("is not a tar archive, or damaged: a header's check sum is wrong")

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._source(count - len(data))
            if not piece:
                raise self._broken("ends early: it was cut off")
            data += piece
        return data

    def _broken(self, how: str) -> IntakeStops:
        return IntakeStops(f"{self._what} {how}; save the image again")


def _text(field_: bytes) -> str:
    """Text up to the first NUL. Bytes that are not UTF-8 stay as surrogates, for the caller to refuse."""
    return field_.partition(b"\0")[0].decode("utf-8", "surrogateescape")
