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
from surgvalid.host.acts.uploads import MOST_PIECE_BYTES
from surgvalid.host.bodies import MOST_FORM_BYTES
from surgvalid.host.tars import MOST_BYTES

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


def test_an_image_is_built_from_the_source_and_nothing_else() -> None:
    """What git would not keep, and what it keeps beside the source, stays out: nothing is let in but by name."""
    lines = [one for one in (ROOT / ".dockerignore").read_text().splitlines() if one and not one.startswith("#")]
    assert lines[0] == "*"
    let_in = {one[1:].partition("/")[0] for one in lines if one.startswith("!")}
    assert let_in == {"src", "dist", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE"}
    assert {"**/.env", "**/secret.key"} <= set(lines[lines.index("!NOTICE") :])
    assert {".env", "secret.key", "examples/host/challenge/"} <= set((ROOT / ".gitignore").read_text().splitlines())


def test_the_image_has_the_programs_of_the_servers_version_and_keeps_backups() -> None:
    folder = ROOT / "examples" / "host"
    compose, image = (folder / "compose.yaml").read_text(), (folder / "Containerfile").read_text()
    served, brought = re.search(r"postgres:(\d+)", compose), re.search(r"postgresql-client-(\d+)", image)
    assert served is not None
    assert brought is not None
    assert served[1] == brought[1]
    assert "--newest 14" in compose
    assert "tmpfs" not in compose, "bodies on their way in are no business of the memory"


def test_the_proxy_states_the_limits_of_the_service() -> None:
    text = (ROOT / "examples" / "host" / "Caddyfile").read_text()
    sizes = dict(re.findall(r"request_body (@\w+) \{\s+max_size (\d+)", text))
    assert int(sizes["@rest"]) << 20 == MOST_FORM_BYTES
    assert int(sizes["@pieces"]) << 20 > MOST_PIECE_BYTES
    assert int(sizes["@outputs"]) << 30 >= MOST_BYTES
