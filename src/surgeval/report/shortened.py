"""The short form of a report: the verdict, the main figures, limitations and methods; what is left out is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surgeval.report.chart import Chart
from surgeval.report.section import Block, Note, Prose, Section, Table
from surgeval.report.sections._wording import count_of

_SHOWN = ("Places", "Kinds of question", "Tasks", "Metrics", "Why models fail")
"""Views that a short report has, with their first figure."""
_MOST_VIEWS = 3
_KEPT = ("limitations", "methods")
_MOST_NOTES = 12


def shortened(sections: Sequence[Section]) -> list[Section]:
    """The sections of a short report; pages without layers are short already."""
    if not any(section.layer for section in sections):
        return list(sections)
    verdict = [section for section in sections if section.layer == "verdict"]
    firsts: dict[str, Section] = {}
    for section in sections:
        if section.layer == "explore" and section.view in _SHOWN and _charts(section.blocks):
            firsts.setdefault(section.view, section)
    views = [_main(section) for section in list(firsts.values())[:_MOST_VIEWS]]
    rest = [_fewer_notes(section) for section in sections if section.name in _KEPT]
    kept = [*verdict, *views, *rest]
    return [*kept[:-1], _counted(kept[-1], sections, kept)] if kept else []


def _charts(blocks: Sequence[Block]) -> list[Chart]:
    return [block for block in blocks if isinstance(block, Chart)]


def _main(section: Section) -> Section:
    words = [block for block in section.blocks if isinstance(block, Prose)][:1]
    return replace(section, blocks=(*words, *_charts(section.blocks)[:1]), boards=())


def _fewer_notes(section: Section) -> Section:
    if len(section.blocks) <= _MOST_NOTES:
        return section
    rest = Prose(f"{len(section.blocks) - _MOST_NOTES} more are on the page.")
    return replace(section, blocks=(*section.blocks[:_MOST_NOTES], rest), boards=())


def _counted(last: Section, sections: Sequence[Section], kept: Sequence[Section]) -> Section:
    """The last section with what the short report leaves out."""
    figures, tables = (_number(sections, kind) - _number(kept, kind) for kind in (Chart, Table))
    if figures <= 0 and tables <= 0:
        return last
    left_out = f"{count_of(figures, 'figure')} and {count_of(tables, 'table')} are on the page; --full prints them too."
    return replace(last, blocks=(*last.blocks, Note(left_out, "hint")), boards=())


def _number(sections: Sequence[Section], kind: type[Chart] | type[Table]) -> int:
    return sum(isinstance(block, kind) for section in sections for block in section.blocks)
