"""A folder for R of its own; what stands in it is made by `studies.r_analysis`, as in a supplement."""

from __future__ import annotations

from pathlib import Path

from surgvalid.results.folder import files_below, staged, write_files
from surgvalid.results.manifest import MANIFEST, write_manifest
from surgvalid.studies.r_analysis import r_texts
from surgvalid.studies.study import StudyResult


def write(result: StudyResult, folder: str | Path, *, force: bool = False) -> Path:
    """Write the folder, and give it.

    Args:
        result: What `surgvalid.study` gave.
        folder: A new one.
        force: Whether what stands there may be replaced.

    Raises:
        WouldOverwrite: The folder holds a result already.
    """
    with staged(Path(folder), force=force) as stage:
        write_files(r_texts(result), stage)
        write_manifest(stage / MANIFEST, result.manifest(files_below(stage)))
    return Path(folder)
