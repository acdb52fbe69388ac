"""A folder of a data set, read with care: whatever is wrong becomes a finding, nothing else is raised.

Readers ask the folder for files, text tables and JSON; each problem is noted with its place, and the
reader goes on, so that one reading lists every problem. Pickles are never opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partialmethod
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.left_behind import left_behind, put_there

_SHOWN_ROWS = 3
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_DIGITS = 12
_LONGEST_LINK = 128
_LINK = re.compile(r"\.{0,2}[\w.-]*(/[\w.-]+)+/?")
"""A relative path and nothing else."""
PICKLES = (".pkl", ".pickle")


class PngHeader(NamedTuple):
    """Size and sample layout of a PNG file."""

    width_px: int
    height_px: int
    bit_depth: int
    colour_type: int


class DataFolder:
    """The root of a data set and what was noticed while reading it."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self.findings: list[Finding] = []
        self.opened: dict[Path, None] = {}
        """The files that were read, in order."""
        self._seen: set[Finding] = set()
        if not self.root.is_dir():
            self.problem("missing", self.root, "no such folder")

    @property
    def problems(self) -> list[str]:
        """Every error so far, as a line with its place."""
        return [f"{f.where}: {f.message}" for f in self.findings if f.severity is Severity.ERROR]

    def _say(self, severity: Severity, code: str, where: str | Path, message: str) -> None:
        self._note(Finding(code, severity, message, where=self._place(where)))

    problem = partialmethod(_say, Severity.ERROR)
    """Note something that makes a reference unusable: a code, where, and a message."""
    warn = partialmethod(_say, Severity.WARNING)
    """Note something that is probably not meant."""
    note = partialmethod(_say, Severity.NOTE)
    """Note something worth knowing."""

    def take(self, findings: Iterable[Finding]) -> None:
        """Note what another reading of the same folder noticed."""
        for finding in findings:
            self._note(finding)

    def absent(self, where: str | Path, message: str) -> None:
        """Note a part of the data set that is not here, while what is here can be used."""
        self.warn("absent", where, message)

    def files(self, pattern: str, *, needed: bool = True) -> list[Path]:
        """The paths that match a glob pattern in either case, sorted; none where some are `needed` is a problem."""
        paths = put_there(self.root.glob(either_case(pattern)), self.root)
        if needed and not paths and self.root.is_dir():
            self.problem("missing", pattern, "no such file")
        return paths

    def file(self, place: str) -> Path | None:
        """The file at a place below the root, in either case; None where there is none."""
        return next((path for path in self.files(place, needed=False) if path.is_file()), None)

    def at(self, place: str) -> Path:
        """Where the file of a place lies, in whichever case it has; the place itself where there is none."""
        return self.file(place) or self.root / place

    def parts(self, places: Mapping[str, str], anywhere: str) -> dict[str, list[Path]]:
        """The files of every part that is here; parts that are not are noted, and all of them lacking is a problem.

        Args:
            places: Part -> glob pattern of its files.
            anywhere: What all the patterns are like, for the message.
        """
        here = {name: paths for name, place in places.items() if (paths := self.files(place, needed=False))}
        if not here and self.root.is_dir():
            self.problem("missing", anywhere, f"no such file for any of {', '.join(places)}")
        for name in places if here else ():
            if name not in here:
                self.absent(places[name], f"{name} is not here; what is here is read")
        return here

    def named(self, pattern: str, name: str, *, needed: bool = True) -> Iterator[tuple[str, Path]]:
        """The files of a glob pattern with the first group of the regular expression `name` in their names.

        A file of another name is a warning, so that a renamed one does not vanish silently.
        """
        for path in self.files(pattern, needed=needed):
            if match := re.fullmatch(name, path.name, re.IGNORECASE):
                yield match[1], path
            else:
                self.warn("unexpected-file", path, f"the name does not follow {name}; not read")

    def text(self, path: Path) -> str | None:
        """The text of a file, or None where it is missing or no UTF-8."""
        self.opened[path] = None
        try:
            return path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            self.problem("missing", path, "no such file")
        except UnicodeDecodeError:
            self.problem("unreadable", path, "not UTF-8 text")
        except OSError as error:
            self.problem("unreadable", path, f"cannot be read ({error.strerror or error})")
        return None

    def lines(self, path: Path) -> list[str]:
        """The lines of a text file without blank ones."""
        return [line for line in (self.text(path) or "").splitlines() if line.strip()]

    def json(self, path: Path) -> Any:
        """What a JSON file holds, or None where it holds no JSON."""
        text = self.text(path)
        if text is None:
            return None
        try:
            return json.loads(text)
        except RecursionError:
            self.problem("unreadable", path, "nested too deeply")
        except ValueError as error:
            self.problem("unreadable", path, f"not JSON ({error})")
        return None

    def json_object(self, path: Path) -> dict[str, Any] | None:
        """The object of a JSON file; anything else in it is a problem."""
        value = self.json(path)
        if value is not None and not isinstance(value, dict):
            self.problem("malformed", path, f"expected an object, got {type(value).__name__}")
        return value if isinstance(value, dict) else None

    def table(
        self, path: Path, columns: Mapping[str, type[pl.DataType]], *, separator: str = ",", header: bool = True
    ) -> pl.DataFrame | None:
        """The named columns of a delimited file; every cell that is not of its type is a problem.

        Without a header the columns are taken in order and the file must have exactly as many.
        """
        raw = self._raw(path, separator, header)
        if raw is None or not self._has_columns(path, raw, columns, header):
            return None
        if raw.is_empty():
            self.problem("malformed", path, "no rows below the header")
            return None
        if not header:
            raw.columns = list(columns)
        text = raw.select(pl.col(name).str.strip_chars() for name in columns)
        typed = text.with_columns(pl.col(name).cast(kind, strict=False) for name, kind in columns.items())
        bad = [(name, typed[name].is_null()) for name in columns if typed[name].null_count()]
        for name, nulls in bad:
            rows = [int(row) for row in nulls.arg_true().head(_SHOWN_ROWS)]
            where = ", ".join(f"line {row + 1 + header} has {text[name][row]!r}" for row in rows)
            self.problem("malformed", path, f"column {name!r}: {int(nulls.sum())} unusable entries ({where})")
        return None if bad else typed

    def png(self, path: Path) -> PngHeader | None:
        """The header of a PNG file, or None where it is none."""
        self.opened[path] = None
        try:
            with open(path, "rb") as handle:
                head = handle.read(26)
        except OSError as error:
            self.problem("unreadable", path, f"cannot be read ({error.strerror or error})")
            return None
        if len(head) < 26 or head[:8] != _PNG:
            self.problem("unreadable", path, "not a PNG file")
            return None
        return PngHeader(int.from_bytes(head[16:20]), int.from_bytes(head[20:24]), head[24], head[25])

    def report_links(self) -> None:
        """Note links that unpacking turned into small files with a path in them."""
        for path in sorted(self.root.iterdir()) if self.root.is_dir() else ():
            if path.is_file() and path.stat().st_size <= _LONGEST_LINK:
                text = path.read_bytes().decode("utf-8", "replace").strip()
                if _LINK.fullmatch(text) or _names_a_neighbour(path, text):
                    message = f"a link that unpacking turned into a file; copy or link {text!r} to this name"
                    self.warn("link-as-file", path, message)

    def report_pickles(self) -> None:
        """Note pickles: they can run code, so they are counted and left shut."""
        pickled = [
            path for path in self.root.rglob("*") if path.suffix.lower() in PICKLES and not left_behind(path, self.root)
        ]
        if pickled:
            self.note("pickle", pickled[0], f"{len(pickled)} pickle files, never opened: loading one can run code")

    def _raw(self, path: Path, separator: str, header: bool) -> pl.DataFrame | None:
        if not path.is_file():
            self.problem("missing", path, "no such file")
            return None
        self.opened[path] = None
        try:
            return pl.read_csv(path, separator=separator, has_header=header, infer_schema=False, quote_char='"')
        except pl.exceptions.NoDataError:
            self.problem("malformed", path, "empty file")
        except (pl.exceptions.PolarsError, OSError) as error:
            self.problem("unreadable", path, f"not a table ({str(error).splitlines()[0]})")
        return None

    def _has_columns(self, path: Path, raw: pl.DataFrame, columns: Mapping[str, object], header: bool) -> bool:
        if header and (lacking := [name for name in columns if name not in raw.columns]):
            self.problem("malformed", path, f"lacks the columns {', '.join(lacking)}; got {_shown(raw.columns)}")
            return False
        if not header and raw.width != len(columns):
            self.problem("malformed", path, f"expected {len(columns)} columns, got {raw.width}")
            return False
        return True

    def _note(self, finding: Finding) -> None:
        if finding not in self._seen:
            self._seen.add(finding)
            self.findings.append(finding)

    def _place(self, where: str | Path) -> str:
        path = Path(where)
        inside = path != self.root and path.is_relative_to(self.root)
        return path.relative_to(self.root).as_posix() if inside else str(where)


def _names_a_neighbour(path: Path, text: str) -> bool:
    """Whether a file holds nothing but the name of another file or folder that lies beside it."""
    return bool(re.fullmatch(r"[\w.-]+", text)) and text != path.name and path.with_name(text).exists()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:12])


def whole_number(text: str) -> int | None:
    """The number that `text` spells with at most twelve digits, or None.

    Example:
        >>> whole_number("0042"), whole_number("-1"), whole_number("9" * 5000)
        (42, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def either_case(pattern: str) -> str:
    """A glob pattern that matches capital and small letters alike.

    Example:
        >>> either_case("Ab1*")
        '[Aa][Bb]1*'
    """
    return "".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in pattern)
