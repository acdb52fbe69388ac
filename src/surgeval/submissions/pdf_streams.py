"""What is packed inside a PDF: every stream unpacked as its dictionary says, so that nothing hides from a search.

Objects can be packed into streams, and streams through several filters. A reader takes a stream for one of objects
because the cross-reference table says so, whatever it is called; what such a dictionary cannot do without is the
entry `First`. Those are unpacked here in the one way that programs write them, and refused in every other. Whatever the
table points at begins with `N G obj`, so a dictionary is read from every place where that stands, also from the middle
of strings, comments and pictures.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator

from surgeval.errors import SurgevalError

_SPACE = rb"(?:[\x00\s]|%[^\r\n]*[\r\n])"
_OBJECT = re.compile(rb"\d" + _SPACE + rb"+\d+" + _SPACE + rb"+obj" + _SPACE + rb"*(?=<<)")
_STREAM = re.compile(_SPACE + rb"*stream[ \t]*(?:\r\n|\n|\r)")
_TOKEN = re.compile(rb"%[^\r\n]*|\\.|\(|\)|<<|>>|[^%\\()<>]+|[<>\\]", re.DOTALL)
_NAME = re.compile(rb"/((?:[^\x00-\x20()<>\[\]{}/%#]|#[0-9A-Fa-f]{2})+)")
_FILTER = re.compile(rb"/(?:Filter|F)\s*(\[[^\]]*\]|/[^\s\[\]<>()/%]+)")
_PICTURES = frozenset("DCTDecode DCT JPXDecode CCITTFaxDecode CCF JBIG2Decode".split())
_DICTIONARY_BYTES, _CHUNK = 64 << 10, 64 << 10
_MOST_OBJECTS = 200_000


class Unusual(SurgevalError):
    """A PDF that packs its objects as no honest program does, or more than anyone wants to look through."""


def names_in(data: bytes) -> set[str]:
    """Every PDF name in some bytes without its escapes: `J#61vaScript` means `JavaScript`."""
    return {_plain(name) for name in _NAME.findall(data)}


def unpacked_streams(data: bytes, *, most_bytes: int) -> Iterator[bytes]:
    """What the streams of a PDF hold, as far as it can be objects or text.

    Raises:
        Unusual: More than `most_bytes` in all, or objects packed in a way that cannot be followed.
    """
    left = most_bytes
    for number, match in enumerate(_OBJECT.finditer(data)):
        if number >= _MOST_OBJECTS:
            raise Unusual(f"it has more than {_MOST_OBJECTS:,} objects")
        dictionary, end = _dictionary(data, match.end())
        if stream := _STREAM.match(data, end):
            piece = _unpacked(_without_escapes(dictionary), data, stream.end(), left)
            left -= len(piece)
            yield piece


def _dictionary(data: bytes, start: int) -> tuple[bytes, int]:
    """A dictionary without its strings and comments, and where it ends."""
    kept, depth, nested, at = [], 0, 0, start
    for match in _TOKEN.finditer(data, start, min(len(data), start + _DICTIONARY_BYTES)):
        token, at = match.group(), match.end()
        if nested or token == b"(":
            nested += {b"(": 1, b")": -1}.get(token, 0)
        elif token[:1] != b"%":
            kept.append(token)
            depth += {b"<<": 1, b">>": -1}.get(token, 0)
            if depth <= 0:
                break
    return b"".join(kept), at


def _unpacked(dictionary: bytes, data: bytes, start: int, most_bytes: int) -> bytes:
    names = names_in(dictionary)
    holds_objects = "First" in names or "ObjStm" in names
    filters = [name for entry in _FILTER.findall(dictionary) for name in names_in(entry)]
    if holds_objects and (set(filters) - {"FlateDecode", "Fl"} or len(filters) > 1 or _has_predictor(dictionary)):
        raise Unusual("it packs its objects in an unusual way")
    if holds_objects and not filters and {"Filter", "F"} & names:
        raise Unusual("it says elsewhere how its objects are packed")
    if set(filters) & _PICTURES:
        return b""
    for name in _in_order(dictionary) or ["FlateDecode"]:
        data, start = _decoded(name, data, start, most_bytes), 0
    return data


def _in_order(dictionary: bytes) -> list[str]:
    match = _FILTER.search(dictionary)
    return [_plain(name) for name in _NAME.findall(match.group(1))] if match else []


def _has_predictor(dictionary: bytes) -> bool:
    match = re.search(rb"/Predictor\s*(\d+)", dictionary)
    return match is not None and int(match.group(1)) > 1


def _decoded(name: str, data: bytes, start: int, most_bytes: int) -> bytes:
    if name in ("FlateDecode", "Fl"):
        return _inflated(data, start, most_bytes)
    body = data[start : start + 2 * most_bytes]
    try:
        if name in ("ASCIIHexDecode", "AHx"):
            digits = re.sub(rb"\s", b"", body.partition(b">")[0])
            return binascii.unhexlify(digits + b"0" * (len(digits) % 2))
        if name in ("ASCII85Decode", "A85"):
            return base64.a85decode(re.sub(rb"\s", b"", body.partition(b"~>")[0]))
    except (ValueError, binascii.Error):
        return b""
    return b""  # a filter that honest programs do not use for text or objects, and that objects must not have


def _inflated(data: bytes, start: int, most_bytes: int) -> bytes:
    """The bytes packed with zlib from a place on; it knows its own end. Nothing where there are none."""
    reader, parts, size = zlib.decompressobj(), [], 0
    view = memoryview(data)
    while not reader.eof and start < len(view):
        try:
            piece = reader.decompress(view[start : start + _CHUNK], most_bytes - size + 1)
        except zlib.error:
            break
        parts.append(piece)
        size, start = size + len(piece), start + _CHUNK
        if size > most_bytes or reader.unconsumed_tail:
            raise Unusual("it unpacks to more than is looked through")
    return b"".join(parts)


def _without_escapes(data: bytes) -> bytes:
    return re.sub(rb"#([0-9A-Fa-f]{2})", lambda match: bytes([int(match.group(1), 16)]), data)


def _plain(name: bytes) -> str:
    return _without_escapes(name).decode("latin-1")
