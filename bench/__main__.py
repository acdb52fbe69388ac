"""`python -m bench [NAME ...]`: run every `bench_*.py` (or the named ones), print and store the table."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from pathlib import Path

import numpy as np

from bench.harness import Row

HERE = Path(__file__).parent


def main() -> None:
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure; without names all, and store the table."
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"one of {', '.join(known)}")
    chosen = parser.parse_args().names
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"no such bench: {', '.join(unknown)}; there are {', '.join(known)}")
    rows: list[Row] = []
    for name in chosen or known:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"bench.bench_{name}").rows()
    table = render(rows)
    print(table)
    if not chosen:
        (HERE / "results.md").write_text(table, encoding="utf-8")


def render(rows: list[Row]) -> str:
    lines = [
        "# Bench: CPU seconds, ours against each peer in the same run",
        "",
        f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}. Made by `make bench`.",
        "",
        "| work | ours (s) | peer | peer (s) | ratio | goal | kept | note |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        peer = "-" if row.peer_s is None else f"{row.peer_s:.3g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:,.0f}x" if row.ratio >= 10 else f"{row.ratio:.1f}x"
        goal = "-" if row.goal is None else f"{row.goal:g}x"
        kept = {True: "yes", False: "NO", None: "-"}[row.kept]
        cells = [row.work, f"{row.ours_s:.3g}", row.peer, peer, ratio, goal, kept, row.note]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
