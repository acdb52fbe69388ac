"""From annotated procedures to a benchmark: draft, split, select, check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from surgvalid.errors import ProcedureInvalid, QuestionsInvalid, SurgvalidError
from surgvalid.questions.balancing import Selection, select
from surgvalid.questions.benchmark import GENERATION, Benchmark, Question
from surgvalid.questions.blind_guesses import Types, by_template, hits_of
from surgvalid.questions.catalogue import BenchmarkOptions, checked_options, templates_for
from surgvalid.questions.data_card import Placed, data_card, leaks_among, reasons_for_none
from surgvalid.questions.drafts import Draft, DraftTally, drafts_of
from surgvalid.questions.near_duplicates import landmarks_of, near_duplicates
from surgvalid.questions.sources import (
    STILL,
    UNCONFIRMED,
    Annotations,
    Review,
    opened,
    problems_of,
    review_in,
    sources_of,
    unconfirmed,
)
from surgvalid.questions.splits import Splits, VideoFacts, frame_signatures, leaks, split_videos
from surgvalid.questions.template import QuestionTrack
from surgvalid.questions.usual import Usual
from surgvalid.results.request import VerbRequest as RunRequest
from surgvalid.results.request import requested
from surgvalid.schema.procedures.foreign_objects import FOREIGN_OBJECTS, ForeignObject, read_definitions
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import THING, Procedure
from surgvalid.schema.questions.formats import build_format, time_tolerance_s
from surgvalid.schema.questions.questions import DIALS, Reference, Request
from surgvalid.stats.draws import stream

OVERSAMPLE = 2.5
"""Drafts per wanted question; the surplus is what balancing chooses from."""

Drafts = dict[tuple[str, str], list[Draft]]
"""By video and track."""
Progress = Callable[[int], None]
"""Called with how many procedures were drafted since the last call."""


@requested("questions", files=("annotations", "objects", "history"))
def make_questions(
    annotations: Annotations,
    *,
    tracks: Iterable[str] | None = None,
    per_video: int = 100,
    test_share: float = 0.3,
    ood_procedures: Collection[str] = (),
    ood_centers: Collection[str] = (),
    ood_templates: Collection[str] = (),
    most_common_share: float = 0.5,
    duplicate_share: float = 0.02,
    blind_share: float = 0.25,
    annotated: Collection[str] = (),
    history: Any = None,
    unverified: bool = False,
    objects: Sequence[ForeignObject] | str | Path | None = None,
    seed: int = 42,
    progress: Progress | None = None,
) -> Benchmark:
    """Questions with references and proofs, made from annotated procedures.

    Args:
        annotations: Procedures, their files, or folders of such files.
        tracks: Any of `frame`, `segment`, `procedure`; all by default.
        per_video: Questions wanted per video and track; fewer where fewer are clear and balanced.
        test_share: Share of the patients that are for testing, dealt within each procedure type.
        ood_procedures: Procedure types that only the test set shows.
        ood_centers: Centres that only the test set shows.
        ood_templates: Templates that only the test set asks.
        most_common_share: The most frequent answer of a template, or of a wording that is asked more than once,
            makes up at most this share.
        duplicate_share: At most this share of the questions may be near-duplicates.
        blind_share: Largest share of a template of times or percentages that input-blind predictors get right;
            for other formats, the largest share of what the most frequent answer leaves.
        annotated: What was annotated in procedures that do not declare it: `all`, `classes`, `events`, `phases`,
            `attributes`, or kinds of events. Where nobody says, no more than what occurs counts as annotated, and
            templates that need more are withheld.
        history: The history of reviews, a table or its file: of proposed instances those that two people confirmed are
            used, and questions that a reviewer objects to or whose answer was corrected are withheld.
        unverified: Make questions from proposed instances that nobody confirmed; each is marked in its strata.
        objects: The foreign-object classes, or the file of their definitions; the known ones when left out.
        seed: Equal seeds give equal benchmarks.
        progress: Called with 1 after every procedure.

    Raises:
        ProcedureInvalid: Annotations that are impossible, contradict themselves or were confirmed by nobody; all are
            listed.
        QuestionsInvalid: The finished set breaks one of its own promises, or holds no question; the reasons are listed.

    Example:
        >>> from surgvalid.schema.procedures.tracks import track_from_points
        >>> clip = track_from_points("c", "Clip", [(t, (9, 9, 9, 9)) for t in range(50, 300)])
        >>> needle = track_from_points("n", "Needle", [(t, (40, 9, 9, 9)) for t in range(150, 220)])
        >>> procedure = Procedure("v1", "Cholecystectomy", "A", 400, 64, 48, (clip, needle))
        >>> make_questions(
        ...     procedure, tracks=["frame"], per_video=40, test_share=0, annotated=["classes"]
        ... ).card.videos.height
        1
    """
    options = checked_options(
        BenchmarkOptions(
            tuple(tracks or QuestionTrack),
            per_video,
            test_share,
            tuple(ood_procedures),
            tuple(ood_centers),
            tuple(ood_templates),
            most_common_share,
            duplicate_share,
            seed,
            blind_share,
            tuple(annotated),
            unverified,
        )
    )
    definitions = [Path(objects)] if isinstance(objects, str | Path) else []
    known = _classes(objects)
    sources = sources_of(annotations)
    review = review_in(history)
    usual = Usual(opened(sources, annotated=options.annotated, review=review))
    procedures = opened(sources, annotated=options.annotated, review=review)
    videos, drafts, tally = _draft_all(procedures, usual, options, known, review, progress or _silent)
    splits = split_videos(
        videos,
        test_share=test_share,
        ood_procedures=options.ood_procedures,
        ood_centers=options.ood_centers,
        seed=seed,
    )
    placed, selections = _select_all(videos, drafts, splits, options)
    facts = {video.video: video for video in videos}
    grouped = len({one.patient for one in videos}) < len(videos)
    questions = [_question(item, facts=facts, objects=known, grouped=grouped) for item in placed]
    types = {video: one.procedure_type for video, one in facts.items()}
    patients = {video: one.patient for video, one in facts.items()}
    leaks = leaks_among(placed, types, patients, blind_share)
    card = data_card(placed, videos, splits, selections, tally, asdict(options), leaks=leaks)
    if broken := broken_promises(questions, videos, splits, options, objects=known):
        raise QuestionsInvalid("benchmark", broken)
    if not questions:
        raise QuestionsInvalid("benchmark", reasons_for_none(card))
    inputs = {"annotations": [source for source in sources if isinstance(source, Path)]}
    inputs |= {"objects": definitions} if definitions else {}
    inputs |= {"history": [Path(history)]} if isinstance(history, str | Path) else {}
    return Benchmark(questions=questions, card=card, request=RunRequest(inputs=inputs))


def _classes(objects: Sequence[ForeignObject] | str | Path | None) -> tuple[ForeignObject, ...]:
    """The foreign-object classes, read where a file was named."""
    if objects is None:
        return FOREIGN_OBJECTS
    return read_definitions(objects) if isinstance(objects, str | Path) else tuple(objects)


def _silent(_done: int) -> None:
    return None


# --- drafting ------------------------------------------------------------------------------------


def _draft_all(
    procedures: Iterable[Procedure],
    usual: Usual,
    options: BenchmarkOptions,
    objects: tuple[ForeignObject, ...],
    review: Review,
    progress: Progress,
) -> tuple[list[VideoFacts], Drafts, DraftTally]:
    """The facts and drafts of every procedure; one procedure is held at a time when they come from files."""
    names = tuple(kind.name for kind in objects)
    videos: list[VideoFacts] = []
    drafts: Drafts = {}
    tally, problems = DraftTally(), []
    for procedure in procedures:
        doubtful = None if options.unverified else unconfirmed(procedure)
        wrong = problems_of(procedure, names)
        if doubtful and QuestionTrack.FRAME not in options.tracks:
            wrong = [*wrong, doubtful]
        if wrong:
            problems += [f"{procedure.video}: {problem}" for problem in wrong]
        elif not problems:
            ledger = Ledger(procedure, objects=_annotated_classes(procedure, objects))
            videos.append(_facts_of(ledger))
            for track in options.tracks:
                if track != QuestionTrack.FRAME and (doubtful or procedure.duration_s == 1):
                    tally.withheld[track, "every template", UNCONFIRMED if doubtful else STILL] += 1
                    continue
                clear = _drafts(ledger, QuestionTrack(track), options, tally, usual)
                drafts[procedure.video, track] = _undisputed(clear, review, tally)
        progress(1)
    repeated = [name for name, count in Counter(facts.video for facts in videos).items() if count > 1]
    problems += [f"video {name!r} appears more than once; every video needs a name of its own" for name in repeated]
    if problems:
        raise ProcedureInvalid("annotations", problems)
    return videos, drafts, tally


def _undisputed(drafts: list[Draft], review: Review, tally: DraftTally) -> list[Draft]:
    """The drafts that no reviewer speaks against; the others are counted as withheld."""
    reasons = {draft.case: why for draft in drafts if (why := review.against(draft.case, draft.answer))}
    tally.withheld.update((d.track.value, d.template.name, reasons[d.case]) for d in drafts if d.case in reasons)
    return [draft for draft in drafts if draft.case not in reasons]


def _annotated_classes(procedure: Procedure, objects: tuple[ForeignObject, ...]) -> tuple[ForeignObject, ...]:
    """The classes that can be asked about: of others nobody knows whether they are there."""
    names = procedure.annotated.classes
    return objects if names is None else tuple(kind for kind in objects if kind.name in names)


def _drafts(
    ledger: Ledger, track: QuestionTrack, options: BenchmarkOptions, tally: DraftTally, usual: Usual
) -> list[Draft]:
    draw = stream(options.seed, "drafts", ledger.procedure.video, track.value)
    wanted = int(OVERSAMPLE * options.per_video)
    templates = templates_for(track, of_data_set=THING in ledger.procedure.facts)
    return list(drafts_of(ledger, track, templates, wanted, draw, tally, usual))


def _facts_of(ledger: Ledger) -> VideoFacts:
    procedure, whole = ledger.procedure, Window(0, ledger.procedure.duration_s - 1)
    return VideoFacts(
        procedure.video,
        procedure.patient,
        procedure.procedure_type,
        procedure.center,
        procedure.duration_s,
        frame_signatures(procedure),
        {name: ledger.seconds_in_view(name, whole) for name in ledger.class_names},
        ledger.masked.total_s,
        landmarks_of(procedure),
        proposed=len(procedure.proposed),
        declared=procedure.declared is not None,
        split=procedure.facts.get("split", ""),
        source=procedure.facts.get("source", ""),
    )


# --- selecting -----------------------------------------------------------------------------------


def _select_all(
    videos: Sequence[VideoFacts], drafts: Drafts, splits: Splits, options: BenchmarkOptions
) -> tuple[list[Placed], dict[tuple[str, str], Selection]]:
    placed: list[Placed] = []
    selections: dict[tuple[str, str], Selection] = {}
    types = {facts.video: facts.procedure_type for facts in videos}
    learnt: dict[tuple[str, str], list[Draft]] = {}
    for split in splits.names:
        shown = [facts.video for facts in videos if splits.of_video[facts.video] == split]
        for track in options.tracks:
            pool = [draft for video in shown for draft in drafts.get((video, track), ())]
            if split == "train":
                pool = [draft for draft in pool if draft.template.name not in options.ood_templates]
            chosen = select(
                pool,
                options.per_video * len(shown),
                stream(options.seed, "select", split, track),
                most_common_share=options.most_common_share,
                duplicate_share=options.duplicate_share,
                blind=partial(_blind, learnt=learnt, types=types),
                blind_share=options.blind_share,
            )
            selections[split, track] = chosen
            if split == "train":
                learnt |= by_template(chosen.drafts)
            for draft in chosen.drafts:
                ood = split == "test" and (splits.ood[draft.video] or draft.template.name in options.ood_templates)
                placed.append(Placed(draft, split, ood))
    order = {name: at for at, name in enumerate(options.tracks)}
    placed.sort(key=lambda item: (item.split != "train", order[item.draft.track.value], item.draft.case))
    return placed, selections


def _blind(
    drafts: Sequence[Draft], learnt: dict[tuple[str, str], list[Draft]], types: Types
) -> Mapping[str, Sequence[bool]]:
    """By predictor, which drafts of a template it gets right, fitted on what was chosen for training."""
    if not drafts:
        return {}
    return hits_of(drafts, learnt.get((drafts[0].track.value, drafts[0].template.name), []), types)


def _question(
    item: Placed, *, facts: Mapping[str, VideoFacts], objects: tuple[ForeignObject, ...], grouped: bool
) -> Question:
    draft, template, shown = item.draft, item.draft.template, facts[item.draft.video]
    start, end = draft.window
    parameters: dict[str, object] = {}
    if template.format == "time":
        parameters["threshold_seconds"] = time_tolerance_s(end - start)
    if template.format == "fo_class" and objects != FOREIGN_OBJECTS:
        parameters["valid_names"] = [kind.name for kind in objects]
    strata: dict[str, str | float] = {name: draft.facts[name] for name in DIALS if name in draft.facts}
    strata |= {"track": draft.track.value, "generation": GENERATION, "center": shown.center}
    strata |= {"patient": shown.patient} if grouped else {}
    strata |= {"phase": draft.phase} if draft.phase else {}
    strata |= {"instances": "unverified"} if shown.proposed else {}
    strata |= {"wording": "held out" if item.reworded else "usual"}
    text = draft.held_out if item.reworded else draft.text
    return Question(
        Request(draft.case, draft.video, start, end, shown.procedure_type, text),
        Reference(
            draft.case,
            template.capability,
            template.format,
            draft.answer,
            parameters,
            template.secondaries,
            item.ood,
            template.clinical,
            strata,
        ),
        item.split,
        draft,
    )


# --- promises ------------------------------------------------------------------------------------


def broken_promises(
    questions: Sequence[Question],
    videos: Sequence[VideoFacts],
    splits: Splits,
    options: BenchmarkOptions,
    *,
    objects: Sequence[ForeignObject] = FOREIGN_OBJECTS,
) -> list[str]:
    """Every promise of the data card that the finished set does not keep; empty when all are kept."""
    problems = leaks(videos, splits)
    names = tuple(kind.name for kind in objects)
    cases: Counter[str] = Counter()
    unfit: list[str] = []
    groups: dict[tuple[str, str, str], list[Draft]] = {}
    for question in questions:
        cases[question.request.case] += 1
        unfit += _question_problems(question, names)
        groups.setdefault((question.split, question.track, question.draft.template.name), []).append(question.draft)
    problems += [f"question {case} appears more than once" for case, count in cases.items() if count > 1]
    problems += unfit
    for (split, track, name), group in groups.items():
        answers = Counter(draft.answer_group for draft in group)
        where, most = f"{split}/{track}/{name}", answers.most_common(1)[0][1]
        if len(answers) == 1:
            problems.append(f"{where} has one possible answer")
        if most > max(1, options.most_common_share * len(group)):
            problems.append(f"{where}: one answer makes up {most} of {len(group)} questions")
        problems += _given_away(where, group, options.most_common_share)
        if split == "train" and name in options.ood_templates:
            problems.append(f"{where} is held out, but asked in training")
    doubles = near_duplicates(draft for group in groups.values() for draft in group)
    if doubles > options.duplicate_share * len(questions):
        problems.append(f"{doubles} of {len(questions)} questions are near-duplicates")
    return problems


def _given_away(where: str, group: Sequence[Draft], share: float) -> Iterable[str]:
    """Wordings that are asked more than once and have one answer too often."""
    wordings: dict[tuple[str, ...], Counter[str]] = {}
    for draft in group:
        wordings.setdefault(draft.stem, Counter())[draft.answer_group] += 1
    for stem, answers in wordings.items():
        answer, most = answers.most_common(1)[0]
        if most > max(1, share * answers.total()):
            yield f"{where}: the wording {' '.join(stem[1:])!r} has {answer!r} {most} of {answers.total()} times"


def _question_problems(question: Question, class_names: tuple[str, ...]) -> Iterable[str]:
    reference, case = question.reference, question.request.case
    try:
        kind = build_format(reference.format, reference.parameters, class_names=class_names)
    except SurgvalidError as error:
        return [f"question {case}: {error}"]
    problems = [f"question {case}: {why.message}"] if (why := kind.why(reference.answer)) else []
    if question.split == "train" and reference.ood:
        problems.append(f"question {case} is out of distribution, but for training")
    return problems
