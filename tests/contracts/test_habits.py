"""What the project says about itself and what its automation does: names, install lines, workflows."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from repository import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
OLD_NAME = "surg" + "eval"
KEEP_THE_OLD_NAME = ("CHANGELOG.md", "src/surgvalid/schema/legacy.py", "tests/golden/v0_1_0/")
INSTALLED = re.compile(r"""\binstall\b[^\n]*?['"`\s/]([A-Za-z][\w.-]*)\[([\w,{}-]+)\]""")
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))


def texts() -> Iterator[tuple[str, str]]:
    """Every tracked file that is text, by name."""
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip("no version control here, so nobody can say what belongs to the tree")
    for name in filter(None, asked.stdout.split("\0")):
        try:
            yield name, (REPOSITORY / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue


def install_lines() -> list[tuple[str, str, str]]:
    """File, distribution and extras of every line that says what to install with extras."""
    return [
        (name, distribution, extras)
        for name, text in texts()
        if not name.startswith(("tests/", "CHANGELOG.md", "pyproject.toml", ".github/"))
        for distribution, extras in INSTALLED.findall(text)
        if "surg" in distribution
    ]


def test_every_install_line_names_our_distribution_and_extras_that_exist() -> None:
    lines = install_lines()
    assert len(lines) > 5
    wrong = [
        (name, f"{distribution}[{extras}]")
        for name, distribution, extras in lines
        if distribution != PROJECT["name"] or ("{" not in extras and not set(extras.split(",")) <= EXTRAS)
    ]
    assert wrong == []


def needed_extras() -> Iterator[tuple[str, str]]:
    """The module and the extra of every `ExtraNeeded` of the source, constants looked up in their module."""
    for path in sorted((REPOSITORY / "src").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ExtraNeeded":
                extra = node.args[2]
                yield path.name, extra.value if isinstance(extra, ast.Constant) else constants[ast.unparse(extra)]


def test_every_error_that_asks_for_an_extra_asks_for_one_that_exists() -> None:
    needed = list(needed_extras())
    assert len(needed) > 5
    assert [(name, extra) for name, extra in needed if extra not in EXTRAS] == []


def test_the_old_name_stands_only_where_old_files_are_read() -> None:
    strays = [name for name, text in texts() if OLD_NAME in f"{name}\n{text}".lower()]
    assert [name for name in strays if not name.startswith(KEEP_THE_OLD_NAME)] == []


def test_the_forge_runs_everything_that_continuous_integration_runs() -> None:
    wanted = re.findall(r"^make (\S+)$", (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert wanted == ["test", "test-e2e", "test-models", "test-host"]
    for target in (*wanted, "test-lowest", "test-bridges", "docs", "audit", "release"):
        assert re.search(rf"(make|target:)[^\n]*\b{target}\b(?!-)", text), target


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_what_they_use_and_may_write_nothing_outside_the_publishing_job(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    writing = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
    publishing = {"publish": {"id-token": "write", "contents": "write"}} if path.name == "release.yml" else {}
    assert writing == publishing
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one)] == []


def test_what_is_published_runs_in_an_environment_that_somebody_approves() -> None:
    job = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert job["publish"]["environment"] == "pypi"
    assert "checkout" not in str(job["publish"]["steps"])
    assert "sbom/" in str(job["build"]["steps"])


def test_new_versions_of_everything_that_is_pinned_are_proposed() -> None:
    updates = yaml.safe_load((REPOSITORY / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {one["package-ecosystem"] for one in updates} == {"github-actions", "pip", "docker"}


NOT_YET_RUN = {"3.14"}
"""Pythons that the workflow and the Makefile try, and that are said to be supported once they have run there."""


def test_every_supported_python_is_tested_and_said() -> None:
    supported = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one}
    assert supported.isdisjoint(NOT_YET_RUN)
    said = supported | NOT_YET_RUN
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert {one["python"] for one in workflow["jobs"]["suite"]["strategy"]["matrix"]["include"]} == said
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"python(3\.\d+)", re.findall(r"^PYTHONS .*$", makefile, re.MULTILINE)[0])) == said


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    text = (REPOSITORY / "packaging" / "recipe.yaml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(text)
    needed = [one.replace(" ", "") for one in recipe["requirements"]["run"] if not one.startswith("python ")]
    assert sorted(needed) == sorted(PROJECT["dependencies"])
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license_file"] == PROJECT["license-files"]
    assert all((REPOSITORY / name).is_file() for name in recipe["about"]["license_file"])
    entries = [one.replace(" ", "") for one in recipe["build"]["python"]["entry_points"]]
    assert entries == [f"{name}={place}" for name, place in PROJECT["scripts"].items()]


def test_the_container_runs_as_nobody_in_particular() -> None:
    text = (REPOSITORY / "packaging" / "Containerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER (?!0|root)\S+$", text, re.MULTILINE)
    assert re.search(r"^FROM \$\{BASE\}$", text, re.MULTILINE)
    assert "sha256:" in text


def test_every_target_that_is_called_exists() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    assert set(phony[1].split()) <= known
    said = {
        name
        for file, text in texts()
        if file != "CHANGELOG.md"
        for name in re.findall(r"`make ([a-z][a-z0-9-]+)", text)
    }
    assert said - known == set()
