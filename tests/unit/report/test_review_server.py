"""The page for reviewers, without a browser: who sees what, what is kept, and what may not be said."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from data_set_files import put_png
from review_folder import PROCEDURE, QUESTIONS, review_folder
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.questions.sources import review_in
from surgvalid.questions.stages.expert_questions import read_form
from surgvalid.questions.stages.history import Action, History, ReviewState
from surgvalid.report.review.items import material_in
from surgvalid.report.review.log import ReviewLog, agreement_of, latest, work_lists
from surgvalid.report.review.server import ReviewServer, history_file
from surgvalid.schema.procedures.procedure_files import write_procedure


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return review_folder(tmp_path, film=False)


@pytest.fixture
def server(folder: Path) -> Iterator[ReviewServer]:
    log = ReviewLog(history_file(folder))
    served = ReviewServer(material_in(folder), log, raters=["anna", "ben"], adjudicator="carla", blind=False)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def got(server: ReviewServer, who: str, place: str = "work.json") -> Any:
    with urllib.request.urlopen(server.address_of(who) + place, timeout=20) as reply:
        return json.loads(reply.read())


def say(
    server: ReviewServer, who: str, item: str, action: str, *, headers: dict[str, str] | None = None, **more: str
) -> Any:
    body = json.dumps({"item": item, "action": action, **more}).encode()
    request = urllib.request.Request(server.address_of(who) + "verdict", data=body, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        text = refused.read()
        return json.loads(text) if text.startswith(b"{") else text.decode()


def test_a_rater_sees_all_questions_and_nothing_that_others_said(server: ReviewServer) -> None:
    assert say(server, "anna", "f1", "objected", note="the second sponge is hidden") == {"kept": True}
    assert say(server, "anna", "s1", "approved") == {"kept": True}
    seen = got(server, "ben")
    assert [one["item"] for one in seen["items"]] == [question[0] for question in QUESTIONS]
    assert [one["mine"] for one in seen["items"]] == [None, None, None]
    assert "second sponge" not in json.dumps(seen)
    assert [one["mine"] and one["mine"]["action"] for one in got(server, "anna")["items"]] == [
        "objected",
        "approved",
        None,
    ]


def test_a_still_image_is_shown_itself_and_has_no_film(tmp_path: Path) -> None:
    folder = review_folder(tmp_path / "made", film=False)
    for name in ("case 1.png", "other.png"):
        put_png(tmp_path / "images" / "p1" / name, [bytes(160)] * 120)
    served = ReviewServer(
        material_in(folder, video_files=[tmp_path / "images"]), ReviewLog(history_file(folder)), raters=["anna"]
    )
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        item = got(served, "anna")["items"][0]
        assert (item["film"], item["still"]) == (0, True)
        with urllib.request.urlopen(served.address_of("anna") + "frame/0/6.png", timeout=20) as reply:
            assert reply.headers["Content-Type"] == "image/png"
            assert reply.read() == (tmp_path / "images" / "p1" / "case 1.png").read_bytes()
        for place in ("frame/1/6.png", "frame/0/x.png"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(served.address_of("anna") + place, timeout=20)
    finally:
        served.shutdown()
        served.server_close()


def test_boxes_are_shares_of_the_frame_and_those_of_the_proof_are_marked(server: ReviewServer) -> None:
    boxes = got(server, "anna", "boxes/0")["6"]
    assert {box["instance"]: box["shown"] for box in boxes} == {"sponge_1": True, "clip_1": False}
    assert boxes[0]["box"] == [round(26 / 160, 4), 0.25, 0.25, 0.25]


def test_disputes_wait_until_everybody_rated_and_then_somebody_decides(server: ReviewServer, folder: Path) -> None:
    say(server, "anna", "s1", "objected", answer="2")
    assert got(server, "carla")["items"] == []
    say(server, "ben", "s1", "approved")
    work = got(server, "carla")
    assert [one["item"] for one in work["items"]] == ["s1"]
    assert [verdict["action"] for verdict in work["items"][0]["said"]] == ["objected", "approved"]
    assert "anna" not in json.dumps(work["items"])
    assert review_in(history_file(folder)).against("s1", "1") == "a reviewer objected"
    assert say(server, "carla", "s1", "upheld") == {"kept": True}
    assert got(server, "carla")["items"] == []
    review = review_in(history_file(folder))
    assert (review.states["s1"], review.against("s1", "1")) == (ReviewState.CONFIRMED, None)


def test_a_corrected_answer_withholds_the_question_until_the_annotations_give_it(
    server: ReviewServer, folder: Path
) -> None:
    for who in ("anna", "ben"):
        say(server, who, "s2", "objected", answer="00:00:13", note="it is behind the liver")
    assert say(server, "carla", "s2", "changed", answer="00:00:13") == {"kept": True}
    review = review_in(history_file(folder))
    assert "annotations do not give theirs" in str(review.against("s2", "00:00:14"))
    assert review.against("s2", "00:00:13") is None


def test_what_was_corrected_is_shown_corrected_and_later_verdicts_are_on_it(server: ReviewServer, folder: Path) -> None:
    for who in ("anna", "ben"):
        say(server, who, "s2", "objected", answer="00:00:13" if who == "anna" else "00:00:12")
    assert say(server, "carla", "s2", "changed", answer="00:00:13") == {"kept": True}
    assert [one["answer"] for one in got(server, "ben")["items"]] == ["yes", "1", "00:00:13"]
    assert "approve it instead" in say(server, "ben", "s2", "objected", answer="00:00:13")["problem"]
    assert say(server, "ben", "s2", "objected", answer="00:00:14", note="no") == {"kept": True}
    row = pl.read_csv(history_file(folder), infer_schema=False).row(-1, named=True)
    assert (row["before"], row["after"]) == ("00:00:13", "00:00:14")
    assert review_in(history_file(folder)).against("s2", "00:00:13") == "a reviewer objected"
    assert say(server, "ben", "s2", "approved") == {"kept": True}
    assert review_in(history_file(folder)).states["s2"] is ReviewState.CONFIRMED


def test_of_many_raters_two_see_every_item_and_all_pairs_as_many(tmp_path: Path) -> None:
    lists = work_lists([f"q{n}" for n in range(60)], ["anna", "ben", "carl", "dora"])
    assert set(Counter(lists.values()).values()) == {10}
    assert work_lists(["q1", "q2"], ["anna", "ben"]) == dict.fromkeys(("q1", "q2"), ("anna", "ben"))
    assert work_lists(["q1"], ["anna"]) == {"q1": ("anna",)}
    folder = review_folder(tmp_path)
    people = ["anna", "ben", "carl"]
    served = ReviewServer(
        material_in(folder), ReviewLog(history_file(folder)), raters=people, adjudicator="dora", blind=False
    )
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        seen = {who: {one["item"] for one in got(served, who)["items"]} for who in people}
        assert sorted(item for items in seen.values() for item in items) == sorted([q[0] for q in QUESTIONS] * 2)
        one, other = (who for who in people if "s1" in seen[who])
        say(served, one, "s1", "objected", note="no")
        assert got(served, "dora")["items"] == []
        say(served, other, "s1", "approved")
        work = got(served, "dora")
        assert [item["item"] for item in work["items"]] == ["s1"]
        assert len(work["items"][0]["said"]) == 2
        assert work["progress"]["rated"][one] == [1, len(seen[one])]
    finally:
        served.shutdown()
        served.server_close()


@pytest.mark.parametrize(
    ("who", "item", "action", "more", "problem"),
    [
        ("anna", "f1", "changed", {"answer": "no"}, "cannot say 'changed'"),
        ("carla", "f1", "approved", {}, "cannot say 'approved'"),
        ("carla", "f1", "upheld", {}, "is not in dispute"),
        ("anna", "f9", "approved", {}, "cannot say"),
        ("anna", "f1", "objected", {}, "needs a reason"),
        ("anna", "s1", "objected", {"answer": "many"}, "is no answer of the format 'number'"),
        ("anna", "s1", "objected", {"answer": "1"}, "approve it instead"),
    ],
)
def test_what_cannot_be_said_is_refused_with_the_reason(
    server: ReviewServer, folder: Path, who: str, item: str, action: str, more: dict[str, str], problem: str
) -> None:
    before = history_file(folder).read_text()
    assert problem in say(server, who, item, action, **more)["problem"]
    assert history_file(folder).read_text() == before


def test_a_question_of_ones_own_at_marked_moments_goes_into_the_form_of_experts(
    server: ReviewServer, folder: Path
) -> None:
    def write(who: str, **told: Any) -> Any:
        body = json.dumps({"item": "s1", "answer_format": "number", "primary_capability": "object_aggregation", **told})
        request = urllib.request.Request(server.address_of(who) + "question", data=body.encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as refused:
            return json.loads(refused.read())

    refused = write("anna", question="How many clips?", answer="many", moments=[5, 99])["problem"]
    assert "'many' is no legal number" in refused
    assert "leaves the video" in refused
    assert "no 'q9' to write" in write("anna", item="q9", question="x", answer="1")["problem"]
    assert not (folder / "written.csv").exists()
    assert write("anna", question='How many "clips", in all?', answer="1", moments=[8, 5]) == {"written": "written-1"}
    assert write("carla", question="How many now?", answer="2", moments=[7])["written"] == "written-2"
    assert write("ben", question="How many at all?", answer="1")["written"] == "written-3"
    read = read_form(folder / "written.csv", durations_s={"case 1": 20})
    told = [(one.track, one.request.start_s, one.request.end_s, one.author, one.reference.answer) for one in read]
    assert told == [("segment", 5, 8, "anna", "1"), ("frame", 7, 7, "carla", "2"), ("segment", 0, 19, "ben", "1")]
    assert read[0].request.question == 'How many "clips", in all?'


def test_nobody_without_an_address_is_answered_and_no_other_page_may_write(server: ReviewServer) -> None:
    assert say(server, "anna", "f1", "approved", headers={"Origin": "http://evil.example"}) == "not from there"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/guessed/work.json", timeout=20)


def test_lines_are_only_added_and_what_others_add_is_seen(server: ReviewServer, folder: Path) -> None:
    path = history_file(folder)
    before = path.read_text()
    say(server, "anna", "f1", "objected", note='a "quoted", note\nof two lines')
    assert path.read_text().startswith(before)
    assert pl.read_csv(path)["note"].drop_nulls().to_list()[-1] == 'a "quoted", note of two lines'
    with open(path, "a", encoding="utf-8") as handle:
        handle.write("f1,approved,ben,2999-01-01,,,,\n")
    assert got(server, "ben")["items"][0]["mine"]["action"] == "approved"
    say(server, "ben", "s1", "approved")
    assert path.read_text().splitlines()[-1].split(",")[3] == "2999-01-01"


def test_agreement_has_intervals_and_says_why_where_there_is_none(server: ReviewServer) -> None:
    assert "no item has the verdicts of two raters" in got(server, "carla")["remark"]
    for who in ("anna", "ben"):
        for item, action in (("f1", "approved"), ("s1", "objected")):
            say(server, who, item, action, **({"note": "no"} if action == "objected" else {}))
    work = got(server, "carla")
    assert work["progress"]["rated"] == {"anna": [2, 3], "ben": [2, 3]}
    assert {row["coefficient"] for row in work["agreement"]} or work["remark"]


def test_proposed_instances_can_be_reviewed_too(tmp_path: Path) -> None:
    (tmp_path / "procedures").mkdir()
    write_procedure(PROCEDURE, tmp_path / "procedures" / "0001.json")
    (tmp_path / "history.csv").write_text("item,action,who,at\ncase 1/clip_1,proposed,linker,2026-01-01\n")
    [item] = material_in(tmp_path).items
    assert (item.name, item.moments) == ("case 1/clip_1", (5, 8))


def test_a_folder_without_anything_to_review_and_people_without_names_are_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileUnreadable, match="neither questions with proofs"):
        material_in(tmp_path / "empty")
    for raters in ([], ["anna", "anna"], [" "]):
        with pytest.raises(Misuse, match="a name of their own"):
            ReviewServer(material_in(folder), ReviewLog(tmp_path / "h.csv"), raters=raters)


@pytest.fixture
def blind(folder: Path) -> Iterator[ReviewServer]:
    served = ReviewServer(material_in(folder), ReviewLog(history_file(folder)), raters=["anna", "ben"])
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def answer(server: ReviewServer, who: str, item: str, text: str) -> Any:
    body = json.dumps({"item": item, "answer": text}).encode()
    request = urllib.request.Request(server.address_of(who) + "answer", data=body)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as refused:
        return json.loads(refused.read())


def test_the_reference_and_what_shows_it_come_after_the_answer(blind: ReviewServer, folder: Path) -> None:
    first = got(blind, "anna")["items"][1]
    assert (first["answer"], first["note"], first["moments"], first["hidden"]) == (None, "", [0, 19], True)
    assert got(blind, "anna", "boxes/1") == {}
    assert "answer the question first" in say(blind, "anna", "s1", "approved")["problem"]
    assert "is no answer" in answer(blind, "anna", "s1", "many")["problem"]
    shown = answer(blind, "anna", "s1", "3")
    assert (shown["answer"], shown["given"], shown["moments"]) == ("1", "3", [5, 8])
    assert answer(blind, "anna", "s1", "1")["given"] == "3"
    assert got(blind, "anna", "boxes/1")["5"]
    assert got(blind, "ben")["items"][1]["hidden"]
    assert say(blind, "anna", "s1", "approved") == {"kept": True}
    kept = pl.read_csv(history_file(folder), infer_schema=False).filter(pl.col("action") == "answered")
    assert kept.select("item", "who", "after").rows() == [("s1", "anna", "3")]


def test_a_verdict_is_taken_back_by_a_further_entry_and_a_question_withdrawn(
    server: ReviewServer, folder: Path
) -> None:
    say(server, "anna", "f1", "approved")
    assert say(server, "anna", "f1", "undone") == {"kept": True}
    assert got(server, "anna")["items"][0]["mine"] is None
    assert "no verdict" in say(server, "anna", "f1", "undone")["problem"]
    assert [row[1] for row in pl.read_csv(history_file(folder)).select("item", "action").rows()[3:]] == [
        "approved",
        "undone",
    ]
    assert say(server, "ben", "f1", "unsure") == {"kept": True}
    assert "needs a reason" in say(server, "ben", "s1", "withdrawn")["problem"]
    assert say(server, "ben", "s1", "withdrawn", note="patient can be recognised") == {"kept": True}
    assert review_in(history_file(folder)).against("s1", "1") == "a reviewer withdrew it"


def test_agreement_says_why_kappa_is_low_where_nearly_all_verdicts_are_the_same() -> None:
    history, draw = History(), np.random.default_rng(1)
    items = {f"q{number}": f"v{number % 10}" for number in range(100)}
    for item in items:
        entries = History().add(item, Action.PROPOSED, "surgvalid", at="1").entries
        for who in ("anna", "ben"):
            wrong = draw.random() < 0.08
            entries = History(entries).add(item, Action.OBJECTED if wrong else Action.APPROVED, who, at="1").entries
        history = History((*history.entries, *entries))
    rows, remark = agreement_of(history, items)
    known = {row["coefficient"]: row for row in rows}
    votes = latest(history)
    same = np.mean([by["anna"].action == by["ben"].action for by in votes.values()])
    share = np.mean([entry.action == "approved" for by in votes.values() for entry in by.values()])
    expected = (same - 2 * share * (1 - share)) / (1 - 2 * share * (1 - share))
    assert known["Gwet's AC1"]["value"] == pytest.approx(expected)
    assert known["Gwet's AC1"]["low"] < expected < known["Gwet's AC1"]["high"]
    assert "of the verdicts are the same" in remark


def test_whoever_adjudicates_sees_how_often_people_are_right_by_template_and_rater(folder: Path) -> None:
    served = ReviewServer(
        material_in(folder), ReviewLog(history_file(folder)), raters=["anna", "ben"], adjudicator="carla"
    )
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        assert got(served, "carla")["people"] == []
        said = {"anna": ("yes", "1", "00:00:14"), "ben": ("no", "1", "00:00:13")}
        for who, texts in said.items():
            for item, text in zip(("f1", "s1", "s2"), texts, strict=True):
                answer(served, who, item, text)
        work = got(served, "carla")
        assert "anna" not in json.dumps(work["people"])
        shares = {(row["level"], row["name"]): (row["accuracy"], row["questions"]) for row in work["people"]}
        assert shares["rater", "Rater 1"] == (1, 3)
        assert shares["rater", "Rater 2"] == (pytest.approx(2 / 3), 3)
        assert shares["overall", ""] == shares["template", "t"] == (pytest.approx(5 / 6), 3)
        say(served, "anna", "f1", "objected", note="two sponges")
        people = {(row["level"], row["name"]): row for row in got(served, "carla")["people"]}
        assert (people["overall", ""]["accuracy"], people["overall", ""]["questions"]) == (1, 2)
    finally:
        served.shutdown()
        served.server_close()


def test_one_of_several_must_be_chosen_and_matching_is_written(tmp_path: Path) -> None:
    folder = review_folder(tmp_path, film=False)
    place = folder / "test" / "segment"
    proofs = [json.loads(line) for line in (place / "proofs.jsonl").read_text().splitlines()]
    references = json.loads((place / "references.json").read_text())
    for number, (name, right) in enumerate([("multiple_choice", "liver"), ("matching", "Clip: first")]):
        more = {"format_kwargs": {"pattern": "Clip: (first|second)"}} if name == "matching" else {}
        references[number] |= {"format": name, "answer": right, **more}
        proofs[number]["slots"] = {"options": ["liver", "colon"] if not number else ["first", "second"]}
    (place / "references.json").write_text(json.dumps(references))
    (place / "proofs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in proofs))
    served = ReviewServer(material_in(folder), ReviewLog(history_file(folder)), raters=["anna"], adjudicator="carla")
    threading.Thread(target=served.serve_forever, daemon=True).start()
    try:
        assert [one["options"] for one in got(served, "anna")["items"]] == [["liver", "colon"], [], []]
        assert "is none of liver; colon" in answer(served, "anna", "f1", "spleen")["problem"]
        assert answer(served, "anna", "f1", "colon")["given"] == "colon"
        assert answer(served, "anna", "s1", "Clip: second")["given"] == "Clip: second"
        say(served, "anna", "f1", "objected", note="it is neither")
        assert "is none of" in say(served, "carla", "f1", "changed", answer="spleen")["problem"]
    finally:
        served.shutdown()
        served.server_close()
