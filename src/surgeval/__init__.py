"""surgeval: validation of surgical video AI that holds up.

Every name here is loaded on first use, so importing the package is fast and pulls in nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surgeval.errors import SurgevalError as SurgevalError
    from surgeval.questions.benchmark import Benchmark as Benchmark
    from surgeval.questions.make import make_questions as make_questions
    from surgeval.report.report import Report as Report
    from surgeval.report.report import make_report as make_report
    from surgeval.schema.ledger import Ledger as Ledger
    from surgeval.schema.procedure_files import read_procedure as read_procedure
    from surgeval.schema.procedure_files import write_procedure as write_procedure
    from surgeval.schema.questions import Reference as Reference
    from surgeval.schema.questions import Request as Request
    from surgeval.schema.questions import Response as Response
    from surgeval.schema.score_table import ScoreTable as ScoreTable
    from surgeval.schema.score_table import read_score_table as read_score_table
    from surgeval.schema.taxonomy import Capability as Capability
    from surgeval.schema.tracks import Procedure as Procedure
    from surgeval.scoring.diff import DiffResult as DiffResult
    from surgeval.scoring.diff import diff as diff
    from surgeval.scoring.evaluate.result import EvaluationResult as EvaluationResult
    from surgeval.scoring.evaluate.run import evaluate as evaluate
    from surgeval.scoring.floors import FloorsResult as FloorsResult
    from surgeval.scoring.floors import floors as floors
    from surgeval.scoring.lint import lint as lint
    from surgeval.scoring.lint_report import LintReport as LintReport
    from surgeval.scoring.result import ScoreResult as ScoreResult
    from surgeval.scoring.run import score as score
    from surgeval.simulation.simulate import Simulation as Simulation
    from surgeval.simulation.simulate import simulate as simulate
    from surgeval.stats.adjusted import AdjustedResult as AdjustedResult
    from surgeval.stats.adjusted import adjusted_effects as adjusted_effects
    from surgeval.stats.aggregation import AggregationResult as AggregationResult
    from surgeval.stats.aggregation import aggregate as aggregate
    from surgeval.stats.agreement.report import AgreementResult as AgreementResult
    from surgeval.stats.agreement.report import agreement as agreement
    from surgeval.stats.comparison import ComparisonResult as ComparisonResult
    from surgeval.stats.comparison import compare as compare
    from surgeval.stats.cooccurrence import CooccurrenceResult as CooccurrenceResult
    from surgeval.stats.cooccurrence import cooccurrence as cooccurrence
    from surgeval.stats.dependence import DependenceResult as DependenceResult
    from surgeval.stats.dependence import WidthRatioResult as WidthRatioResult
    from surgeval.stats.dependence import dependence as dependence
    from surgeval.stats.dependence import width_ratio as width_ratio
    from surgeval.stats.ensembles import EnsembleResult as EnsembleResult
    from surgeval.stats.ensembles import ensembles as ensembles
    from surgeval.stats.influence import InfluenceResult as InfluenceResult
    from surgeval.stats.influence import influence as influence
    from surgeval.stats.interval import IntervalResult as IntervalResult
    from surgeval.stats.interval import interval as interval
    from surgeval.stats.interval import metric_interval as metric_interval
    from surgeval.stats.mixed.failures import failures as failures
    from surgeval.stats.mixed.report import FailuresResult as FailuresResult
    from surgeval.stats.ranking import RankResult as RankResult
    from surgeval.stats.ranking import rank as rank
    from surgeval.stats.strata import StrataResult as StrataResult
    from surgeval.stats.strata import strata as strata
    from surgeval.submissions.rehearsal import Rehearsal as Rehearsal
    from surgeval.submissions.rehearsal import rehearse as rehearse

_HOME = {
    "AdjustedResult": "stats.adjusted",
    "AggregationResult": "stats.aggregation",
    "AgreementResult": "stats.agreement.report",
    "Benchmark": "questions.benchmark",
    "Capability": "schema.taxonomy",
    "ComparisonResult": "stats.comparison",
    "CooccurrenceResult": "stats.cooccurrence",
    "DependenceResult": "stats.dependence",
    "DiffResult": "scoring.diff",
    "EnsembleResult": "stats.ensembles",
    "EvaluationResult": "scoring.evaluate.result",
    "FailuresResult": "stats.mixed.report",
    "FloorsResult": "scoring.floors",
    "InfluenceResult": "stats.influence",
    "IntervalResult": "stats.interval",
    "Ledger": "schema.ledger",
    "LintReport": "scoring.lint_report",
    "Procedure": "schema.tracks",
    "RankResult": "stats.ranking",
    "Reference": "schema.questions",
    "Rehearsal": "submissions.rehearsal",
    "Report": "report.report",
    "Request": "schema.questions",
    "Response": "schema.questions",
    "ScoreResult": "scoring.result",
    "ScoreTable": "schema.score_table",
    "Simulation": "simulation.simulate",
    "StrataResult": "stats.strata",
    "SurgevalError": "errors",
    "WidthRatioResult": "stats.dependence",
    "adjusted_effects": "stats.adjusted",
    "aggregate": "stats.aggregation",
    "agreement": "stats.agreement.report",
    "compare": "stats.comparison",
    "cooccurrence": "stats.cooccurrence",
    "dependence": "stats.dependence",
    "diff": "scoring.diff",
    "ensembles": "stats.ensembles",
    "evaluate": "scoring.evaluate.run",
    "failures": "stats.mixed.failures",
    "floors": "scoring.floors",
    "influence": "stats.influence",
    "interval": "stats.interval",
    "lint": "scoring.lint",
    "make_questions": "questions.make",
    "make_report": "report.report",
    "metric_interval": "stats.interval",
    "rank": "stats.ranking",
    "read_procedure": "schema.procedure_files",
    "read_score_table": "schema.score_table",
    "rehearse": "submissions.rehearsal",
    "score": "scoring.run",
    "simulate": "simulation.simulate",
    "strata": "stats.strata",
    "width_ratio": "stats.dependence",
    "write_procedure": "schema.procedure_files",
}

__version__ = "0.1.0"
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'surgeval' has no attribute {name!r}")
    return getattr(import_module(f"surgeval.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
