"""A bundle for Codabench: competition, pages, references, and a scoring program that uses the installed package.

Codabench ranks by the columns of its leaderboard from left to right, and then by who came first. The second column
here is how many baselines a submission is shown to be ahead of, so equal values are parted by evidence before time.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.bridges.grand_challenge import PlatformScores, pack_files
from surgvalid.bridges.method import MethodSettings, in_a_line, organisers_score, predictions, scored, summed_up
from surgvalid.errors import FileUnreadable, Misuse, SurgvalidError, WouldOverwrite

COLUMNS = {"value": "value", "baselines_ahead": "baselines behind it", "low": "low end", "high": "high end"}
_COMMAND = "python3 -m surgvalid.bridges.codabench $program $input $output"
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every member, so that equal bundles are equal files."""
_MOST_BYTES = 256 << 20
_LOGO = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550"
    "000000a49444154789c63f80f0001010100b138f6140000000049454e44ae426082"
)
"""An image of one pixel: the platform asks for one."""


def write(
    pack: str | Path, path: str | Path, *, title: str, image: str, start: str, end: str = "", force: bool = False
) -> Path:
    """Write the bundle, a zip file.

    Args:
        pack: A folder as `grand_challenge.new` writes it.
        path: Of the zip.
        title: Of the competition.
        image: The name in a registry of an image with surgvalid in it; the platform's own are too old.
        start: The first day of the phase, `YYYY-MM-DD`.
        end: Its last day, which is whole of it; open where none is said.
        force: Whether a file there may be replaced.

    Raises:
        WouldOverwrite: There is a file.
        FileUnreadable: The pack lacks one.
    """
    place, target = Path(pack), Path(path)
    if target.exists() and not force:
        raise WouldOverwrite(target)
    settings = MethodSettings.read(place / "evaluate.toml")
    held: dict[str, str | bytes] = {
        "competition.yaml": _competition(settings, title, image, start, end),
        "logo.png": _LOGO,
        "terms.md": "Say here what participants may do with the data.\n",
        "overview.md": f"# {title}\n\nHand in `predictions.csv` with the columns `case` and `prediction`, in a zip.\n",
        "scoring_program/metadata.yaml": f"command: {json.dumps(_COMMAND)}\n",
        **{f"scoring_program/{name}": text for name, text in pack_files(place, "").items()},
        **{f"reference_data/{name}": text for name, text in pack_files(place, "ground_truth").items()},
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in held.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    target.write_bytes(content.getvalue())
    return target


def _competition(settings: MethodSettings, title: str, image: str, start: str, end: str) -> str:
    """The description; JSON is YAML."""
    sorting = "desc" if settings.better == "larger" else "asc"
    columns = [
        {
            "title": text,
            "key": key,
            "index": index,
            "sorting": sorting if key != "baselines_ahead" else "desc",
            "precision": 4,
        }
        for index, (key, text) in enumerate(COLUMNS.items())
    ]
    phase = {"name": "Test", "description": "Test", "start": start, "tasks": [0]}
    if end:  # of a day without a time the platform takes the first moment
        phase["end"] = f"{end}T23:59:59"
    task = {"index": 0, "name": "Test", "description": "Test"}
    document = {
        "version": 2,
        "title": title,
        "image": "logo.png",
        "terms": "terms.md",
        "docker_image": image,
        "enable_detailed_results": True,
        "pages": [{"title": "Overview", "file": "overview.md"}],
        "tasks": [{**task, "reference_data": "reference_data", "scoring_program": "scoring_program"}],
        "phases": [phase],
        "leaderboards": [{"title": settings.metric, "key": "main", "columns": columns}],
    }
    return json.dumps(document, indent=2) + "\n"


def run(program: Path, given: Path, out: Path) -> dict[str, float]:
    """Score what was submitted: `ref` and `res` below `given`, `scores.json` and a page into `out`."""
    settings, _, summary = summed_up(program, given / "res", given / "ref")
    known = summary | {"baselines_ahead": sum(one["ahead"] for one in summary["baselines"].values())}
    scores = {key: known[key] for key in COLUMNS if key in known}
    (out / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    (out / "detailed_results.html").write_text(_page(settings, summary), encoding="utf-8")
    return scores


def leaderboard(pack: str | Path, submissions: str | Path) -> PlatformScores:
    """The scores of all submissions, which the platform never holds side by side, for `surgvalid.rank` and `study`.

    Args:
        pack: The folder that the bundle was made from.
        submissions: A folder with what was downloaded: a zip or a folder with `predictions.csv` for each participant,
            by whose name it is called.

    Raises:
        FileUnreadable: No submission can be scored; says why not, one by one.
    """
    place, tables, left_out = Path(pack), [], []
    settings, score = MethodSettings.read(place / "evaluate.toml"), organisers_score(place / "scoring.py")
    for one in sorted(path for path in Path(submissions).iterdir() if path.is_dir() or path.suffix == ".zip"):
        try:
            with tempfile.TemporaryDirectory() as unpacked:
                given = predictions(_handed_in(one, Path(unpacked)), settings)
            rows = scored(given, place / "ground_truth", score)
        except SurgvalidError as error:
            left_out.append(f"{one.stem}: {error}")
            continue
        tables.append(rows.select(pl.lit(one.stem).alias("model"), pl.lit(settings.metric).alias("metric"), pl.all()))
    if not tables:
        raise FileUnreadable(str(submissions), left_out or ["holds no zip and no folder of a submission"])
    return PlatformScores(pl.concat(tables), tuple(left_out))


def _handed_in(one: Path, unpacked: Path) -> Path:
    """The folder of a submission; of a zip only the predictions are unpacked."""
    if one.is_dir():
        return one
    try:
        with zipfile.ZipFile(one) as archive:
            if archive.getinfo("predictions.csv").file_size > _MOST_BYTES:
                raise Misuse(f"predictions.csv is larger than {_MOST_BYTES >> 20} MiB")
            archive.extract("predictions.csv", unpacked)
    except (zipfile.BadZipFile, KeyError, zlib.error):
        raise Misuse("no zip with predictions.csv") from None
    return unpacked


def _page(settings: MethodSettings, summary: Mapping[str, Any]) -> str:
    """What participants see: nothing of a single case, nothing from elsewhere."""
    rows = [(settings.metric, summary, "value")]
    rows += [
        (f"{name} {level}", one, "value") for name, some in summary["strata"].items() for level, one in some.items()
    ]
    rows += [(f"minus {name}", one, "difference") for name, one in summary["baselines"].items()]
    cells = [
        [name, *(f"{one[key]:.4f}" if key in one else "" for key in (main, "low", "high"))] for name, one, main in rows
    ]
    lines = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells]
    caption = f"{settings.level:.0%} intervals over {summary['videos']} videos ({summary['cases']} cases)"
    head = f"<caption>{caption}</caption><tr><th></th><th>value</th><th>low</th><th>high</th></tr>"
    title = escape(settings.metric)
    start = f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    return f"{start}<table>{head}{''.join(lines)}</table></html>"


if __name__ == "__main__":
    sys.exit(not in_a_line(lambda: run(*map(Path, sys.argv[1:4]))))
