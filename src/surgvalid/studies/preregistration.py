"""Registering an analysis before the data are seen: from a plan that people write to one hashed file and its page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.errors import InputInvalid, Misuse, SurgvalidError, nearest
from surgvalid.evaluation.data_sets import OPTIONS
from surgvalid.evaluation.run import KINDS, evaluate
from surgvalid.metrics import CLASSIFICATION, DETECTION, METRICS, SEGMENTATION, TIME, TRACKING, TRIPLETS
from surgvalid.report.html import page
from surgvalid.report.section import Note, Point, Points, Prose, ReportTable, Section
from surgvalid.results.registered_data import read_looks
from surgvalid.results.registration import BINDS, NAMES, document_of, read_registration, registration_file
from surgvalid.results.request import requested, settings_of, software
from surgvalid.results.result import Result
from surgvalid.results.tables.planning import REGISTERED_SETTINGS
from surgvalid.schema.documents import read_toml
from surgvalid.schema.statistic_rules import remark
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.ranking import rank, rule_named

PAGE = "registration.html"
FUNCTIONS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "rank": (rank, ("table",)),
    "compare": (compare, ("table",)),
    "failures": (failures, ("table", "properties")),
    **{f"evaluate {kind}": (evaluate, ("predictions", "references")) for kind in KINDS},
}
"""The verbs whose settings can be registered: the function, and its parameters that name files."""
_FAMILIES = {
    "evaluate classification": CLASSIFICATION,
    "evaluate detection": DETECTION,
    "evaluate segmentation": SEGMENTATION,
    "evaluate phases": TIME,
    "evaluate tracking": TRACKING,
    "evaluate triplets": TRIPLETS,
}
"""The metrics of kinds of evaluation."""
TEXTS = {
    "title": "Title", "question": "Question", "data": "Data", "sample_size": "Number of videos", "stopping": "Stopping",
    "notes": "Notes",
}  # fmt: skip
LISTS = {
    "authors": "Authors",
    "hypotheses": "Hypotheses",
    "exclusions": "Exclusions",
    "strata": "Strata",
    "videos": "Planned videos",
}
NEEDED = ("title", "question", "sample_size", "exclusions", "stopping")
EXAMPLE = """# The analysis to come. Write it before you see the data; then:
#   surgvalid plan register THIS.toml --out registration
title = "Recognition of the critical view of safety: model A against model B"
authors = []
question = "Does A recognise phases better than B on cholecystectomies of hospital X?"
hypotheses = ["A has a higher phase accuracy than B."]
data = "Consecutive elective laparoscopic cholecystectomies, one video per patient, from 1 March on."
sample_size = 45            # videos; surgvalid plan says how many
exclusions = ["conversion to open surgery", "less than 80 % of the procedure recorded"]
stopping = "When 45 videos are annotated, or on 31 December; no analysis before."
strata = ["center", "smoke"]

# One block per analysis; options by their names in Python. What you leave out is registered with its default.
[[analysis]]
verb = "compare"
model_a = "A"
model_b = "B"
metric = "phase_accuracy"
level = 0.95
by = ["center"]

[[analysis]]
verb = "evaluate phases"
metrics = ["phase_accuracy"]
"""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class RegistrationResult(Result):
    """A registration: table `settings` with every option of every analysis, and the document `registration`."""

    page = PAGE

    runs: tuple[Mapping[str, Any], ...] = ()
    """What was run under it: `date`, `verb`, `models`, `videos`, `cases`, `deviations`."""

    @property
    def sha256(self) -> str:
        """Of the content."""
        return str(self.records["registration"]["sha256"])

    @property
    def title(self) -> str:
        """The title of the study and the hash."""
        return f"{self.records['registration']['content']['title']}\nsha256 {self.sha256}"

    @property
    def shown(self) -> pl.DataFrame:
        """What the author stated; the defaults beside it are in the table."""
        return self.table.filter(pl.col("stated")).drop("stated")

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The stated options below the title."""
        return {self.title: self.shown}

    def html(self) -> str:
        """The human page, complete in itself."""
        content = self.records["registration"]["content"]
        facts = f"sha256 {self.sha256}"
        return page(content["title"], "Registration", facts, _sections(self, content))


@requested("preregister", files=("plan",))
def preregister(plan: str | Path) -> RegistrationResult:
    """The registration of an analysis: every setting of every analysis to come, hashed, with a page to read.

    Args:
        plan: A TOML file, as `surgvalid plan register --new` writes one.

    Raises:
        FileUnreadable: It is no TOML file.
        InputInvalid: With every problem of the plan.
    """
    written = read_toml(plan)
    problems = [*_text_problems(written), *_analysis_problems(written.get("analysis"))]
    if problems:
        raise InputInvalid(str(plan), problems)
    analyses = [_analysis(given) for given in written["analysis"]]
    content = {
        **{name: written[name] for name in (*TEXTS, *LISTS) if name in written},
        "analyses": analyses,
        "metrics": _conventions(analyses),
        "software": software(),
        BINDS: True,
    }
    return _result(content, findings=(remark("registered-when", WHEN),))


def registered_runs(path: str | Path) -> RegistrationResult:
    """A registration with every run under it; its page lists their deviations.

    Raises:
        FileUnreadable: There is none, or it was changed.
    """
    registration = read_registration(path)
    looks = read_looks(registration_file(path), registration.sha256)
    return _result(registration.content, runs=tuple(looks["runs"]))


def _result(content: Mapping[str, Any], **more: Any) -> RegistrationResult:
    settings = REGISTERED_SETTINGS.frame(_rows(content["analyses"]))
    records = {"registration": document_of(content)}
    return RegistrationResult(tables={"settings": settings}, main="settings", records=records, **more)


def run_sentences(run: Mapping[str, Any]) -> list[str]:
    """A run under a registration in words, then its deviations."""
    deviations = run["deviations"].values()
    models = f" of {', '.join(run['models'])}" if run.get("models") else ""
    return [
        f"{run['date']}: {run['verb']}{models} on {run['videos']} videos, {run['cases']} cases"
        + ("." if deviations else ", as registered."),
        *(f"Deviation: {one['difference']}. Reason given: {one['reason']}" for one in deviations),
    ]


WHEN = (
    "A hash shows that the file was not changed, not when it was written: sign it, or put the hash where others see it "
    "and its date, before the data are looked at."
)


def _text_problems(written: Mapping[str, Any]) -> list[str]:
    problems = [f"{name} is missing" for name in NEEDED if name not in written]
    problems += [
        f"unknown entry {name!r}{_hint(name, (*TEXTS, *LISTS, 'analysis'))}"
        for name in written
        if name not in (*TEXTS, *LISTS, "analysis")
    ]
    for name, value in written.items():
        if name in LISTS and not (isinstance(value, list) and all(isinstance(member, str) for member in value)):
            problems.append(f"{name} must be a list of texts")
        if name == "sample_size" and not (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            problems.append(f"sample_size must be a whole number of videos, got {value!r}")
        elif name in TEXTS and name != "sample_size" and not (isinstance(value, str) and value.strip()):
            problems.append(f"{name} must be a text")
    return problems


def _analysis_problems(given: Any) -> list[str]:
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        return ["no [[analysis]]: state at least one, with its verb"]
    problems = []
    for number, one in enumerate(given, 1):
        verb = one.get("verb")
        if verb not in FUNCTIONS:
            problems.append(
                f"analysis {number}: unknown verb {verb!r}{_hint(str(verb), FUNCTIONS)}; "
                f"expected {', '.join(FUNCTIONS)}"
            )
            continue
        known = _option_names(verb)
        problems += [
            f"analysis {number} ({verb}): unknown option {name!r}{_hint(name, known)}"
            for name in one
            if name != "verb" and name not in known
        ]
        problems += [f"analysis {number} ({verb}): {problem}" for problem in _value_problems(one)]
    return problems


def _value_problems(given: Mapping[str, Any]) -> list[str]:
    """What is wrong with values that name something: a rule that does not exist could never be kept to."""
    if family := _FAMILIES.get(given["verb"]):
        known = [*family, *(name for name in METRICS if name not in METRICS.ours)]
        named = given.get("metrics", [])
        strange = [str(name) for name in (named if isinstance(named, list) else [named]) if str(name) not in known]
        return [f"unknown metric {name!r}{_hint(name, known)}" for name in strange]
    if given["verb"] != "rank" or given.get("rule") is None:
        return []
    try:
        rule_named(str(given["rule"]))
    except SurgvalidError as error:
        return [str(error)]
    return []


def _option_names(verb: str) -> set[str]:
    function, files = FUNCTIONS[verb]
    names = {name for name, one in inspect.signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD}
    if verb.startswith("evaluate"):
        names |= {*_builder(verb).__annotations__, *OPTIONS} - {"return", "cut"}
    return set(settings_of(dict.fromkeys(names), files))


def _analysis(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of an analysis: as stated, else by default."""
    verb = given["verb"]
    function, files = FUNCTIONS[verb]
    parameters = inspect.signature(function).parameters.values()
    usual = {
        one.name: None if one.default is one.empty else one.default
        for one in parameters
        if one.kind is not one.VAR_KEYWORD
    }
    of_kind = settings_of(_usual_of_kind(verb), files)
    stated = {name: value for name, value in given.items() if name != "verb"}
    options = settings_of({**usual, **of_kind, **stated}, files)
    kept = {name: value for name, value in options.items() if name not in NAMES or name in stated}
    return {"verb": verb, "options": kept, "stated": sorted(stated), "usual": of_kind}


def _usual_of_kind(verb: str) -> dict[str, Any]:
    """What the options of a kind of evaluation are where nobody gives them."""
    if not verb.startswith("evaluate"):
        return {}
    shared = inspect.signature(evaluate).parameters
    return {
        name: one.default
        for name, one in inspect.signature(_builder(verb)).parameters.items()
        if one.default is not one.empty and one.default not in (None, "", ()) and name not in shared
    }


def _builder(verb: str) -> Callable[..., Any]:
    """What reads the input of a kind of evaluation."""
    build: Callable[..., Any] = import_module(f"surgvalid.evaluation.{verb.split()[1]}").material
    return build


def _conventions(analyses: list[dict[str, Any]]) -> dict[str, Any]:
    """What the metrics that are named mean here, as far as that does not depend on data."""
    named = {name for one in analyses for name in _metric_names(one["options"])}
    facts = {}
    for name in sorted(named):
        try:
            facts[name] = METRICS[name]().facts.as_dict()
        except (SurgvalidError, TypeError):
            continue
    return facts


def _metric_names(options: Mapping[str, Any]) -> list[str]:
    several = options.get("metrics") or []
    return [str(name) for name in [*several, options.get("metric")] if name and str(name) in METRICS]


def _rows(analyses: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "analysis": number,
            "verb": one["verb"],
            "option": name,
            "value": _shown(value),
            "stated": name in one["stated"],
        }
        for number, one in enumerate(analyses, 1)
        for name, value in sorted(one["options"].items(), key=lambda pair: (pair[0] not in one["stated"], pair[0]))
    ]


def _shown(value: Any) -> str:
    if value is None or value in ([], {}):
        return "(none)"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _sections(result: RegistrationResult, content: Mapping[str, Any]) -> list[Section]:
    texts = [Prose(f"{label}: {content[name]}") for name, label in TEXTS.items() if name in content and name != "title"]
    lists = [
        Points(name, label, tuple(Point(entry) for entry in content[name]) or (Point("none"),))
        for name, label in LISTS.items()
        if name in content
    ]
    settings = ReportTable(
        "settings", "Every setting", result.table, "Stated: written by the author; else the default."
    )
    versions = ", ".join(f"{name} {version}" for name, version in content["software"].items())
    meaning = [
        Prose(
            f"{name}: {facts.get('estimand', '')}. " + "; ".join(f"{k}: {v}" for k, v in facts["conventions"].items())
        )
        for name, facts in content["metrics"].items()
    ]
    runs = tuple(Point(text) for run in result.runs for text in run_sentences(run))
    return [
        *([Section("runs", "What was run under it", (Points("runs", "Runs and deviations", runs),))] if runs else []),
        Section("study", "The study", (*texts, *lists)),
        Section("analysis", "The analysis", (settings,)),
        *([Section("metrics", "What the metrics mean", tuple(meaning))] if meaning else []),
        Section("proof", "What this proves", (Prose(f"Software: {versions}."), Note(WHEN, "hint"))),
    ]


def _hint(name: str, known: Any) -> str:
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


def write_example(path: Path, *, force: bool = False) -> None:
    """Write a commented plan to start from.

    Raises:
        Misuse: The file exists and `force` is off.
    """
    if path.exists() and not force:
        raise Misuse(f"{path} exists already; choose another path")
    path.write_text(EXAMPLE, encoding="utf-8")
