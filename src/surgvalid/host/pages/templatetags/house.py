"""Words that templates use: places in the navigation, stages as badges, moments, numbers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.template.context import RequestContext
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from surgvalid.host.acting import now
from surgvalid.host.pages.history import STAGE_WORDS, stage_mood

register = template.Library()


@register.simple_tag(takes_context=True)
def place(context: RequestContext, name: str, label: str) -> SafeString:
    """A link of the navigation; that of the page itself, or of one below it, is marked."""
    address = reverse(name)
    path = context["request"].path
    here = path == address or (address != reverse("home") and path.startswith(address))
    return format_html('<a href="{}"{}>{}</a>', address, SafeString(' aria-current="page"') if here else "", label)


@register.filter
def stage(value: str) -> SafeString:
    """The stage of a submission as a badge."""
    return format_html('<span class="badge {}">{}</span>', stage_mood(value), STAGE_WORDS.get(value, value))


@register.filter
def moment(value: datetime | None) -> SafeString | str:
    """A time that people and programs can read."""
    if value is None:
        return "–"
    return format_html(
        '<time datetime="{}">{}</time>', value.isoformat(timespec="minutes"), f"{value:%-d %b %Y, %H:%M}"
    )


@register.filter
def is_over(value: datetime) -> bool:
    """Whether a time is past."""
    return value <= now()


@register.filter
def figure(value: Any, digits: int = 3) -> str:
    """A number of the leaderboards, or a dash."""
    return "–" if value in (None, "") else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


@register.filter
def megabytes(value: int) -> str:
    """A size in the unit that fits it."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 2**power:
            return f"{value / 2**power:.1f} {unit}"
    return f"{value} bytes"


@register.filter
def entry(mapping: dict[str, Any], key: Any) -> Any:
    """What a mapping has under a key, or nothing."""
    return mapping.get(key)


@register.filter
def percent(value: float) -> str:
    """A share as a percentage."""
    return f"{value:.0%}"
