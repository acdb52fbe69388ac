"""Score a submission that was run: its answers and the references meet here, and no engine is ever opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from surgvalid.asking.driver import digest_of
from surgvalid.asking.journal import stored_run
from surgvalid.errors import InputInvalid
from surgvalid.judges import Judge
from surgvalid.schema.documents import json_text
from surgvalid.schema.model_names import model_name
from surgvalid.schema.questions.question_files import Sources, collect_questions
from surgvalid.schema.questions.questions import Request
from surgvalid.schema.shard import Shard
from surgvalid.scoring.result import ScoreResult
from surgvalid.scoring.run import score
from surgvalid.submissions.phase import SubmissionPhase
from surgvalid.submissions.phase_status import shard_folders, status_of, stored_digest
from surgvalid.submissions.results import RECORDS, responses_of
from surgvalid.submissions.stages import SCORES, Stage, note_stage, why_held

Shards = Sequence[tuple[int, int, Path]]
_ENTRANT = ("image", "command", "files", "code", "weights")
"""What the shards of one submission have in common; engine and GPU may differ between machines."""


def score_submission(
    phase: SubmissionPhase,
    run: str | Path,
    *,
    requests: Sources,
    references: Sources,
    judges: Sequence[str | Judge] = (),
    store: str | Path | None = None,
    model: str | None = None,
    replicates: int = 1000,
) -> ScoreResult:
    """The scores of a submission whose shards are all there, also written to `scores` in its folder.

    Args:
        phase: Must be the one that it was run with.
        run: The folder that `run_submission` filled.
        requests: All questions of the phase.
        references: Their reference answers.
        judges: Of free text, as in `score`.
        store: Keeps verdicts, as in `score`.
        model: Its name in tables; that of its folder if left out.
        replicates: Resamples, where a method resamples.

    Raises:
        InputInvalid: Shards are missing, unfinished, of another phase or program, or not about these questions; every
            reason.
    """
    folder = Path(run)
    if problems := _problems(phase, folder, requests):
        raise InputInvalid(str(folder), problems)
    responses = folder / RECORDS
    draft = responses.with_name(responses.name + ".part")
    with open(draft, "w", encoding="utf-8") as handle:
        for _, _, place in shard_folders(folder):
            for response in responses_of(place):
                handle.write(json_text(response.as_record()) + "\n")
    draft.rename(responses)
    result = score(
        requests,
        references,
        responses,
        model=model_name(model, folder),
        max_latency_s=phase.budget.budget_s,
        judges=judges,
        store=store,
        replicates=replicates,
    )
    result.to_dir(folder / SCORES, force=True)
    note_stage(folder, Stage.SCORED, headline=result.headline)
    return result


def _problems(phase: SubmissionPhase, folder: Path, requests: Sources) -> list[str]:
    problems = [held] if (held := why_held(folder)) else []
    if stored_digest(folder) != phase.digest():
        problems.append("it was run with other settings than those of this phase file")
    shards = shard_folders(folder)
    totals = {of for _, of, _ in shards}
    if len(totals) > 1:
        problems.append(f"it has shards of different runs: of {', '.join(map(str, sorted(totals)))}")
    missing = sorted(set(range(1, max(totals, default=1) + 1)) - {number for number, _, _ in shards})
    if missing:
        problems.append(f"shards {', '.join(map(str, missing))} of {max(totals, default=1)} are missing")
    for shard in status_of(folder)["shards"]:
        if shard["stage"] not in (Stage.INFERRED, Stage.FAILED_PARTICIPANT):
            problems.append(f"shard {shard['shard']} is not finished ({shard['stage']}); run it again")
    problems += _of_different_runs(phase, shards)
    return problems or list(_other_questions(shards, collect_questions(requests, ()).requests.values()))


def _of_different_runs(phase: SubmissionPhase, shards: Shards) -> Iterator[str]:
    """What keeps shards from being parts of one run: they come from several machines, and each has its own record."""
    runs = {f"{number}/{of}": run for number, of, place in shards if (run := stored_run(place)) is not None}
    first = min(runs, default="")
    for shard, run in runs.items():
        if phase.digest() not in run["dialect"]:
            yield f"shard {shard} was run with other settings than those of this phase file"
        if different := [name for name in _ENTRANT if run["entrant"].get(name) != runs[first]["entrant"].get(name)]:
            yield f"shards {first} and {shard} are not of one program: {', '.join(different)} differ"


def _other_questions(shards: Shards, requests: Collection[Request]) -> Iterator[str]:
    """How the questions that were asked differ from those that are scored."""
    asked = Counter(response.case for _, _, place in shards for response in responses_of(place))
    known = {request.case for request in requests}
    if doubled := [case for case, times in asked.items() if times > 1]:
        yield f"{len(doubled)} questions were asked in two shards (first: {min(doubled)})"
    if asked.keys() != known:
        yield f"{len(asked.keys() ^ known)} questions are not both in the run and in the requests"
        return
    for number, of, place in shards:
        share = [request for request in requests if Shard(number, of).holds(request.video)]
        if (stored_run(place) or {}).get("questions") != digest_of(share):
            yield f"shard {number}/{of} was asked other questions under the same identifiers"
