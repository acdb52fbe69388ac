"""A frozen set of questions changes by what people say of it, and in nothing else."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from procedures import random_procedure
from surgvalid import make_questions, make_report, score, study
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, Misuse, TableInvalid
from surgvalid.questions.release import digest_of, freeze, release_changes
from surgvalid.questions.stages.history import Action, History, ReviewState
from surgvalid.schema.procedures.procedure_files import write_procedure
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.scoring.run import releases_of


@pytest.fixture(scope="module")
def annotations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annotations")
    for seed in range(8):
        write_procedure(random_procedure(seed, most_objects=10, longest_s=600), folder / f"v{seed}.json")
    return folder


@pytest.fixture(scope="module")
def draft(annotations: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("draft")
    (folder / "LICENSE").write_text("CC BY-NC 4.0")
    return make_questions(annotations, per_video=25).to_dir(folder)


def elements(path: Path) -> list[str]:
    """The rows of a JSON array or of JSON lines, as they lie in the file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return text.splitlines()
    return text.removeprefix("[\n  ").removesuffix("\n]").split(",\n  {")


def stands(folder: Path, name: str) -> dict[str, str]:
    """By question, its row as it lies in the file, in order."""
    rows = [row for path in sorted(folder.glob(f"*/*/{name}")) for row in elements(path)]
    return {json.loads(row if row.startswith("{") else "{" + row)["qID"]: row.removeprefix("{") for row in rows}


def history(folder: Path, *said: tuple[str, Action, str, str]) -> Path:
    log = History()
    for case in stands(folder, "requests.json"):
        log = History((*log.entries, *History().add(case, Action.PROPOSED, "surgvalid", at="2026-01-01").entries))
    for case, action, who, answer in said:
        more = {"field": "answer", "before": "old", "after": answer} if answer else {}
        log = log.add(case, action, who, at="2026-01-02", note="the clip is hidden", **more)
    path = folder.parent / f"{folder.name}-history.csv"
    log.table().write_csv(path)
    return path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(build_app(), ["data", "questions", *map(str, words)])


def test_five_objections_take_five_questions_and_leave_every_other_byte(draft: Path, tmp_path: Path) -> None:
    cases = list(stands(draft, "requests.json"))[3::17][:5]
    log = history(draft, *((case, Action.OBJECTED, "anna", "") for case in cases))
    done = run("--keep", draft, "--history", log, "--out", tmp_path / "v1")
    assert done.exit_code == 0, done.exception
    for name in ("requests.json", "references.json", "proofs.jsonl"):
        before, after = stands(draft, name), stands(tmp_path / "v1", name)
        assert list(after.items()) == [(case, row) for case, row in before.items() if case not in cases]
    changes = list(csv.DictReader((tmp_path / "v1" / "changes.csv").read_text().splitlines()))
    assert sorted(row["qID"] for row in changes) == sorted(cases)
    assert {(row["change"], row["by"], row["reason"]) for row in changes} == {("removed", "anna", "the clip is hidden")}
    release = json.loads((tmp_path / "v1" / "release.json").read_text())
    assert release["version"] == 1
    assert release["questions"] == len(stands(draft, "requests.json")) - 5
    assert release["digest"] == digest_of(tmp_path / "v1")
    assert release["parent"]["digest"] == digest_of(draft)
    assert (tmp_path / "v1" / "LICENSE").read_text() == "CC BY-NC 4.0"
    assert release_changes(draft, tmp_path / "v1").sort("qID").to_dicts() == sorted(changes, key=lambda row: row["qID"])
    for folder in (draft, tmp_path / "v1"):
        place = next(folder.glob("*/frame/requests.json")).parent
        assert load_questions(place / "requests.json", place / "references.json").references


def test_scores_name_the_release_and_versions_are_compared_question_by_question(draft: Path, tmp_path: Path) -> None:
    cases = list(stands(draft, "requests.json"))[:2]
    log = history(draft, *((case, Action.OBJECTED, "anna", "") for case in cases))
    freeze(draft, history=log).to_dir(tmp_path / "v1")
    version = json.loads((tmp_path / "v1" / "release.json").read_text())
    named = releases_of([str(next((tmp_path / "v1").glob("*/*/references.json")))])
    assert named == [f"version 1, {version['digest'][:16]}"]
    assert releases_of([str(next(draft.glob("*/*/references.json")))]) == []
    shown = CliRunner().invoke(build_app(), ["score", "diff", str(draft), str(tmp_path / "v1"), "--json"])
    assert shown.exit_code == 1, shown.exception
    assert [row["qID"] for row in json.loads(shown.stdout)["changes"]] == cases


def test_models_scored_on_different_releases_are_not_compared(draft: Path, tmp_path: Path) -> None:
    cases = [row["qID"] for row in json.loads((draft / "test" / "frame" / "requests.json").read_text())]
    freeze(draft, history=history(draft)).to_dir(tmp_path / "v1")
    objections = [(case, Action.OBJECTED, "ben", "") for case in cases[:5]]
    freeze(tmp_path / "v1", history=history(draft, *objections)).to_dir(tmp_path / "v2")
    (tmp_path / "yes.json").write_text(json.dumps([{"qID": case, "content": "yes", "latency": 1} for case in cases]))
    for model, version in (("old", "v1"), ("new", "v2"), ("again", "v2")):
        place = tmp_path / version / "test" / "frame"
        files = (place / "requests.json", place / "references.json", tmp_path / "yes.json")
        score(*files, model=model).to_dir(tmp_path / model / "scores")
    tables = {name: tmp_path / name / "scores" / "scores.parquet" for name in ("old", "new", "again")}
    with pytest.raises(TableInvalid, match=r"different releases \(new on version 2, \w+; old on version 1, \w+\)"):
        study([tables["old"], tables["new"]], metric="correct", missing="worst")
    assert study([tables["again"], tables["new"]], metric="correct", missing="worst").title
    (tmp_path / "again").rename(tmp_path / "new" / "again")
    assert "different releases" not in make_report(tmp_path / "new").html()
    (tmp_path / "old").rename(tmp_path / "new" / "old")
    assert "the models were scored on different releases" in make_report(tmp_path / "new").html()


def test_replacements_are_of_the_same_kind_new_and_marked_and_never_a_retired_one(
    annotations: Path, draft: Path, tmp_path: Path
) -> None:
    proofs = {case: json.loads("{" + row) for case, row in stands(draft, "proofs.jsonl").items()}
    cases = list(proofs)[::20]
    log = history(draft, *((case, Action.WITHDRAWN, "ben", "") for case in cases))
    words = ("--keep", draft, "--history", log, "--with", "replacements", "--per-video", "40")
    assert run(annotations, *words, "--out", tmp_path / "v1").exit_code == 0
    changes = pl.read_csv(tmp_path / "v1" / "changes.csv")
    new = changes.filter(pl.col("change") == "replaced")["qID"].to_list()
    assert 0 < len(new) <= len(cases)
    after = {case: json.loads("{" + row) for case, row in stands(tmp_path / "v1", "proofs.jsonl").items()}
    lost, come = (
        sorted(listed[case]["template"] for case in which) for listed, which in ((proofs, cases), (after, new))
    )
    assert all(come.count(template) <= lost.count(template) for template in come)
    references = {case: json.loads("{" + row) for case, row in stands(tmp_path / "v1", "references.json").items()}
    place = next((tmp_path / "v1").glob(f"*/{'frame' if new[0][0] == 'f' else '*'}/references.json")).parent
    assert load_questions(place / "requests.json", place / "references.json").findings == ()
    assert all(references[case]["review"] == "unreviewed" for case in new)
    assert not set(new) & set(proofs)
    more = history(tmp_path / "v1", *((case, Action.WITHDRAWN, "ben", "") for case in new))
    again = ("--keep", tmp_path / "v1", "--history", more, "--with", "replacements", "--per-video", "40")
    assert run(annotations, *again, "--out", tmp_path / "v2").exit_code == 0
    assert not (set(new) | set(cases)) & set(stands(tmp_path / "v2", "requests.json"))
    retired = pl.read_csv(tmp_path / "v2" / "retired.csv", infer_schema=False)
    assert set(retired["qID"]) == set(new) | set(cases)
    assert set(retired["version"]) == {"1", "2"}
    assert set(retired["reason"]) == {"the clip is hidden"}


def test_only_what_enough_people_confirmed_stays_and_corrections_are_listed(draft: Path, tmp_path: Path) -> None:
    answers = {case: json.loads("{" + row) for case, row in stands(draft, "references.json").items()}
    binary = [case for case, row in answers.items() if row["format"] == "binary"][:3]
    kept = [*binary, *[case for case in answers if case not in binary][:10]]
    other = {"yes": "no", "no": "yes"}[answers[binary[0]]["answer"]]
    said = [(case, Action.APPROVED, who, "") for case in kept[1:] for who in ("anna", "ben")]
    said += [(binary[0], Action.OBJECTED, "anna", ""), (binary[0], Action.CHANGED, "dora", other)]
    said += [(binary[0], Action.APPROVED, who, "") for who in ("anna", "ben")]
    log = history(draft, *said)
    made = freeze(draft, history=log, confirmed=2)
    left = {row["qID"]: row["answer"] for part in made.parts.values() for row in part.references}
    assert set(left) == set(kept)
    assert left[binary[0]] == other
    assert dict(made.table.select("qID", "change").rows())[binary[0]] == "corrected"
    with pytest.raises(Misuse, match="no question is left"):
        freeze(draft, history=log, confirmed=5)


def test_who_approved_what_was_wrong_has_not_confirmed_what_is_right_now(draft: Path) -> None:
    answers = {case: json.loads("{" + row) for case, row in stands(draft, "references.json").items()}
    one, two, three, four = [case for case, row in answers.items() if row["format"] == "binary"][:4]
    other = {case: {"yes": "no", "no": "yes"}[answers[case]["answer"]] for case in (one, two)}
    said = [(one, Action.APPROVED, "anna", ""), (one, Action.OBJECTED, "ben", "")]
    said += [(one, Action.CHANGED, "carla", other[one])]
    said += [(two, Action.OBJECTED, who, other[two]) for who in ("anna", "ben")]
    said += [(two, Action.CHANGED, "carla", other[two])]
    said += [(three, Action.APPROVED, "anna", ""), (three, Action.OBJECTED, "anna", "")]
    said += [(three, Action.UPHELD, "carla", ""), (four, Action.APPROVED, "anna", "")]
    made = freeze(draft, history=history(draft, *said), confirmed=2)
    left = {row["qID"]: row["answer"] for part in made.parts.values() for row in part.references}
    assert left == {two: other[two]}
    reasons = {row["qID"]: (row["by"], row["reason"]) for row in made.table.to_dicts()}
    assert reasons[one] == reasons[three]
    assert reasons[three] == ("program", "confirmed by 1 of 2 people (carla)")
    assert reasons[four] == ("program", "confirmed by 1 of 2 people (anna)")
    assert len(freeze(draft, history=history(draft, *said), confirmed=3).table.filter(qID=two, change="corrected")) == 1


def test_the_history_and_the_card_of_a_version_are_its_own(draft: Path, tmp_path: Path) -> None:
    cases = list(stands(draft, "requests.json"))
    history(draft, (cases[0], Action.OBJECTED, "anna", "")).rename(draft / "history.csv")
    try:
        freeze(draft).to_dir(tmp_path / "v1")
        log = history(draft, *((case, Action.OBJECTED, "ben", "") for case in cases[:30]))
        freeze(tmp_path / "v1", history=log).to_dir(tmp_path / "v2")
    finally:
        (draft / "history.csv").unlink()
    assert pl.read_csv(tmp_path / "v1" / "changes.csv")["qID"].to_list() == cases[:1]
    assert pl.read_csv(tmp_path / "v2" / "history.csv", infer_schema=False).equals(pl.read_csv(log, infer_schema=False))
    first, card = (json.loads((folder / "data_card.json").read_text()) for folder in (draft, tmp_path / "v2"))
    assert card["questions"] == len(cases) - 30 == sum(row["questions"] for row in card["templates"])
    assert sum(row["questions"] for row in card["videos"]) == len(cases) - 30
    for kept in ("withheld", "left_out", "options"):
        assert card[kept] == first[kept]
    text = (tmp_path / "v2" / "data_card.md").read_text()
    assert f"{len(cases) - 30} questions from" in text
    assert "Version 2, made of" in text


def test_the_card_of_an_unchanged_version_says_what_the_first_one_said(draft: Path, tmp_path: Path) -> None:
    freeze(draft).to_dir(tmp_path / "v1")
    first, card = (json.loads((folder / "data_card.json").read_text()) for folder in (draft, tmp_path / "v1"))
    order = lambda rows: sorted(map(json.dumps, rows))  # noqa: E731
    for name in ("counts", "templates", "videos", "classes", "leaks"):
        assert order(card[name]) == order(first[name]), name
    assert card["floors"] == first["floors"]
    assert card["held_out_wordings"] == first["held_out_wordings"]


def test_a_public_release_has_no_references_but_their_hashes(draft: Path, tmp_path: Path) -> None:
    done = run("--keep", draft, "--without", "references", "--out", tmp_path / "public")
    assert done.exit_code == 0, done.exception
    assert not list((tmp_path / "public").glob("*/*/references.json"))
    hidden = json.loads((tmp_path / "public" / "release.json").read_text())["left_out"]
    assert all(len(digest) == 64 for digest in hidden.values())
    with pytest.raises(FileUnreadable, match="released without them"):
        freeze(tmp_path / "public")


def test_nothing_in_a_public_release_tells_a_reference(annotations: Path, draft: Path, tmp_path: Path) -> None:
    answers = {case: json.loads("{" + row) for case, row in stands(draft, "references.json").items()}
    times = [case for case, row in answers.items() if row["format"] == "time"][:3]
    said = [(times[0], Action.CHANGED, "carla", "00:01:01"), (times[1], Action.ANSWERED, "anna", "00:02:02")]
    said += [(times[2], Action.OBJECTED, "ben", "00:03:03"), (times[2], Action.CHANGED, "carla", "00:03:03")]
    freeze(draft, history=history(draft, *said)).to_dir(tmp_path / "v1")
    freeze(tmp_path / "v1", public=True).to_dir(tmp_path / "public")
    freeze(draft, history=history(draft, *said), public=True).to_dir(tmp_path / "at-once")
    for folder in (tmp_path / "public", tmp_path / "at-once"):
        texts = {path.name: path.read_text() for path in folder.rglob("*") if path.is_file()}
        assert not {"history.csv", "references.json", "proofs.jsonl", "questions.parquet"} & set(texts)
        telling = [name for name, text in texts.items() if re.search("00:01:01|00:02:02|00:03:03", text)]
        assert telling == []
    changes = pl.read_csv(tmp_path / "at-once" / "changes.csv", infer_schema=False)
    assert set(changes["change"]) == {"corrected"}
    for words in ((annotations, "--without", "references"), (annotations, "--min", "confirmed=2")):
        refused = run(*words, "--out", tmp_path / "made")
        assert isinstance(refused.exception, Misuse)
        assert "--keep" in str(refused.exception)
    both = ("--keep", draft, "--with", "replacements", "--without", "references")
    assert isinstance(run(annotations, *both, "--out", tmp_path / "made").exception, Misuse)
    assert not (tmp_path / "made").exists()


def test_a_correction_that_is_no_answer_of_the_question_is_refused_and_strange_items_are_told(draft: Path) -> None:
    answers = {case: json.loads("{" + row) for case, row in stands(draft, "references.json").items()}
    proofs = {case: json.loads("{" + row) for case, row in stands(draft, "proofs.jsonl").items()}
    yes_no = next(case for case, row in answers.items() if row["format"] == "binary")
    choice = next(case for case, row in answers.items() if row["format"] == "multiple_choice")
    said = [(yes_no, Action.CHANGED, "carla", "maybe"), (choice, Action.CHANGED, "carla", "banana")]
    with pytest.raises(TableInvalid) as refused:
        freeze(draft, history=history(draft, *said))
    assert [case in str(refused.value) for case in (yes_no, choice)] == [True, True]
    other = next(one for one in proofs[choice]["slots"]["options"] if one != answers[choice]["answer"])
    log = History((*History().add("q-of-others", Action.PROPOSED, "surgvalid", at="2026-01-01").entries,))
    assert freeze(draft, history=history(draft, (choice, Action.CHANGED, "carla", other))).table.height == 1
    told = [finding.text for finding in freeze(draft, history=log.table()).findings]
    assert any("1 of 1 items of the history are no questions" in text for text in told)


def test_a_frozen_file_that_was_edited_is_neither_scored_nor_frozen_again(draft: Path, tmp_path: Path) -> None:
    freeze(draft).to_dir(tmp_path / "v1")
    place = next((tmp_path / "v1").glob("*/frame/references.json")).parent
    (tmp_path / "v1" / "history.csv").write_text("item,action,who,at\n")
    asked = json.loads((place / "requests.json").read_text())
    said = [{"qID": row["qID"], "content": "yes", "latency": 1} for row in asked]
    (tmp_path / "yes.json").write_text(json.dumps(said))
    files = (place / "requests.json", place / "references.json", tmp_path / "yes.json")
    score(*files, model="yes")
    for name in ("references.json", "requests.json"):
        before = (place / name).read_text()
        (place / name).write_text(before.replace("00", "01", 1).replace('"yes"', '"no"', 1))
        with pytest.raises(FileUnreadable, match=f"{name} is not as it was frozen"):
            score(*files, model="yes")
        with pytest.raises(FileUnreadable, match=f"{name} is not as it was frozen"):
            freeze(tmp_path / "v1")
        (place / name).write_text(before)
    freeze(tmp_path / "v1")


def test_what_was_taken_back_does_not_count() -> None:
    log = History().add("q", Action.PROPOSED, "surgvalid", at="1").add("q", Action.WITHDRAWN, "anna", at="2")
    assert log.state("q") is ReviewState.WITHDRAWN
    assert log.add("q", Action.UNDONE, "ben", at="3").state("q") is ReviewState.WITHDRAWN
    assert log.add("q", Action.UNDONE, "anna", at="3").state("q") is ReviewState.PROPOSED
    assert log.add("q", Action.ANSWERED, "ben", at="3", field="answer", after="yes").state("q").value == "withdrawn"
