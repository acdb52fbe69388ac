"""The table of verbs, what `--help` makes of it, and what starting costs in modules."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.cli._group import MOVED
from surgvalid.cli._listed import options_of
from surgvalid.cli._option import NEEDED
from surgvalid.cli._verbs import GROUPS, PANELS, USUAL, VERBS, Verb, below, overview
from surgvalid.errors import Misuse

NAMES = [verb.name for verb in VERBS]
SLOW = ("numpy", "polars", "scipy", "scipy.stats", "torch", "django")


def loaded(*words: str, cwd: Path | None = None) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """The modules that a call of the command line leaves loaded."""
    program = (
        "import sys; from surgvalid.cli import main; sys.argv[0] = 'surgvalid'\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('LOADED', *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=cwd)
    return set(done.stderr.rpartition("LOADED")[2].split()), done


def function_of(home: str) -> Callable[..., Any]:
    module, _, name = home.rpartition(".")
    function = getattr(import_module(module if module.startswith("surgvalid.") else f"surgvalid.cli.{module}"), name)
    assert callable(function)
    return function


IN_PYTHON_ALONE = {"engine", "key", "aggregate", "where", "alpha"}
"""Arguments that are objects, change nothing in the result, or follow from another option."""
WITHOUT_TABLE = {"study": "table"}
"""Verbs that open a page where nothing is given to read, with `--port`: there this argument may be left out."""
LISTED = [verb for verb in VERBS if verb.home.startswith("surgvalid.")]


@pytest.mark.parametrize("verb", LISTED, ids=lambda verb: verb.name)
def test_a_verb_that_lists_its_options_has_those_of_its_function_with_its_defaults(verb: Verb) -> None:
    listed = {name: option for name, option in options_of(verb).items() if name not in ("out", "json", "force", "port")}
    asked = {option.argument or name: (option, option.default) for name, option in listed.items() if not option.role}
    takes = inspect.signature(function_of(verb.home)).parameters
    if "alpha" in takes:
        takes = {name: one for name, one in takes.items() if name != "level"}
        asked.pop("level")
    assert asked.keys() == takes.keys() - IN_PYTHON_ALONE
    for name, (option, default) in asked.items():
        needed = takes[name].default is inspect.Parameter.empty
        assert (default is NEEDED) == (needed and WITHOUT_TABLE.get(verb.name) != name), name
        if not needed and not option.own_default:
            assert (option.read(default) or None) == (plain(takes[name].default) or None), name


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_verb_of_the_table_has_a_function(verb) -> None:
    assert inspect.isfunction(function_of(verb.home))
    assert verb.line
    assert not verb.line.endswith((".", " ")) or verb.line.endswith("...")


def test_names_are_unique_and_every_group_and_usual_verb_is_there() -> None:
    assert len(NAMES) == len(set(NAMES))
    groups = {" ".join(name.split()[:count]) for name in NAMES for count in range(1, len(name.split()))}
    assert groups == {*GROUPS, *(name for name in below(()) if name not in NAMES)}
    assert {f"{group} {verb}" for group, verb in USUAL.items()} <= set(NAMES)


def test_the_first_help_fits_on_a_screen() -> None:
    assert (len(PANELS), len(below(()))) == (6, 15)
    text = overview()
    assert text.count("\n") < 40
    assert max(map(len, text.splitlines())) <= 100
    assert CliRunner().invoke(build_app(), ["--help"]).output.strip() == text
    assert loaded("--help")[1].stdout.strip() == text


@pytest.mark.parametrize("group", ["analyse", "plan", "host admin"])
def test_a_group_lists_its_verbs(group: str) -> None:
    done = CliRunner().invoke(build_app(), [*group.split(), "--help"])
    assert done.exit_code == 0
    assert all(f"  {name} " in done.output for name in below(tuple(group.split())))


@pytest.mark.parametrize("old", MOVED)
def test_an_old_verb_is_answered_with_its_new_place(old: str) -> None:
    new = MOVED[old]
    assert any(new == name or new.startswith(f"{name} ") for name in (*NAMES, *GROUPS))
    assert old not in NAMES
    done = CliRunner().invoke(build_app(), [*old.split(), "--out", "x"])
    assert isinstance(done.exception, Misuse)
    assert str(done.exception) == f"`{old}` is now `{MOVED[old]}`"


@pytest.mark.parametrize(("words", "said"), [
    (["anlyse"], "did you mean 'analyse'"),
    (["analyse", "intervall"], "did you mean 'interval'"),
    (["score", "lnt"], "did you mean 'lint'"),
])  # fmt: skip
def test_close_names_are_offered(words: list[str], said: str) -> None:
    assert said in str(CliRunner().invoke(build_app(), words).exception)


@pytest.mark.parametrize(("words", "usual"), [
    (["plan", "--nope"], "plan size"),
    (["score", "--nope"], "score answers"),
    (["audit", "--nope"], "audit study"),
    (["report", "--nope"], "report make"),
])  # fmt: skip
def test_the_usual_verb_of_a_group_needs_no_name(words: list[str], usual: str) -> None:
    assert f"surgvalid {usual} has no option --nope" in str(CliRunner().invoke(build_app(), words).exception)


def test_a_path_that_is_called_as_a_verb_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "card").mkdir()
    done = CliRunner().invoke(build_app(), ["audit", "card"])
    assert "write ./card for the path" in done.output
    assert str(done.exception) == "surgvalid audit card: DATA_SET is missing"


def test_the_version_needs_no_other_module() -> None:
    modules, done = loaded("--version")
    assert done.stdout.startswith("surgvalid 0.")
    assert {name for name in modules if name.startswith("surgvalid")} == {"surgvalid", "surgvalid.cli"}
    assert not modules & {*SLOW, "typer", "rich"}


@pytest.mark.parametrize(
    "words", [("plan", "--nope"), ("study", "nofile.csv"), ("lint",), ("analyse", "interval", "no.csv")]
)
def test_an_error_of_the_call_is_said_before_anything_slow_is_loaded(words: tuple[str, ...], tmp_path: Path) -> None:
    modules, done = loaded(*words, cwd=tmp_path)
    assert not modules & {*SLOW, "rich"}, done.stderr


@pytest.mark.parametrize("words", [("plan", "--nope"), ("data", "simulate", "--without", "video", "--nope=3")])
def test_an_option_that_is_none_is_said_before_types_are_checked(words: tuple[str, ...]) -> None:
    modules, done = loaded(*words)
    assert "has no option --nope" in done.stderr
    assert not modules & {"pydantic", "importlib.metadata"}


@pytest.mark.parametrize(("words", "said"), [
    (["rank", "t.csv", "--sed", "3"], "surgvalid rank has no option --sed; did you mean --seed?"),
    (["rank", "t.csv", "--seed", "x"], "--seed: a whole number is needed"),
    (["score", "lint"], "surgvalid score lint: --requests, --responses are missing"),
    (["plan", "--sd", "0.2"], "surgvalid plan size: --sd is now --assume sd=..."),
    (["plan", "--assume", "sdd=1"], "unknown part of --assume 'sdd'; did you mean 'sd'?"),
    (["plan", "--assume", "sd=much"], "--assume sd: 'much' is no number"),
])  # fmt: skip
def test_a_call_that_does_not_fit_is_answered_in_one_sentence(words: list[str], said: str) -> None:
    done = CliRunner().invoke(build_app(), words)
    assert isinstance(done.exception, Misuse)
    assert str(done.exception) == said


def test_a_study_loads_no_module_that_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("patient,a,b\n" + "".join(f"p{n},{n % 7 / 7},{n % 5 / 5}\n" for n in range(12)))
    modules, done = loaded("study", "t.csv", "--better", "larger", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert "surgvalid.studies.study" in modules, done.stderr
    assert not modules & {"scipy.stats", "torch", "django"}, done.stderr


def test_completion_knows_verbs_and_options_of_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SURGVALID_COMPLETE", "complete_bash")

    def completed(typed: str) -> str:
        words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1 + typed.endswith(" "))}
        return CliRunner().invoke(build_app(), [], prog_name="surgvalid", env=words).output

    assert "analyse" in completed("surgvalid an")
    assert "interval" in completed("surgvalid analyse in")
    assert "--requests" in completed("surgvalid score --req")
    assert "--references" in completed("surgvalid score --requests x --ref")
