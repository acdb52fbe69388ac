"""Method descriptions that teams hand in: looked at before anyone opens them.

A description is one document, or a zip archive of some. Few kinds are let in, and each must be by its content
what its name says: PDF without anything that acts by itself, plain text, images. HTML and SVG run programs
in a browser, so they are not. What is let in is still to be sent as a download, never shown as a page.

Nothing packed inside a PDF may hide from the search: objects can be packed into streams, and streams through several
filters. A reader takes a stream for one of objects because the cross-reference table says so, whatever it is called;
what such a dictionary cannot do without is the entry `First`. Those are unpacked here in the one way that programs
write them, and refused in every other. Whatever the table points at begins with `N G obj`, so a dictionary is read
from every place where that stands, also from the middle of strings, comments and images.
"""

from __future__ import annotations

import base64
import binascii
import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from surgvalid.errors import InputInvalid, SurgvalidError
from surgvalid.schema.archives import ArchiveLimits, archive_problems

_SPACE = rb"(?:[\x00\s]|%[^\r\n]*[\r\n])"
_OBJECT = re.compile(rb"\d" + _SPACE + rb"+\d+" + _SPACE + rb"+obj" + _SPACE + rb"*(?=<<)")
_STREAM = re.compile(_SPACE + rb"*stream[ \t]*(?:\r\n|\n|\r)")
_TOKEN = re.compile(rb"%[^\r\n]*|\\.|\(|\)|<<|>>|[^%\\()<>]+|[<>\\]", re.DOTALL)
_NAME = re.compile(rb"/((?:[^\x00-\x20()<>\[\]{}/%#]|#[0-9A-Fa-f]{2})+)")
_FILTER = re.compile(rb"/(?:Filter|F)\s*(\[[^\]]*\]|/[^\s\[\]<>()/%]+)")
_PICTURES = frozenset("DCTDecode DCT JPXDecode CCITTFaxDecode CCF JBIG2Decode".split())
_DICTIONARY_BYTES, _CHUNK = 64 << 10, 64 << 10
_MOST_OBJECTS = 200_000


class Unusual(SurgvalidError):
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


LIMITS = ArchiveLimits(members=200, unpacked_bytes=100 << 20, ratio=100)
_STARTS = {".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff"}
_TEXTS = (".txt", ".md")
KINDS = (*_STARTS, *_TEXTS)
"""Endings of the documents that are taken."""
_ACTS = frozenset(
    "JavaScript Rendition Launch EmbeddedFile EmbeddedFiles RichMedia XFA SubmitForm ImportData GoToR GoToE".split()
)
"""Long enough not to turn up by chance in an image; a plain view to open at, as LaTeX writes it, is none."""
_PDF_UNPACKED = 200 << 20
_TAG = re.compile(
    r"<(?!(?:https?|mailto):[^\s<>]*>|[^\s<>@]+@[^\s<>]+>)[/!?]?[a-z][^<>]*>|<[!?]"
    r"|<\s*(?:script|iframe|object|embed|svg|html|meta|form|style|link|base|img|a)\b",
    re.IGNORECASE,
)
"""HTML of any kind; addresses in angle brackets are Markdown."""
_LINK = re.compile(r"(?:\]\(\s*<?|^\s*\[(?!\^)[^\]]*\]:\s*<?|<)([a-z][a-z0-9+.-]*):", re.IGNORECASE | re.MULTILINE)
_LINKED = frozenset(("http", "https", "mailto"))
_ACTS_ANYWHERE = re.compile(r"(?:javascript|vbscript)\s*:|data:[a-z]+/", re.IGNORECASE)
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_DEEP = 4


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a description."""

    name: str
    data: bytes


def read_description(path: Path, limits: ArchiveLimits = LIMITS) -> tuple[Document, ...]:
    """The documents of a description: the file itself, or those of a zip archive.

    Raises:
        InputInvalid: With a sentence per problem; nothing was written anywhere.
    """
    size = path.stat().st_size
    if size > limits.unpacked_bytes:
        raise InputInvalid(path.name, [f"it has {size:,} bytes; allowed are {limits.unpacked_bytes:,}"])
    data = path.read_bytes()
    documents = list(_members(path.name, data, limits)) if data[:4] == b"PK\x03\x04" else [Document(path.name, data)]
    problems = [problem for document in documents for problem in _problems(document)]
    if problems or not documents:
        raise InputInvalid(path.name, problems or ["there is no document in it"])
    return tuple(documents)


def _members(name: str, data: bytes, limits: ArchiveLimits) -> Iterator[Document]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if problems := archive_problems(members, limits):
                raise InputInvalid(name, problems)
            for member in members:
                with archive.open(member) as opened:
                    yield Document(member.filename, opened.read(member.file_size + 1))
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError) as error:
        raise InputInvalid(name, [f"not an archive that can be read ({error})"]) from None


def _problems(document: Document) -> Iterator[str]:
    ending = PurePosixPath(document.name).suffix.lower()
    if ending in _TEXTS:
        yield from _text_problems(document)
    elif ending not in _STARTS:
        yield f"{document.name!r} is of no kind that is taken; hand in {', '.join(sorted(KINDS))}"
    elif not document.data.startswith(_STARTS[ending]):
        yield f"{document.name!r} is not what its name says: it starts with {document.data[:8]!r}"
    elif ending == ".pdf":
        yield from _pdf_problems(document)


def _text_problems(document: Document) -> Iterator[str]:
    try:
        text = document.data.decode("utf-8")
    except UnicodeDecodeError:
        yield f"{document.name!r} is not UTF-8 text"
        return
    if "\0" in text:
        yield f"{document.name!r} is not plain text"
    elif acting := _acting(text):
        yield f"{document.name!r} holds a link or HTML that acts ({acting[:30]!r}); write it as plain Markdown"


def _acting(text: str) -> str:
    """The first HTML tag, or link to anything but a page or an address; read as a browser would, entities resolved."""
    if tag := _TAG.search(text):
        return tag.group()
    for _ in range(_DEEP):
        text = html.unescape(text)
    text = _UNSEEN.sub("", text)
    if act := _ACTS_ANYWHERE.search(text):
        return act.group()
    return next((link.group() for link in _LINK.finditer(text) if link.group(1).lower() not in _LINKED), "")


def _pdf_problems(document: Document) -> Iterator[str]:
    """Names of actions anywhere in the file, also spelled with escapes or packed into streams."""
    names = names_in(document.data)
    try:
        for piece in unpacked_streams(document.data, most_bytes=_PDF_UNPACKED):
            names |= names_in(piece)
    except Unusual as error:
        yield f"{document.name!r}: {error} (at most {_PDF_UNPACKED >> 20} MB); print it to a plain PDF"
        return
    if acts := sorted(names & _ACTS):
        yield f"{document.name!r} acts when it is opened ({', '.join(acts)}); print it to a plain PDF"
    if "Encrypt" in names:
        yield f"{document.name!r} is encrypted; hand in one that can be read"
