"""How much of a request is received: said by its head, before the first byte of its body is kept."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.db import close_old_connections
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser

from surgvalid.host.acts.tokens import is_persons, is_workers
from surgvalid.host.acts.uploads import MOST_PIECE_BYTES
from surgvalid.host.tars import MOST_BYTES

MOST_FORM_BYTES = 1 << 20
"""Of a form, and of JSON."""
_PIECE, _OUTPUT = re.compile(r"/api/uploads/[^/]+"), re.compile(r"/api/worker/jobs/\d+/output")


def most_bytes(path: str, headers: Mapping[str, str]) -> int:
    """What the body of a request may have: more than a form only where its sender is known."""
    scheme, _, text = headers.get("AUTHORIZATION", "").partition(" ")
    bearer = text.strip() if scheme == "Bearer" else ""
    try:
        if _OUTPUT.fullmatch(path):
            return MOST_BYTES if is_workers(bearer) else MOST_FORM_BYTES
        if _PIECE.fullmatch(path):
            known = is_persons(bearer) if bearer else _is_signed_in(headers.get("COOKIE", ""))
            return MOST_PIECE_BYTES if known else MOST_FORM_BYTES
    finally:
        close_old_connections()
    return MOST_FORM_BYTES


def _is_signed_in(cookies: str) -> bool:
    try:
        morsel = SimpleCookie(cookies).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return False
    return morsel is not None and bool(SessionStore(morsel.value).get("_auth_user_id"))


class LimitedParser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """Refuses with 413, and ends the connection, what is too long for its address or does not say how long it is."""

    adj: Any

    def parse_header(self, header_plus: bytes) -> None:
        """Nothing; the limit of this request stands from now on."""
        super().parse_header(header_plus)
        if self.chunked:
            self.adj = _limited(self.adj, 0)
        elif self.content_length > MOST_FORM_BYTES:
            self.adj = _limited(self.adj, most_bytes(self.path, self.headers))


class LimitedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection whose requests are limited so."""

    parser_class = LimitedParser


@lru_cache(maxsize=8)
def _limited(adjustments: Any, most: int) -> Any:
    changed = copy.copy(adjustments)
    changed.max_request_body_size = most + 1
    return changed
