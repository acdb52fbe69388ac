"""The files of examples/host say what is true: their commands exist, and every setting in them is one that is read."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from repository import REPOSITORY
from surgvalid.cli import build_app
from surgvalid.host import settings

ROOT = REPOSITORY
FILES = sorted((ROOT / "examples" / "host").iterdir())
PAGES = [ROOT / "docs" / "tutorials" / "host-a-challenge.md", ROOT / "docs" / "how-to" / "host-in-production.md"]
OTHERS = {"SURGVALID_TOKEN", "SURGVALID_BENCH_UPLOAD_MB", "SURGVALID_FAULT_SUBMISSIONS"}


def known_settings() -> set[str]:
    text = Path(settings.__file__ or "").read_text(encoding="utf-8") + "SURGVALID_HOST_DATABASE"
    return set(re.findall(r"SURGVALID_HOST\w*", text)) | OTHERS


@pytest.mark.parametrize("path", [*FILES, *PAGES], ids=lambda path: path.name)
def test_every_setting_that_is_named_is_read(path: Path) -> None:
    named = set(re.findall(r"\bSURGVALID_[A-Z_]+", path.read_text(encoding="utf-8")))
    assert named <= known_settings()


def test_every_setting_is_on_the_page_and_in_the_code() -> None:
    page = PAGES[1].read_text(encoding="utf-8")
    assert {name for name in known_settings() - OTHERS if f"`{name}`" not in page} == set()


def commands() -> list[tuple[str, list[str]]]:
    """Every `surgvalid host ...` and `surgvalid submission ...` of files and pages."""
    spoken = []
    for path in [*FILES, *PAGES]:
        text = path.read_text(encoding="utf-8").replace('", "', " ")
        for line in re.findall(r"surgvalid ((?:host|submission) [^\n'`\]]*)", text):
            words = shlex.split(line.replace('"', ""), comments=True)
            spoken.append((path.name, words))
    return spoken


def test_every_command_that_is_named_exists() -> None:
    application = typer.main.get_command(build_app())
    wrong = [f"{place}: {' '.join(words)}" for place, words in commands() if not is_known(application, words)]
    assert wrong == []


def is_known(command: Any, words: list[str]) -> bool:
    """Whether the verbs lead to a command that has these options; `...` stands for anything."""
    rest = list(words)
    while hasattr(command, "list_commands") and rest and rest[0] != "...":
        if (command := command.get_command(None, rest.pop(0))) is None:
            return False
    taken = {name for one in command.params for name in one.opts}
    return {word.partition("=")[0] for word in rest if word.startswith("--")} <= taken
