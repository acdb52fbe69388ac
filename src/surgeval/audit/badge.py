"""A small picture that says how an audit came out, to stand beside a result."""

from __future__ import annotations

from collections.abc import Mapping

from surgeval.audit.evidence import Outcome

_LETTER_PX, _PAD_PX, _HEIGHT_PX = 6.6, 8, 20
_COLOURS = {"fail": "#b3261e", "open": "#7a5c00", "pass": "#1b6e3c"}


def badge(counts: Mapping[str, int]) -> str:
    """The badge as SVG: how many checks pass, fail, and cannot be told.

    Example:
        >>> "17 pass, 0 fail, 1 open" in badge({"pass": 17, "fail": 0, "not assessable": 1, "needs an answer": 0})
        True
    """
    failing, passing = counts[Outcome.FAIL], counts[Outcome.PASS]
    unsettled = counts[Outcome.UNKNOWN] + counts[Outcome.ASK]
    words = f"{passing} pass, {failing} fail, {unsettled} open"
    colour = _COLOURS["fail" if failing else "open" if unsettled else "pass"]
    left, right = _width("pitfalls"), _width(words)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT_PX}" role="img" '
        f'aria-label="pitfalls of validation: {words}"><title>pitfalls of validation: {words}</title>'
        f'<rect width="{left}" height="{_HEIGHT_PX}" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT_PX}" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,Geneva,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">pitfalls</text>'
        f'<text x="{left + right / 2:g}" y="14">{words}</text></g></svg>\n'
    )


def _width(words: str) -> int:
    return round(len(words) * _LETTER_PX + 2 * _PAD_PX)
