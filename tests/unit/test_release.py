"""What a release says of itself agrees, and its description works away from the repository."""

import datetime
import importlib.util
import re
import shutil
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import surgvalid
from repository import REPOSITORY

ROOT = REPOSITORY


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_place_that_names_the_version_names_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited
    assert {project["version"], cited[1]} == {surgvalid.__version__}


def test_the_extra_all_holds_the_other_extras_and_nothing_else():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras.pop("all") == [f"surgvalid[{','.join(extras)}]"]


def test_a_new_version_is_written_everywhere_and_dates_the_changelog(tmp_path):
    for name in (
        "pyproject.toml",
        "CITATION.cff",
        "CHANGELOG.md",
        "src/surgvalid/__init__.py",
        "packaging/recipe.yaml",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    release = loaded("scripts/release_version.py")
    for version, day in (("7.8.9", 1), ("7.9.0", 2)):
        release.main(version, root=tmp_path, today=datetime.date(2031, 2, day))
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    assert 'version = "7.9.0"' in texts["pyproject.toml"]
    assert '__version__ = "7.9.0"' in texts["__init__.py"]
    assert '  version: "7.9.0"' in texts["recipe.yaml"]
    assert texts["CITATION.cff"].count("date-released: 2031-02-02") == texts["CITATION.cff"].count("date-released") == 1
    heads = re.findall(r"^## (.+)$", texts["CHANGELOG.md"], re.MULTILINE)
    assert heads[:3] == ["Unreleased", "7.9.0 (2031-02-02)", "7.8.9 (2031-02-01)"]


def test_a_version_that_is_none_and_a_changelog_without_news_are_both_named(tmp_path):
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(SystemExit, match=r"X\.Y\.Z, got 'next'[\s\S]*no entry '## Unreleased'"):
        loaded("scripts/release_version.py").main("next", root=tmp_path)


TEXT = "See [page](docs/a.md) and [web](https://x.org).\n\n![An image](docs/p.png)\n\nEnd.\n"


def test_the_description_leads_to_the_repository_where_its_address_is_known():
    described = loaded("hatch_build.py").described_at(TEXT, "https://forge/x", "v1")
    assert "[page](https://forge/x/blob/v1/docs/a.md)" in described
    assert "![An image](https://forge/x/raw/v1/docs/p.png)" in described
    assert "[web](https://x.org)" in described


def test_the_description_invents_no_address():
    described = loaded("hatch_build.py").described_at(TEXT, "", "v1")
    assert described == "See page and [web](https://x.org).\n\nEnd.\n"
