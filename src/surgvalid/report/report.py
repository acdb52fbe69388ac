"""A report of everything a folder of results holds: one HTML file, or a PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from surgvalid.catalogue import packages_named
from surgvalid.report.html import page
from surgvalid.report.inputs import Competition, ReportInputs, competitions, read_inputs
from surgvalid.report.record import report_manifest
from surgvalid.report.section import Block, Browser, Note, Prose, Section, in_words_of
from surgvalid.report.templates import (
    OF_A_RANKING,
    SECTIONS,
    ReportTemplate,
    named_after,
    placed,
    shortened,
    template_for,
)
from surgvalid.report.wording import is_empty
from surgvalid.report.words import count_of, plain
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.table_facts import Directions

if TYPE_CHECKING:
    from surgvalid.report.cases.frames import Frames
    from surgvalid.report.cases.overlays import OverlayImage

FRAMES_README = (
    "These images are frames of operations: patient images. They belong to the page beside this folder. Do not pass"
    " them on unless you may; delete the folder, and the page still works.\n"
)


@dataclass(frozen=True, repr=False)
class Report:
    """Sections in order, and the pages they can become."""

    title: str
    template: ReportTemplate
    sections: tuple[Section, ...]
    inputs: ReportInputs

    @property
    def facts(self) -> str:
        """The size of what is reported, in one line."""
        rows = self.inputs.rows
        runs = self.inputs.of("task") if not self.inputs.models else []
        parts = [count_of(len(runs), "run") if runs else count_of(len(self.inputs.models), "model")]
        if not rows.is_empty():
            noun = "question" if self.inputs.of("score") else "case"
            parts.append(count_of(rows["case"].n_unique(), noun))
            if self.inputs.scores is not None and self.inputs.scores.has_videos and self.inputs.scores.unit.is_known:
                parts.append(count_of(rows["video"].n_unique(), self.inputs.scores.unit.word))
        return " · ".join(parts)

    @property
    def missing(self) -> list[str]:
        """What the report would have had, had the folder held it."""
        notes = [block for section in self.sections for block in section.blocks if isinstance(block, Note)]
        return [note.text for note in notes if note.kind == "missing"]

    @property
    def limitations(self) -> list[str]:
        """The limitations found."""
        sections = [section for section in self.sections if section.name == "limitations"]
        return [block.sentence for section in sections for block in section.blocks if isinstance(block, Note)]

    def html_with_frames(self, frames: Frames, url: str) -> tuple[str, list[OverlayImage]]:
        """The page with the addresses of the frames of its cases, and what makes each image, by number.

        Args:
            frames: Where frames lie.
            url: What an address begins with; a number and `.png` follow.
        """
        from surgvalid.report.cases.frames import (
            with_frames,  # reads predictions again, which a page without frames does not
        )

        sections: list[Section] = []
        sources: list[OverlayImage] = []
        for section in self.sections:
            blocks: list[Block] = []
            for block in section.blocks:
                if isinstance(block, Browser):
                    listed, taken = with_frames(block.cases, frames, url)
                    block, sources = replace(block, cases=tuple(listed), has_frames=True), taken
                blocks.append(block)
            sections.append(replace(section, blocks=tuple(blocks)))
        return replace(self, sections=tuple(sections)).html(), sources

    def html(self) -> str:
        """The report as one page that needs nothing else."""
        first = self.sections[0] if self.sections else None
        if first is None or not first.lead:
            return page(self.title, self.template.kind, self.facts, self.sections, models=self.inputs.models)
        kind = f"{self.template.kind} \u00b7 {self.title}"
        opened = (replace(first, title=""), *self.sections[1:])
        return page(first.title, kind, self.facts, opened, lead=first.lead, models=self.inputs.models)

    def to_html(self, path: str | Path) -> Path:
        """Write the page.

        Returns:
            The path written.
        """
        target = Path(path)
        target.write_text(self.html(), encoding="utf-8", errors="replace")
        return target

    def to_html_with_frames(self, path: str | Path, *, images: str | Path | None = None) -> tuple[Path, Path, int]:
        """Write the page, and the frames of its cases into a folder beside it. They are patient images.

        Args:
            path: Of the page.
            images: Folder of the images that predictions are about, where the reported folder does not hold them.

        Returns:
            The page, the folder and the number of frames in it.
        """
        from surgvalid.report.cases.frames import frames_in

        target = Path(path)
        folder = target.with_name(f"{target.stem}-frames")
        page, sources = self.html_with_frames(
            frames_in(self.inputs, Path(images) if images else None), f"{quote(folder.name)}/"
        )
        folder.mkdir(exist_ok=True)
        written = 0
        for number, source in enumerate(sources):
            if (data := source()) is not None:
                (folder / f"{number:05d}.png").write_bytes(data)
                written += 1
        (folder / "README.txt").write_text(FRAMES_README, encoding="utf-8")
        target.write_text(page, encoding="utf-8", errors="replace")
        return target, folder, written

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What the report was made from: versions, options and the hash of every file that was read."""
        return report_manifest(self.inputs)

    def to_pdf(self, path: str | Path, *, full: bool = False) -> Path:
        """Write the report as a PDF, printed by a browser that is installed.

        Args:
            path: Of the file.
            full: Print every figure and table of the page; else the verdict, limitations and methods.

        Raises:
            Misuse: No browser that can print is installed.
        """
        from surgvalid.report.pdf import pdf

        target = Path(path)
        target.write_bytes(pdf((self if full else self.shortened()).html()))
        return target

    def shortened(self) -> Report:
        """The report without what its short form leaves out."""
        return replace(self, sections=tuple(shortened(self.sections)))

    def __repr__(self) -> str:
        names = ", ".join(section.name for section in self.sections)
        return f"Report({plain(self.title, limit=60)!r}, {self.template.name}: {names})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the summary in words and what there is to see."""
        first = [self.sections[0].lead, *(block.text for block in self.sections[0].blocks if isinstance(block, Prose))]
        items = "".join(f"<li>{escape(section.title)}</li>" for section in self.sections)
        words = "".join(f"<p>{escape(plain(text))}</p>" for text in first)
        hint = "<p>Write it with <code>.to_html(path)</code> or <code>.to_pdf(path)</code>.</p>"
        title = f"<p><strong>{escape(plain(self.title))}</strong></p>"
        return f'<div class="surgvalid">{title}{words}<ol>{items}</ol>{hint}</div>'


@packages_named()
def make_report(
    source: str | Path,
    *,
    template: str | None = None,
    sections: Sequence[str] = (),
    title: str | None = None,
    columns: Mapping[str, str] | None = None,
    better: Directions = None,
    missing: Missing = None,
    margin: float | None = None,
    against: str | None = None,
    why: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """The report of a folder of results, or of a score table.

    It is not called `report`, because that is the name of the package it lives in.

    Args:
        source: A folder with what verbs wrote, at any depth up to four; or a CSV or Parquet score table.
        template: `challenge`, `single` or `study`; chosen by what the folder holds when None.
        sections: Further sections at the end, by name; such as one that an installed package brings.
        title: The heading; the folder's name when None.
        columns: Our column names to theirs, where `source` is a table.
        better: `larger` or `smaller`, where neither the tables nor the name of the metric says it.
        missing: What a score that is not there counts as in the report's own statistics, as `interval` takes it; by
            default as every scoring in the folder was given it, else as everywhere. Where that is an error, a sentence
            stands instead of the numbers.
        margin: The smallest difference that matters to the verdict, as `study` takes it.
        against: The baseline of the verdict, as `study` takes it.
        why: Show the rule, the numbers and the source behind each sentence of the verdict.
        progress: Called with 1 after reading and after every section.

    Raises:
        FileUnreadable: There is nothing to report.
        TableInvalid: Scores are not there, and the rule given for that is an error or cannot be followed.
        UnknownName: There is no such template, or no such section.
        PluginBroken: A section of an installed package cannot be used.
    """
    step = progress or _silent
    asked = {
        "template": template,
        "sections": list(sections) or None,
        "title": title,
        "columns": dict(columns or {}) or None,
        "better": better,
        "missing": missing,
        "margin": margin,
        "against": against,
        "why": why or None,
    }
    everything = read_inputs(source, columns=columns, better=better)
    inputs = replace(everything, options={k: v for k, v in asked.items() if v is not None})
    if missing is not None and inputs.live is not None:
        inputs.live.table.matrix(inputs.metric, missing=inputs.live.missing)
    chosen = template_for(inputs, template)
    chosen = replace(chosen, sections=tuple(dict.fromkeys((*chosen.sections, *sections))))
    step(1)
    made = []
    for name, competition in _planned(chosen, inputs):
        section = SECTIONS[name](competition.inputs)
        if name not in chosen.optional or not is_empty(section):
            section = named_after(placed(section, competition.label), competition.label)
            made.append(section if inputs.live is None else in_words_of(section, inputs.live.table.unit))
        step(1)
    heading = title if title is not None else inputs.source.resolve().stem.replace("_", " ").replace("-", " ")
    return Report(plain(heading, limit=200) or "Report", chosen, tuple(made), inputs)


def _planned(chosen: ReportTemplate, inputs: ReportInputs) -> Iterator[tuple[str, Competition]]:
    """Every section with what it is about; those of a ranking once for each, one ranking after the other."""
    repeated = [name for name in chosen.sections if name in OF_A_RANKING]
    for name in chosen.sections:
        if name not in repeated:
            yield name, Competition("", inputs)
        elif name == repeated[0]:
            yield from ((member, competition) for competition in competitions(inputs) for member in repeated)


def _silent(_: int) -> None:
    return None
