"""Text of CVAT 1.1 XML: escaping, attributes, and the refusal of what XML cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape, quoteattr

from surgeval.errors import ProcedureInvalid

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
