"""Markdown of organisers as HTML: no HTML of its own passes, no picture is fetched, links lead to pages."""

from __future__ import annotations

from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

_READER = MarkdownIt("commonmark", {"html": False}).disable("image").enable("table")


def as_html(text: str) -> SafeString:
    """The text as HTML that can stand in a page."""
    return SafeString(_READER.render(text))  # the reader escapes every tag of the text
