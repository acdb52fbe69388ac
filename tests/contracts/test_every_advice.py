"""Every option that a message names is accepted by the verb that named it, on the table that it was named of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hostile_tables import hostile_table
from repository import TESTS
from surgvalid.cli import build_app

STORED = ("wide_gain", "missing_one_model", "images_only", "rows_of_hidden_patients", "transposed", "unknown_metric")
HOSTILE = ("missing_for_both", "names_that_begin_alike", "nobody_says")
ADVICE = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)[ =]('[^']*'|[^\s,;()'\"]+)")
OURS = re.compile(r"[A-Z_/:=,.]+")
"""What stands for a value of the user's."""
VERBS = {
    "study": (["study"], []),
    "rank": (["rank"], ["--resamples", "20"]),
    "failures": (["analyse", "failures"], ["--outcome", "value", "--fixed", "centre"]),
}


def _distances(rng: np.random.Generator) -> pl.DataFrame:
    rows = [{"patient": p, "centre": f"c{p % 2}", "model": m, "hd95": float(rng.normal(5 if m == "B" else 6, 0.5))}
            for p in range(18) for m in "AB"]  # fmt: skip
    gone = (pl.col("model") == "B") & (pl.col("patient") < 8)
    return pl.DataFrame(rows).with_columns(hd95=pl.when(gone).then(None).otherwise("hd95"))


def _outcomes(rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame([{"patient": p, "centre": f"c{p % 2}", "model": m, "success": int(rng.random() < 0.6)}
                         for p in range(14) for m in "AB"])  # fmt: skip


def _held_videos(rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame([{"Kranken-Nr": 1000 + v // 3, "video": f"v{v}", "centre": f"c{v % 2}", "model": m,
                          "dice": float(rng.uniform(0.6, 0.9))} for v in range(18) for m in "AB"])  # fmt: skip


def _images(rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame([{"image": f"{v:03}.png", "centre": f"c{v % 2}", "model": m, "dice": float(rng.uniform(0, 1))}
                         for v in range(30) for m in "AB"])  # fmt: skip


MADE = {"distances": _distances, "outcomes": _outcomes, "held_videos": _held_videos, "images": _images}


def path_of(name: str, folder: Path) -> Path:
    path = folder / f"{name}.csv"
    if name in MADE:
        MADE[name](np.random.default_rng(7)).write_csv(path)
    elif name in HOSTILE:
        path.write_text(hostile_table(name).text, encoding="utf-8")
    else:
        path = TESTS / "data" / "tables" / path.name
    return path


def said(words: Sequence[str]) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(), list(words))
    return done.exit_code, re.sub(r"\s+", " ", f"{done.output} {done.exception or ''}")


def advised(text: str) -> set[tuple[str, str]]:
    """Options with values; N of `prefix:N` is 1."""
    pairs = {
        (option, value.strip("'").rstrip(".").replace("prefix:N", "prefix:1")) for option, value in ADVICE.findall(text)
    }
    return {(option, value) for option, value in pairs if not OURS.fullmatch(value.partition("=")[0] or value)}


PAIRS = [(name, verb) for name in (*STORED, *HOSTILE, *MADE) for verb in VERBS if verb != "failures" or name in MADE]


@pytest.mark.parametrize(("name", "verb"), PAIRS)
def test_what_is_advised_is_accepted(name: str, verb: str, tmp_path: Path) -> None:
    path, (head, tail) = path_of(name, tmp_path), VERBS[verb]
    score = pl.read_csv(path).columns[-1]
    words = [*head, str(path), *(score if word == "value" else word for word in tail)]
    _, text = said(words)
    for option, value in sorted(advised(text)):
        code, answer = said([*words, option, value])
        assert code == 0 or (advised(answer) and (option, value) not in advised(answer)), (option, value, answer)


def test_questions_with_an_answer_are_met(tmp_path: Path) -> None:
    found = {
        one for name in (*STORED, *HOSTILE, *MADE) for one in advised(said(["study", str(path_of(name, tmp_path))])[1])
    }
    assert {option for option, _ in found} >= {"--unit", "--missing", "--better", "--metric"}
