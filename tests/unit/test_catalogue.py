"""Catalogues: our names, names of installed packages, and packages that are broken or claim what is not theirs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plugin_packages import install
from surgvalid.catalogue import Catalogue, Entry, Files, with_attributes
from surgvalid.errors import PluginBroken, UnknownName


def words(name: str, thing: object) -> str:
    if not isinstance(thing, str):
        raise TypeError(f"{name!r} is no word")
    return thing


@pytest.fixture
def catalogue() -> Catalogue[str]:
    return Catalogue("colour", "colours", {"red": "ours", "blue": "ours too"}, take=words)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_without_packages_the_names_are_ours_in_their_order(catalogue: Catalogue[str]) -> None:
    assert list(catalogue) == ["red", "blue"]
    assert len(catalogue) == 2
    assert catalogue["red"] == "ours"
    assert catalogue.entries() == [Entry("red", "surgvalid"), Entry("blue", "surgvalid")]


def test_a_name_of_a_package_is_known_without_importing_it_and_opened_when_asked_for(
    catalogue: Catalogue[str], site: Path
) -> None:
    install(site, "paint", "GREEN = 'theirs'", {"colours": {"green": "paint:GREEN"}})
    assert list(catalogue) == ["red", "blue", "green"]
    assert "green" in catalogue
    assert catalogue.entries()[-1] == Entry("green", "paint 1.0")
    assert "paint" not in sys.modules
    assert catalogue["green"] == "theirs"


def test_our_name_wins_and_the_package_is_told_why(catalogue: Catalogue[str], site: Path) -> None:
    install(site, "paint", "raise RuntimeError", {"colours": {"red": "paint:RED"}})
    assert catalogue["red"] == "ours"
    assert list(catalogue) == ["red", "blue"]
    assert catalogue.entries()[-1] == Entry("red", "paint 1.0", "the name is surgvalid's own")


def test_a_name_that_two_packages_claim_belongs_to_neither(catalogue: Catalogue[str], site: Path) -> None:
    for package in ("paint", "lacquer"):
        install(site, package, "GREEN = 'theirs'", {"colours": {"green": f"{package}:GREEN"}})
    assert [entry.problem for entry in catalogue.entries()[2:]] == ["several packages claim the name"] * 2
    with pytest.raises(PluginBroken, match=r"colour 'green' of lacquer 1.0 and paint 1.0: both claim the name"):
        catalogue["green"]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("raise RuntimeError('no paint')", "RuntimeError: no paint"),
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def", "SyntaxError"),
        ("RED = 'theirs'", "AttributeError: module 'spoilt' has no attribute 'GREEN'"),
        ("GREEN = 7", "TypeError: 'green' is no word"),
    ],
)
def test_a_broken_package_is_named_and_the_others_work(
    source: str, problem: str, catalogue: Catalogue[str], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "spoilt", raising=False)
    install(site, "spoilt", source, {"colours": {"green": "spoilt:GREEN"}})
    assert list(catalogue) == ["red", "blue", "green"]
    with pytest.raises(PluginBroken, match=rf"^colour 'green' of spoilt 1\.0: {problem}"):
        catalogue["green"]
    assert catalogue["blue"] == "ours too"


def test_an_unknown_name_gets_the_nearest_also_of_a_package(catalogue: Catalogue[str], site: Path) -> None:
    install(site, "paint", "GREEN = 'theirs'", {"colours": {"green": "paint:GREEN"}})
    with pytest.raises(UnknownName, match="unknown colour 'gren'; did you mean 'green'"):
        catalogue["gren"]
    with pytest.raises(UnknownName, match="known: blue, green, red"):
        catalogue["xyzzy"]


def test_files_count_when_they_are_public_as_modules_or_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name, text in (("__init__", ""), ("c", "X = 'c'"), ("a", "X = 'a'"), ("_d", "X = 'd'")):
        (folder / f"{name}.py").write_text(f'"""Words."""\n{text}\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("shelf")
    for name in ("b", "_e"):
        (folder / f"{name}.toml").write_text(f"x = '{name}'")
    assert dict(Files("shelf", "X")) == {"a": "a", "c": "c"}
    declared = Files("shelf", "X", lambda path: path.read_text(encoding="utf-8"))
    assert list(declared.items()) == [("a", "a"), ("b", "x = 'b'"), ("c", "c")]
    assert "_d" not in declared


def test_what_calls_itself_something_else_is_no_thing_of_that_name() -> None:
    class Rule:
        name = "flip"

    with pytest.raises(TypeError, match="'coin' leads to something that calls itself 'flip'"):
        with_attributes(["name"])("coin", Rule)
