"""What programs get back: JSON, with a code and a remedy where something is refused."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.cache import never_cache

from surgvalid.errors import InputInvalid, Misuse, SurgvalidError, UploadRefused
from surgvalid.host.acts.refused import REMEDIES, Refused

MOST_JSON_BYTES = 1 << 20
View = Callable[..., HttpResponseBase]
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_STATUS = {"not-yours": 404, "lease-lost": 409, "duty-missing": 403, "scope-missing": 403, "unknown-token": 401}


def answered(*methods: str) -> Callable[[View], View]:
    """A view for these methods whose refusals become JSON; nothing of it is kept in caches."""

    def around(view: View) -> View:
        @wraps(view)
        def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in methods:
                return refusal("method", f"use {' or '.join(methods)}", status=405)
            try:
                return view(request, *args, **kwargs)
            except Refused as error:
                return refusal(error.code, error.text, remedy=error.remedy, status=_STATUS.get(error.code, 409))
            except UploadRefused as error:
                return refusal("upload-refused", str(error), status=409)
            except (Misuse, InputInvalid) as error:
                return refusal("misuse", str(error), status=400)
            except SurgvalidError as error:
                return refusal("refused", str(error), status=409)
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                return refusal("no-room", "the disk of the service is full.", remedy=REMEDIES["no-room"], status=507)

        return never_cache(inner)

    return around


def refusal(code: str, text: str, *, remedy: str = "", status: int) -> HttpResponse:
    """A refusal as JSON."""
    return JsonResponse({"code": code, "problem": text, "remedy": remedy}, status=status)


def content_of(request: HttpRequest, **kinds: type) -> dict[str, Any]:
    """The JSON object of a request, with these entries of these kinds where they are there.

    Raises:
        Misuse: It is too long, no JSON object, or an entry is of another kind.
    """
    data = request.read(MOST_JSON_BYTES + 1)
    try:
        content = json.loads(data) if len(data) <= MOST_JSON_BYTES else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Misuse(f"send a JSON object of at most {MOST_JSON_BYTES:,} bytes")
    if not all(_is_storable(text) for text in _texts(content)):
        raise Misuse("a text in it has NUL or half a letter (a lone surrogate), which no database keeps")
    for name, kind in kinds.items():
        value = content.get(name)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is int)):
            raise Misuse(f"{name} must be of kind {kind.__name__}; got {value!r}"[:300])
    return content


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(inner)


def _is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def whole(request: HttpRequest, name: str) -> int:
    """A whole number in the address.

    Raises:
        Misuse: It is none.
    """
    value = request.GET.get(name, "")
    if not value.isascii() or not value.isdigit() or len(value) > 15:
        raise Misuse(f"{name} must be a whole number in the address; got {value[:40]!r}")
    return int(value)
