"""XML of annotation tools: elements as a stream, for files that nobody vouches for, and text to write.

Read with expat directly: a document type (the only way to entities, external files and expansion) is refused by the
parser itself, whatever the encoding of the file; depth and size are bounded; only one element at a time is held.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from surgvalid.errors import FileUnreadable, ProcedureInvalid

MOST_BYTES = 2 << 30
"""Larger files are refused."""
DEEPEST = 64
_CHUNK = 1 << 18


def only_element(path: Path, tag: str, title: str) -> Element:
    """The one element of a tag in a file.

    Raises:
        FileUnreadable: As for `elements`, or there is another number of them.
    """
    documents = list(elements(path, (tag,)))
    if len(documents) != 1:
        raise FileUnreadable(str(path), [f"not {title}: expected one <{tag}>"])
    return documents[0]


def elements(path: str | Path, tags: Collection[str]) -> Iterator[Element]:
    """Every element with one of the `tags`, complete with its children, in order of the file.

    An element inside another wanted one comes as its child, not once more.

    Raises:
        FileUnreadable: No such file, too large, too deep, not XML, or with a document type.
    """
    path = Path(path)
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    if path.stat().st_size > MOST_BYTES:
        raise FileUnreadable(str(path), [f"{path.stat().st_size} bytes; at most {MOST_BYTES} are read"])
    collector = _Collector(frozenset(tags))
    try:
        with open(path, "rb") as handle:
            while chunk := handle.read(_CHUNK):
                collector.parser.Parse(chunk, False)
                while collector.finished:
                    yield collector.finished.popleft()
        collector.parser.Parse(b"", True)
        yield from collector.finished
    except expat.ExpatError as error:
        raise FileUnreadable(str(path), [f"not XML: {error}"]) from None
    except (LookupError, ValueError) as error:
        raise FileUnreadable(str(path), [f"not XML in an encoding that can be read: {error}"]) from None
    except _Refused as refusal:
        raise FileUnreadable(str(path), [str(refusal)]) from None
    except OSError as error:
        raise FileUnreadable(str(path), [error.strerror or "cannot be opened"]) from None


class _Refused(Exception):
    """Legal XML that is not read; the text says why."""


class _Collector:
    """Builds the wanted elements while expat walks through the file."""

    def __init__(self, tags: frozenset[str]) -> None:
        self.finished: deque[Element] = deque()
        self._tags, self._depth = tags, 0
        self._open: list[Element] = []
        self._text: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append

    def _refuse(self, *_declaration: object) -> None:
        raise _Refused("holds a document type, which no annotation tool writes; not read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _Refused(f"elements lie more than {DEEPEST} deep, which no annotation tool writes; not read")
        self._text.clear()
        if self._open or tag in self._tags:
            element = Element(tag, attributes)
            if self._open:
                self._open[-1].append(element)
            self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._depth -= 1
        if self._open:
            element = self._open.pop()
            if not len(element):
                element.text = "".join(self._text)
            if not self._open:
                self.finished.append(element)
        self._text.clear()


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: str) -> str:
    """The text as it stands between two tags."""
    return escape(text, {"\r": "&#13;"})


def attributes_text(attributes: Mapping[str, str]) -> str:
    """The `<attribute>` elements of a shape.

    Example:
        >>> attributes_text({"wet": "a<b"})
        '<attribute name="wet">a&lt;b</attribute>'
    """
    return "".join(f"<attribute name={quoteattr(k)}>{escaped(v)}</attribute>" for k, v in attributes.items())


def xml_text(lines: Iterable[str], where: str) -> str:
    """The lines as one text.

    Raises:
        ProcedureInvalid: It holds characters that XML cannot.
    """
    text = "".join(f"{line}\n" for line in lines)
    if match := _NOT_XML.search(text):
        raise ProcedureInvalid(where, [f"a text holds {match.group()!r}, which XML cannot"])
    return text
