"""How a page answers an act: back to a page, with a sentence that says what was done or why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from surgeval.errors import SurgevalError


def page(request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    """A page in the frame of the site."""
    return render(request, f"pages/{template}.html", {"title": title, **context})


def attempted(
    request: HttpRequest, act: Callable[[], object], *, done: str, to: str, parts: dict[str, Any] | None = None
) -> HttpResponse:
    """Back to the page `to` after an act, which says what was done, or why it was refused."""
    try:
        act()
    except SurgevalError as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, done)
    return HttpResponseRedirect(reverse(to, kwargs=parts))


def with_form(
    request: HttpRequest,
    form: Form,
    act: Callable[[], object],
    *,
    done: str,
    to: str,
    parts: dict[str, Any] | None = None,
) -> HttpResponse:
    """As `attempted`, after the form was checked; every problem of the form is said."""
    if not form.is_valid():
        for name, problems in form.errors.items():
            label = form.fields[name].label or name if name in form.fields else "form"
            messages.error(request, f"{label}: {' '.join(str(problem) for problem in problems)}")
        return HttpResponseRedirect(reverse(to, kwargs=parts))
    return attempted(request, act, done=done, to=to, parts=parts)


def sentence(refusal: Exception) -> str:
    """The reason as a sentence."""
    text = str(refusal).strip()
    return text[:1].upper() + text[1:]


def whole_number(text: str) -> int:
    """The number that a form or an address names; 0, which nothing has, where it names none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
