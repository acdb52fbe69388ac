"""The first page of a report as plain text, for reviewed golden files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.report.chart import Chart
from surgvalid.report.inputs import read_inputs
from surgvalid.report.section import Fold, Note, Points, Prose, ReportTable, Section, Standings
from surgvalid.report.sections import verdict
from surgvalid.report.standings_table import standings_frame


def verdict_text(source: Path, **options: Any) -> str:
    """Title, sentences, tables and lists of the verdict, with the titles of its images."""
    return section_text(verdict.section(read_inputs(source, **options)))


def section_text(section: Section) -> str:
    """The same of one section."""
    lines = [f"# {section.title}", "", *([section.lead, ""] if section.lead else [])]
    for block in section.blocks:
        if isinstance(block, Prose):
            lines += [block.text, ""]
        elif isinstance(block, Note):
            lines += [block.sentence, ""]
        elif isinstance(block, Chart):
            lines += [f"[{block.title}] {block.alt}", ""]
        elif isinstance(block, ReportTable):
            lines += [f"[{block.title}]", *(" | ".join(map(str, row)) for row in block.frame.iter_rows()), ""]
        elif isinstance(block, Standings):
            lines += [
                f"[{block.title}]",
                *(" | ".join(map(str, row)) for row in standings_frame(block).iter_rows()),
                "",
            ]
        elif isinstance(block, Fold):
            lines += [f"## {block.title}", *(f"- {item}" for item in block.items), ""]
        elif isinstance(block, Points):
            points = [f"- {point.label}: {point.text}" if point.label else f"- {point.text}" for point in block.points]
            lines += [f"## {block.title}", *points, *filter(None, [block.rest]), ""]
    return "\n".join(lines)


def answers_table(path: Path, *, models: int, videos: int = 40, per_video: int = 12, seed: int = 3) -> Path:
    """Right and wrong answers of models of falling skill; the second is bad at counting."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.6, videos)
    rows = []
    for number in range(models):
        skill = 1.4 - 1.2 * number / max(models, 2)
        for video in range(videos):
            for n in range(per_video):
                kind = ("find", "count", "explain")[n % 3]
                logit = skill + hard[video] - (2.0 if number == 1 and kind == "count" else 0.0)
                right = float(rng.random() < 1 / (1 + np.exp(-logit)))
                rows.append((f"model-{number:02d}", f"q{video}-{n}", f"v{video}", "correct", right, kind))
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "metric", "value", "task"], orient="row")
    frame.write_parquet(path)
    return path


def dice_table(path: Path, *, patients: int = 24, seed: int = 5) -> Path:
    """Dice of three models on several images of each patient, some of them smoky."""
    rng = np.random.default_rng(seed)
    rows = []
    for patient in range(patients):
        base = rng.normal(0.8, 0.05)
        for image in range(4):
            smoky = bool(rng.random() < 0.4)
            for model, shift, harm in (("unet", 0.0, 0.0), ("swin", 0.03, 0.0), ("old", -0.02, -0.15)):
                value = float(np.clip(base + shift + smoky * harm + rng.normal(0, 0.03), 0, 1))
                rows.append((model, f"p{patient}-{image}", f"p{patient}", "dsc", value, "yes" if smoky else "no"))
    frame = pl.DataFrame(rows, schema=["model", "case", "video", "metric", "value", "smoke"], orient="row")
    frame.write_csv(path)
    return path
