"""Every path of every verb may be written as people write paths: `.`, `..`, `~`, with a slash, a link, blanks.

The content is bad on purpose: what counts is that the answer is that of the plain absolute path, and no traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.cli._listed import OPTIONS, options_of, parameters, values
from surgvalid.cli._option import NEEDED, Option
from surgvalid.cli._verbs import VERBS, Verb
from surgvalid.errors import SurgvalidError

FORMS = ("plain", "here", "above", "home", "slash", "link", "relative")
NOT_RUN = {
    "demo": "takes minutes and needs no file",
    "host worker": "asks an address again and again until it answers",
    "host demo": "makes a service and serves it until it is stopped",
}
"""Verbs of which the path is looked at, but that are not run."""
SMALL = {
    "data simulate": ["--procedures", "1", "--without", "video", "--minutes", "1"],
}
WORDS = {"--url": "http://127.0.0.1:9", "--model": "constant:a", "--judge": "exact", "--since": "3", "STAGE": "screen"}
"""What is given for options that must be given and name no path."""


def is_path(option: Option) -> bool:
    return option.source or "Path" in str(option.kind)


PATHS = [(verb, name) for verb in VERBS for name, option in options_of(verb).items() if is_path(option)]
IDS = [f"{verb.name} {OPTIONS[name].flag or OPTIONS[name].metavar}" for verb, name in PATHS]


def words_for(verb: Verb, text: str) -> list[str]:
    """A call with the text for every path that must be given, or else the first; other needs get something harmless."""
    listed = options_of(verb)
    paths = [name for name, option in listed.items() if is_path(option)]
    asked = {name for name in paths if listed[name].default is NEEDED} or set(paths[:1])
    asked |= {"challenge"} & set(paths)  # by default where one stands, which differs here
    places, named = [], []
    for name, option in listed.items():
        if name in asked or option.default is NEEDED:
            value = text if name in asked else WORDS.get(option.flag or str(option.metavar), "x")
            named += [option.flag, value] if option.flag else []
            places += [] if option.flag else [value]
    return [*verb.name.split(), *places, *named, *SMALL.get(verb.name, [])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a folder"
    (made / "below").mkdir(parents=True)
    (made / "notes.txt").write_text("nothing that any verb reads\n")
    (tmp_path / "link").symlink_to(made)
    return made


@contextmanager
def written(folder: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The text of the folder in that form, where it means the folder."""
    texts = {
        "plain": str(folder), "here": ".", "above": "..", "home": "~/a folder", "slash": f"{folder}/",
        "link": str(folder.parent / "link"), "relative": "a folder",
    }  # fmt: skip
    with monkeypatch.context() as patched:
        patched.chdir({"here": folder, "above": folder / "below"}.get(form, folder.parent))
        patched.setenv("HOME", str(folder.parent))
        yield texts[form]


@pytest.mark.parametrize(("verb", "name"), PATHS, ids=IDS)
def test_a_path_is_the_same_in_every_form(verb: Verb, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    option, given = OPTIONS[name], dict.fromkeys(one.name for one in parameters(verb))
    for form in FORMS:
        with written(folder, form, monkeypatch) as text:
            if option.component:
                named = text if option.component == option.flag.lstrip("-") else f"{option.component}={text}"
                given[f"parts_{option.flag.lstrip('-')}"] = [named]
            else:
                given[name] = text if option.source else Path(text)
            value = Path(values(verb, given)[name])
            assert (value.resolve(), value.name) == (folder, "link" if form == "link" else folder.name), form


@pytest.mark.parametrize(
    "verb", [verb for verb in VERBS if verb.name in {one.name for one, _ in PATHS}], ids=lambda verb: verb.name
)
def test_the_answer_to_a_path_is_that_to_the_plain_one(
    verb: Verb, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if verb.name in NOT_RUN:
        pytest.skip(NOT_RUN[verb.name])
    answers = {form: answer(verb, form, folder, monkeypatch) for form in FORMS}
    assert {form: said for form, said in answers.items() if said != answers["plain"]} == {}


def answer(verb: Verb, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit code and message, with every way to write the folder written alike."""
    before = set(folder.parent.rglob("*"))
    with written(folder, form, monkeypatch) as text:
        done = CliRunner().invoke(build_app(), words_for(verb, text))
    for path in sorted(set(folder.parent.rglob("*")) - before, reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    assert isinstance(done.exception, SurgvalidError | OSError | SystemExit | None), (form, done.exception)
    said = f"{done.output} {done.exception if not isinstance(done.exception, SystemExit) else ''}"
    for one in (str(folder), str(folder.parent / "link"), "a folder"):
        said = said.replace(one, "FOLDER")
    return done.exit_code, said.strip()
