"""One name, one text, one default: an option that several verbs share means the same in all of them."""

import tomllib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.emoji import Emoji

from repository import REPOSITORY
from surgvalid.cli import build_app
from surgvalid.cli._listed import LOCAL


def options() -> dict[str, list[tuple[str, str | None, str]]]:
    """Every option name with the verbs that have it: verb, text, default."""
    listed = defaultdict(list)
    for verb, command in commands(typer.main.get_command(build_app()), ()):
        for option in command.params:
            if option.param_type_name == "option" and verb:
                default = "needed" if option.required else repr(option.default or None)
                listed[max(option.opts, key=len)].append((verb, option.help, default))
    return listed


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name), (*path, name))
    else:
        yield " ".join(path), command


SHARED = {name: uses for name, uses in options().items() if len(uses) > 1}


@pytest.mark.parametrize("name", sorted(SHARED.keys() - LOCAL.keys()))
def test_a_shared_option_has_one_text_and_one_default(name):
    texts = {text for _, text, _ in SHARED[name]}
    defaults = {default for _, _, default in SHARED[name]} - {"needed"}
    assert (len(texts), len(defaults)) in ((1, 0), (1, 1)), SHARED[name]


def test_every_exception_is_still_one_and_has_its_reason():
    same = [name for name in LOCAL if len({(text, default) for _, text, default in SHARED.get(name, [])}) < 2]
    assert same == []
    assert all(LOCAL.values())


def test_every_option_says_what_it_does():
    said = [(name, verb, text) for name, uses in options().items() for verb, text, _ in uses]
    assert [one for one in said if not one[2] or Emoji.replace(one[2]) != one[2]] == []  # rich draws `:X:` as a cross


def test_verbs_and_options_do_not_grow():
    budget = tomllib.loads((REPOSITORY / "design" / "budget.toml").read_text(encoding="utf-8"))["total"]
    verbs = [verb for verb, _ in commands(typer.main.get_command(build_app()), ()) if verb]
    assert len(verbs) <= budget["leaf_verbs"]
    assert len(options()) <= budget["option_names"]
    assert len(LOCAL) <= budget["option_exceptions"]
