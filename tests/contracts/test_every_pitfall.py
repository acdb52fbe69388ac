"""Every pitfall has an entry, a page with a figure, and a check that sees a planted fault and is silent without."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType

import polars as pl
import pytest
from docs.planted_studies import EIGHT, PLANTED, clean_study, dice_study, eight_faults

from repository import REPOSITORY
from surgvalid.audit.answers import QUESTIONS
from surgvalid.audit.audit import audited
from surgvalid.audit.guideline import guidelines
from surgvalid.audit.pitfall import CONSEQUENCES, Category
from surgvalid.audit.pitfalls import PITFALLS, pitfall_modules

DOCS = REPOSITORY / "docs"
CODES = ["P1.1", "P1.2", "P1.3", "P1.4", "P1.5", "P1.6", "P2.1", "P2.2", "P2.3", "P2.4", "P2.5", "P2.6", "P2.7",
         "P3.1", "P3.2", "P3.3", "P3.4", "P3.5"]  # fmt: skip
FACTS = {fact for one in guidelines().values() for item in one.items for fact in item.facts}
MODULES = {module.ABOUT.code: module for module in pitfall_modules()}


@cache
def sound() -> pl.DataFrame:
    return audited(clean_study(0)).tables["checks"]


def test_the_catalogue_is_whole_and_in_order() -> None:
    assert [module.ABOUT.code for module in pitfall_modules()] == CODES
    assert list(PLANTED) == CODES
    assert [name[:4].replace("_", ".").upper() for name in PITFALLS] == CODES


@pytest.mark.parametrize("code", CODES)
def test_an_entry_says_everything(code: str) -> None:
    about = MODULES[code].ABOUT
    assert about.category is list(Category)[int(code[1]) - 1]
    assert set(about.consequences) <= set(CONSEQUENCES)
    assert about.consequences
    assert f"audit.{code}" in FACTS, "an item of a guideline asks for it"
    assert all(0 <= figure.share <= 100 and figure.papers in (None, *range(10, 47)) for figure in about.seen)
    assert all(text.endswith(".") for text in (about.what, about.checked, about.fix))


def test_no_question_is_left_over() -> None:
    assert {question.pitfall for question in QUESTIONS.values()} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_planted_fault_fails_its_check(code: str) -> None:
    made = audited(PLANTED[code](clean_study(0)), pitfalls=[code]).tables
    row = made["checks"].row(0, named=True)
    assert row["outcome"] == "fail", row
    assert row["severity"] in ("high", "medium", "low")
    assert row["fix"]
    assert re.search(r"\d", row["evidence"]) or code in ("P2.2", "P2.5", "P3.5"), "evidence is numbers"


def test_eight_faults_at_once_are_all_seen() -> None:
    checks = audited(eight_faults(clean_study(0)), pitfalls=EIGHT).tables["checks"]
    assert dict(checks.select("pitfall", "outcome").rows()) == dict.fromkeys(EIGHT, "fail")


@pytest.mark.parametrize("seed", range(6))
def test_patients_with_several_videos_printed_as_papers_do_are_not_accused(seed: int) -> None:
    checks = audited(dice_study(seed)).tables["checks"]
    assert checks.filter(outcome="fail")["evidence"].to_list() == []
    seen = audited(dice_study(seed, faulty=True), pitfalls=EIGHT).tables["checks"]
    assert dict(seen.select("pitfall", "outcome").rows()) == dict.fromkeys(EIGHT, "fail")


@pytest.mark.parametrize("code", CODES)
def test_the_sound_twin_passes_every_check(code: str) -> None:
    row = sound().filter(pl.col("pitfall") == code).row(0, named=True)
    assert row["outcome"] == "pass", row


@pytest.mark.parametrize("code", CODES)
def test_an_empty_study_is_never_accused(code: str) -> None:
    from surgvalid.audit.study import AuditedStudy

    row = audited(AuditedStudy("nothing"), pitfalls=[code]).tables["checks"].row(0, named=True)
    assert row["outcome"] in ("not assessable", "needs an answer")


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_page_and_a_figure_are_there(module: ModuleType) -> None:
    page = DOCS / module.ABOUT.page
    assert page.is_file()
    figure = re.search(r"\((\.\./figures/pitfalls/.+\.svg)\)", page.read_text(encoding="utf-8"))
    assert figure is not None
    assert (page.parent / figure[1]).is_file()
