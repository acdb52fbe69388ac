"""Score a submission that was run: its answers and the references meet here, and no engine is ever opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from surgeval.errors import InputInvalid
from surgeval.judges import Judge
from surgeval.schema.documents import json_text
from surgeval.schema.question_files import Sources, collect_questions
from surgeval.scoring.result import ScoreResult
from surgeval.scoring.run import score
from surgeval.submissions.phase import Phase
from surgeval.submissions.phase_status import shard_folders, status_of, stored_digest
from surgeval.submissions.results import RECORDS, responses_of
from surgeval.submissions.stages import SCORES, Stage, note_stage, why_held


def score_submission(
    phase: Phase,
    run: str | Path,
    *,
    requests: Sources,
    references: Sources,
    judges: Sequence[str | Judge] = (),
    store: str | Path | None = None,
    model: str = "submission",
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
        model: Its name in tables.
        replicates: Resamples, where a method resamples.

    Raises:
        InputInvalid: Shards are missing, unfinished, of another phase, or not about these questions; every reason.
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
        requests, references, responses, model=model, max_latency_s=phase.budget.budget_s, judges=judges, store=store,
        replicates=replicates,
    )  # fmt: skip
    result.to_dir(folder / SCORES, force=True)
    note_stage(folder, Stage.SCORED, headline=result.headline)
    return result


def _problems(phase: Phase, folder: Path, requests: Sources) -> list[str]:
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
    if problems:
        return problems
    asked = Counter(response.case for _, _, place in shards for response in responses_of(place))
    known = set(collect_questions(requests, ()).requests)
    if doubled := [case for case, times in asked.items() if times > 1]:
        problems.append(f"{len(doubled)} questions were asked in two shards (first: {min(doubled)})")
    if asked.keys() != known:
        problems.append(f"{len(asked.keys() ^ known)} questions are not both in the run and in the requests")
    return problems
