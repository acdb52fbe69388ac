"""The package is light to import, and its public names are pinned."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "django", "av", "pandas", "numba", "matplotlib")

PUBLIC = """
    AdjustedResult AggregationResult AgreementResult AskResult Benchmark BoardResult Capability ComparisonResult
    CooccurrenceResult DataCard DependenceResult DiffResult EnsembleResult EvaluationResult FailureChangeResult
    FailureTableResult FailuresResult IntervalResult Ledger LintReport MonitorResult PlanResult Procedure
    ProfilesResult RankResult Reference RegistrationResult Rehearsal ReplyReading Report Request Response
    ScoreResult ScoreTable Simulation SitesResult StrataResult StudyAudit StudyResult SupplementResult
    SurgvalidError TableAudit TaskResult TrivialBaselinesResult aggregate agreement ask audit_study audit_tables
    combine compare cooccurrence data_set_card dependence diff ensembles evaluate failure_change failures interval
    lint make_questions make_report metric_interval monitor parse_run plan preregister profiles rank read_procedure
    read_reply read_score_table rehearse run_task score share simulate strata study supplement task_board
    trivial_baselines write_procedure
"""


def test_the_public_names_are_these() -> None:
    import surgvalid

    assert surgvalid.__all__ == sorted(PUBLIC.split())
    assert dir(surgvalid) == sorted([*PUBLIC.split(), "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        surgvalid.nothing


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import surgvalid, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_scoring_loads_nothing_heavy_either() -> None:
    code = "import surgvalid, sys; surgvalid.score, surgvalid.ScoreTable; "
    code += f"print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_checks_for_other_packages_need_no_test_framework() -> None:
    unwanted = (*HEAVY[:-1], "pytest", "hypothesis", "_pytest")
    code = f"import surgvalid.testing, sys; print([m for m in {unwanted!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_can_be_loaded() -> None:
    import surgvalid

    for name in surgvalid.__all__:
        assert getattr(surgvalid, name) is not None


def test_what_a_public_function_gives_back_is_public_too_and_mirrors_its_verb() -> None:
    import inspect

    import surgvalid

    functions = [getattr(surgvalid, name) for name in surgvalid.__all__ if name[0].islower()]
    stated = [str(inspect.signature(function).return_annotation) for function in functions]
    given = {kind for kinds in stated for kind in kinds.split(" | ")} - {"None", "Path"}
    assert given <= set(surgvalid.__all__)
    written_otherwise = {"Procedure", "Rehearsal", "ReplyReading", "Report", "ScoreTable"}
    for name in given - written_otherwise:
        kind = getattr(surgvalid, name)
        fields = set().union(*(vars(base).get("__annotations__", {}) for base in kind.__mro__))
        assert hasattr(kind, "table") or "table" in fields, name
        assert hasattr(kind, "to_dir"), name
        assert kind.__repr__ is not object.__repr__, name


WITHOUT_POSIX = """
import importlib, os, pathlib, signal, socket, sys
import asyncio, multiprocessing, subprocess  # the standard library may have what Windows lacks
import numba, numpy, polars, scipy.stats, typer  # and so may others

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
sys.modules.update(dict.fromkeys(MODULES))
for place, names in {
    os: ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "geteuid", "fork", "killpg", "pread",
         "getloadavg", "getuid", "memfd_create", "pidfd_open", "sched_getaffinity", "sysconf", "unshare"),
    signal: ("SIGALRM", "SIGKILL", "pidfd_send_signal"),
    socket: ("AF_UNIX",),
}.items():
    for name in names:
        if hasattr(place, name):
            delattr(place, name)

import surgvalid
root = pathlib.Path(surgvalid.__file__).parent
for file in sorted(root.rglob("*.py")):
    parts = file.relative_to(root).with_suffix("").parts
    if parts[-1] != "__main__" and "_demo" not in parts and parts[0] != "host":
        importlib.import_module(".".join(("surgvalid", *parts)).removesuffix(".__init__"))

from surgvalid.asking.lines import LineFile
from surgvalid.errors import Misuse
try:
    LineFile(pathlib.Path("never-made.jsonl"), lock=True)
except Misuse as error:
    print(error)

from surgvalid.sandbox import open_engine
for sys.platform in ("win32", "darwin"):
    try:
        open_engine("process")
    except Misuse as error:
        print(error)
rows = [(model, f"c{n}", f"p{n % 4}", n % 7 / 7 + bonus) for n in range(12) for model, bonus in (("A", 0), ("B", 0.1))]
table = polars.DataFrame(rows, schema=["model", "case", "patient", "dice"], orient="row")
print(surgvalid.study(table).verdict[0])
"""


@pytest.mark.long
def test_every_module_can_be_imported_without_what_only_posix_has() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_POSIX], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    locks, *engines, verdict = done.stdout.splitlines()
    assert "never-made.jsonl: stores and journals need the file locks of Linux or macOS" in locks
    assert engines == [
        f"engine 'process' needs Linux, this is {system}: use WSL on Windows, a virtual machine on macOS"
        for system in ("win32", "darwin")
    ]
    assert verdict.startswith("B is ahead in 4 of 4 patients")
