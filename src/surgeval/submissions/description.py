"""Method descriptions that teams hand in: looked at before anyone opens them.

A description is one document, or a zip archive of some. Few kinds are let in, and each must be by its content
what its name says: PDF without anything that acts by itself, plain text, pictures. HTML and SVG run programs
in a browser, so they are not. What is let in is still to be sent as a download, never shown as a page.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from surgeval.errors import InputInvalid
from surgeval.schema.archives import ArchiveLimits, archive_problems
from surgeval.submissions.pdf_streams import Unusual, names_in, unpacked_streams

LIMITS = ArchiveLimits(members=200, unpacked_bytes=100 << 20, ratio=100)
_STARTS = {".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff"}
_TEXTS = (".txt", ".md")
KINDS = (*_STARTS, *_TEXTS)
"""Endings of the documents that are taken."""
_ACTS = frozenset(
    "JavaScript Rendition Launch EmbeddedFile EmbeddedFiles RichMedia XFA SubmitForm ImportData GoToR GoToE".split()
)
"""Long enough not to turn up by chance in a picture; a plain view to open at, as LaTeX writes it, is none."""
_PDF_UNPACKED = 200 << 20
_TAG = re.compile(
    r"<(?!(?:https?|mailto):[^\s<>]*>|[^\s<>@]+@[^\s<>]+>)[/!?]?[a-z][^<>]*>|<[!?]"
    r"|<\s*(?:script|iframe|object|embed|svg|html|meta|form|style|link|base|img|a)\b", re.IGNORECASE
)  # fmt: skip
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
