"""`supplement`: the tables and figures of a paper's supplement, from scored models, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, SurgvalidError, TableInvalid
from surgvalid.report.chart import Chart
from surgvalid.report.html import page
from surgvalid.report.section import Block, Note, ReportTable, Section
from surgvalid.report.words import count_of, plain
from surgvalid.results.folder import write_files
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result
from surgvalid.results.tables import supplement as tables
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.question_files import Sources
from surgvalid.schema.tables.missing import Missing
from surgvalid.scoring.slices import CONTEXT_S, check_context
from surgvalid.stats.draws import check_replicates, check_seed
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.studies.r_analysis import r_texts
from surgvalid.studies.study import study
from surgvalid.studies.supplement import conditions, overview, rivals
from surgvalid.studies.supplement.study import CONTEXT, SupplementStudy, read_study

HIDDEN = (
    "resample", "method", "level", "replicates", "seed", "statistic", "df", "effective_videos", "not_scored", "sd",
    "std_error", "smallest_p", "worst", "t",
)  # fmt: skip
"""Columns of the files that the page leaves out."""
SECTIONS: Mapping[str, tuple[str, Callable[[SupplementStudy], list[Block]]]] = {
    "data": ("What these data can show", overview.data),
    "values": ("Precision of the performance estimates", overview.values),
    "strata": ("Stratified analyses", conditions.stratified),
    "labels": ("Labels that occur together", conditions.labels),
    "adjusted": ("Adjusted effects", conditions.adjusted),
    "variability": ("Variability across cases", rivals.variation),
    "ranks": ("Variability of ranks", rivals.places),
    "differences": ("Differences between models", rivals.differences),
    "ensembles": ("Ensembles as upper bounds", rivals.upper_bounds),
    "failures": ("Qualitative failures", overview.qualitative),
}
"""Every section: its title, and what makes its blocks."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SupplementResult(Result):
    """A supplement: sections in order; every table is a CSV file, every figure an SVG file, all are on one page."""

    page = "supplement.html"

    heading: str
    size: str
    """Of the data, in a line."""
    sections: tuple[Section, ...]
    beside: Mapping[str, str] = field(default_factory=dict)
    """Further texts by the names of their files: the folder for R that recomputes the primary result."""

    @property
    def title(self) -> str:
        """The heading and what there is."""
        figures = sum(isinstance(block, Chart) for section in self.sections for block in section.blocks)
        return f"Supplement {self.heading!r}: {count_of(len(self.tables) - 1, 'table')}, {count_of(figures, 'figure')}"

    @property
    def figures(self) -> Mapping[str, Chart]:
        """Every figure by the name of its file."""
        return {block.name: block for section in self.sections for block in section.blocks if isinstance(block, Chart)}

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """What the supplement holds."""
        return {self.title: self.table.select("number", "file", "title")}

    def html(self) -> str:
        """The supplement as one page that needs nothing else."""
        return page(self.heading, "Supplement", self.size, [_on_page(one) for one in self.sections])

    def write(self, folder: Path) -> None:
        """Write the tables, the figures and the page."""
        super().write(folder)
        for name, chart in self.figures.items():
            (folder / f"{name}.svg").write_text(chart.svg(), encoding="utf-8")
        write_files(self.beside, folder)


@requested("supplement", files=("folders", "answers", "references"))
def supplement(
    folders: Sequence[str | Path],
    *,
    title: str = "Supplement",
    by: Sequence[str] = (),
    context_s: Sequence[float] = CONTEXT_S,
    answers: Sequence[str] = (),
    references: Sources | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 42,
    missing: Missing = None,
    progress: Callable[[int], None] | None = None,
) -> SupplementResult:
    """The tables and figures of a paper's supplement, from models that were scored on the same questions.

    It calls `interval`, `strata`, `cooccurrence`, `adjusted_effects`, `failures`, `dependence`, `rank`, `compare` and
    `ensembles` and shows what they give. What the data do not carry is left out with a sentence that says why.

    Args:
        folders: What `score` wrote, one folder for each model.
        title: The heading of the page.
        by: Further columns to stratify by, such as `center` or `procedure`. Those of the design come by themselves:
            `capability`, `secondaries`, `window_s`, `clinical`, `ood`, and `decision_impact` and `required_knowledge`
            where the references have them.
        context_s: Lengths in seconds that tell short, medium and long contexts apart.
        answers: `MODEL=FILE`: the answers of a model, so that votes can be counted.
        references: Reference answers, by whose formats two answers are the same vote; equal texts otherwise.
        level: Coverage of the intervals.
        replicates: Resamples behind places and ensembles; everything else draws nothing.
        seed: Of these resamples.
        missing: What a score that is not there counts as, as for `interval`.
        progress: Called with 1 after every section.

    Raises:
        Misuse: No folder, a folder without scores of questions, or an option that cannot mean anything.
        TableInvalid: The scores contradict each other.
    """
    check_level(level)
    check_replicates(replicates)
    check_seed(seed)
    check_context(context_s)
    if not title.strip():
        raise Misuse("title must not be empty")
    folders = [folders] if isinstance(folders, str | Path) else list(folders)
    read = read_study(
        folders,
        answers=answers,
        context_s=context_s,
        axes=_axes(by),
        level=level,
        replicates=replicates,
        seed=seed,
        missing=missing,
        references=references,
    )
    sections = []
    for name, (heading, build) in SECTIONS.items():
        sections.append(Section(name, heading, tuple(_blocks(build, read))))
        if progress:
            progress(1)
    return SupplementResult(
        heading=plain(title, limit=200),
        size=_size(read),
        sections=tuple(sections),
        tables=tables_of(sections),
        main="contents",
        findings=tuple(_refusals(sections)),
        beside=_for_r(folders, level, missing),
        request=VerbRequest(inputs=read.files),
    )


def _for_r(folders: Sequence[str | Path], level: float, missing: Missing) -> dict[str, str]:
    """What R needs to recompute the study of the models; a sentence where there is none."""
    try:
        return {f"r/{name}": text for name, text in r_texts(study(folders, level=level, missing=missing)).items()}
    except SurgvalidError as error:
        return {"r/not_given.txt": f"Nothing to recompute in R: {error}\n"}


def tables_of(sections: Sequence[Section]) -> dict[str, pl.DataFrame]:
    """The tables of the sections by the names of their files, and what the supplement holds, each as declared."""
    declared = {table.name: table for table in tables.SUPPLEMENT}
    blocks = [block for section in sections for block in section.blocks if isinstance(block, ReportTable)]
    contents = tables.CONTENTS.frame(list(_contents(sections)))
    return {"contents": contents, **{block.name: declared[block.name].frame(block.frame) for block in blocks}}


def _axes(by: Sequence[str]) -> dict[str, str]:
    """The columns of the stratified analyses, and what they are in words."""
    axes = {
        "capability": "sub-capability",
        CONTEXT: "context length",
        "clinical": "clinical relevance",
        "decision_impact": "clinical impact",
        "required_knowledge": "required knowledge",
        "ood": "robustness (out of distribution)",
        conditions.SECONDARY: "secondary capability",
    }
    return axes | {column: column for column in by if column not in axes}


def _blocks(build: Callable[[SupplementStudy], list[Block]], study: SupplementStudy) -> list[Block]:
    """The blocks of a section, or why it cannot be given: a warning where the scores are at fault, else a note."""
    try:
        return build(study)
    except SurgvalidError as error:
        text = f"Not given: {plain(error, limit=4000)}"
        return [Note(text, "limitation" if isinstance(error, TableInvalid) else "missing")]


def _on_page(section: Section) -> Section:
    """The section with tables as a page has room for; the files have every column."""
    blocks = (
        replace(block, frame=block.frame.drop(HIDDEN, strict=False), caption=f"{block.caption} File: {block.name}.csv.")
        if isinstance(block, ReportTable)
        else block
        for block in section.blocks
    )
    return replace(section, blocks=tuple(blocks))


def _contents(sections: Sequence[Section]) -> Iterator[dict[str, Any]]:
    """Every table and figure, numbered as on the page."""
    counts = {"Table": 0, "Figure": 0}
    for section in sections:
        for block in section.blocks:
            if isinstance(block, ReportTable | Chart):
                kind, ending = ("Table", "csv") if isinstance(block, ReportTable) else ("Figure", "svg")
                counts[kind] += 1
                yield {
                    "number": f"{kind} {counts[kind]}",
                    "file": f"{block.name}.{ending}",
                    "section": section.title,
                    "title": block.title,
                    "caption": block.caption,
                }


def _refusals(sections: Sequence[Section]) -> Iterator[Finding]:
    """What could not be given, and what limits what was."""
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Note):
                severity = Severity.WARNING if block.kind == "limitation" else Severity.NOTE
                code = {"limitation": "limitation", "missing": "not-given", "hint": "not-drawn"}[block.kind]
                yield Finding(code, severity, block.sentence, subject=section.title)


def _size(study: SupplementStudy) -> str:
    parts = [(len(study.models), "model"), (study.rows["case"].n_unique(), "question"), (study.videos, "video")]
    return " · ".join(count_of(number, noun) for number, noun in parts)
