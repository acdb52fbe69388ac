"""Method descriptions: honest ones get in, and nothing that climbs out, explodes or acts."""

from __future__ import annotations

import base64
import io
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import InputInvalid
from surgvalid.schema.archives import ArchiveLimits
from surgvalid.submissions.description import LIMITS, Document, read_description
from surgvalid.submissions.starter import plain_png

PDF = b"%PDF-1.7\n1 0 obj << /Type /Catalog /OpenAction [3 0 R /Fit] >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
PNG = plain_png(2, 2, (1, 2, 3))


def pdf(inside: bytes) -> bytes:
    return PDF.replace(b"endobj", b"endobj\n2 0 obj " + inside + b" endobj", 1)


def packed(data: bytes) -> bytes:
    body = zlib.compress(data)
    return b"<< /Type /ObjStm /Length %d >> stream\n" % len(body) + body + b"\nendstream"


def zipped(path: Path, members: Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def refused(path: Path, limits: ArchiveLimits = LIMITS) -> str:
    with pytest.raises(InputInvalid) as error:
        read_description(path, limits)
    return str(error.value)


def single(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def test_a_document_or_an_archive_of_documents_is_read(tmp_path: Path) -> None:
    assert read_description(single(tmp_path, "method.pdf", PDF)) == (Document("method.pdf", PDF),)
    members = [("paper/method.pdf", PDF), ("figure.png", PNG), ("notes.md", "# Méthode\n\n2 < 3, one = 1".encode())]
    found = read_description(zipped(tmp_path / "all.zip", members))
    assert [(one.name, one.data) for one in found] == members


@pytest.mark.parametrize("name", ["../x.md", "/etc/x.md", "a/../../x.md", "..\\x.md", "C:x.md", "\\x.md"])
def test_17_a_member_that_climbs_out_is_refused(name: str, tmp_path: Path) -> None:
    assert "points outside" in refused(zipped(tmp_path / "d.zip", [(name, b"text")]))


def test_17_a_link_is_refused(tmp_path: Path) -> None:
    member = zipfile.ZipInfo("notes.md")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "is a link" in refused(zipped(tmp_path / "d.zip", [(member, b"/etc/passwd")]))


def test_17_bombs_are_refused_by_ratio_size_and_number_without_unpacking(tmp_path: Path) -> None:
    assert "claims to unpack" in refused(zipped(tmp_path / "a.zip", [("a.txt", bytes(50 << 20))]))
    few = ArchiveLimits(members=3, unpacked_bytes=1000)
    assert "unpacks to 2,000 bytes" in refused(zipped(tmp_path / "b.zip", [("a.txt", b"x" * 2000)]), few)
    many = zipped(tmp_path / "c.zip", [(f"{n}.txt", b"x") for n in range(4)])
    assert "4 members, more than 3" in refused(many, ArchiveLimits(members=3))
    large = single(tmp_path, "d.txt", b"x" * 2000)
    assert "it has 2,000 bytes" in refused(large, few)


def test_17_an_archive_within_is_refused(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.md", "text")
    assert "of no kind that is taken" in refused(zipped(tmp_path / "d.zip", [("inner.zip", inner.getvalue())]))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("page.html", b"<html><script>alert(1)</script></html>"),
        ("figure.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("macro.docm", b"PK"), ("run.sh", b"#!/bin/sh"), ("noending", b"text"), ("method.pdf.exe", b"MZ"),
    ],
)  # fmt: skip
def test_17_kinds_that_run_programs_are_refused(name: str, data: bytes, tmp_path: Path) -> None:
    assert "of no kind that is taken" in refused(zipped(tmp_path / "d.zip", [(name, data)]))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("figure.png", b"<svg onload='alert(1)'/>"), ("figure.jpg", PNG), ("method.pdf", b"<html></html>"),
        ("method.pdf", b"\n\n%PDF-1.7"),
    ],
)  # fmt: skip
def test_17_another_kind_under_an_honest_name_is_refused(name: str, data: bytes, tmp_path: Path) -> None:
    assert "not what its name says" in refused(single(tmp_path, name, data))


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "<IMG src=x onerror = alert(1)>", "[x](javascript:alert(1))", "< iframe>"]
)
def test_17_markdown_that_acts_is_refused(text: str, tmp_path: Path) -> None:
    assert "HTML that acts" in refused(single(tmp_path, "notes.md", f"# Method\n{text}".encode()))


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript&#58;alert(1))", "[x](java&#x09;script:alert(1))", "[x](<java\tscript:alert(1)>)",
        "[x](javascript&amp;#58;alert(1))", "![x](data:image/svg+xml;base64,AAAA)", "[x]( data:text/html,hi)",
        "<meta http-equiv=refresh content='0;url=//evil'>", "<form action=//evil><input></form>",
        "<style>*{background:url(//evil)}</style>", "<b>bold</b>", "[a]: vbscript:x", "[a]: file:///etc/passwd",
        "<img\nsrc=//evil>", "<a\u0020href=//evil", "[x](ja\u200bvascript:alert(1))", "<!--x-->", "[x](blob:y)",
    ],
)  # fmt: skip
def test_17_markdown_that_acts_by_another_spelling_is_refused(text: str, tmp_path: Path) -> None:
    assert "that acts" in refused(single(tmp_path, "notes.md", f"# Method\n{text}".encode()))


@pytest.mark.parametrize(
    "text",
    [
        "2 < 3 and x <y", "[paper](https://doi.org/10.1/x)", "<https://example.org>", "<me@example.org>",
        "[^1]: Note: as above", "a &lt; b", "[here](#section) and [there](figures/a.png)", "ratio 1:2, time 12:30",
        "| a | b |\n|---|---|", "mail [us](mailto:me@example.org)",
    ],
)  # fmt: skip
def test_17_plain_markdown_is_taken(text: str, tmp_path: Path) -> None:
    assert read_description(single(tmp_path, "notes.md", text.encode()))


def object_stream(data: bytes, filters: bytes, extra: bytes = b"") -> bytes:
    return b"<< /N 1 /First 4 /Filter " + filters + extra + b" >> stream\n" + data + b"\nendstream"


ACTION = b"<< /S /JavaScript /JS (app.alert(1)) >>"
PREDICTED = zlib.compress(b"".join(b"\x02" + bytes(row) for row in [ACTION[:10], bytes(10), bytes(10)]))


@pytest.mark.parametrize(
    "inside",
    [
        object_stream(ACTION.hex().encode() + b">", b"/ASCIIHexDecode"),
        object_stream(base64.a85encode(ACTION) + b"~>", b"/ASCII85Decode"),
        object_stream(zlib.compress(ACTION).hex().encode() + b">", b"[/ASCIIHexDecode /FlateDecode]"),
        object_stream(base64.a85encode(zlib.compress(ACTION)) + b"~>", b"[ /A85 /Fl ]"),
        object_stream(PREDICTED, b"/FlateDecode", b" /DecodeParms << /Predictor 12 /Columns 10 >>"),
        object_stream(ACTION.hex().encode() + b">", b"/ASCII#48exDecode"),
        object_stream(zlib.compress(ACTION), b"7 0 R"),
        object_stream(b"\x80\x0b", b"/LZWDecode"),
        object_stream(zlib.compress(ACTION + b"endstream"), b"/FlateDecode"),
        b"<< /Title (never closed \\) 9 0 obj << /N 1 /First 4 /Filter /ASCIIHexDecode >> stream\n"
        + ACTION.hex().encode()
        + b">",
        b"<< /N 1 % 1 0 obj <<\n /X (2 0 obj << ) /First 4 /Filter /LZWDecode >> stream\n\x80\x0b\nendstream",
        b"(stream\n) endobj 3 %x\n0 obj " + object_stream(zlib.compress(ACTION), b"/FlateDecode"),
        b"<< /Filter /ASCIIHexDecode >> stream\n" + ACTION.hex().encode() + b">\nendstream",
    ],
)
def test_17_an_action_packed_in_any_way_is_refused(inside: bytes, tmp_path: Path) -> None:
    text = refused(single(tmp_path, "method.pdf", pdf(inside)))
    assert "acts when it is opened" in text or "its objects" in text


def test_17_objects_packed_as_programs_do_are_taken(tmp_path: Path) -> None:
    usual = object_stream(zlib.compress(b"<< /Type /Font /BaseFont /Helvetica >>"), b"/FlateDecode")
    assert read_description(single(tmp_path, "method.pdf", pdf(usual)))


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe"])
def test_17_text_that_is_no_text_is_refused(data: bytes, tmp_path: Path) -> None:
    assert "text" in refused(single(tmp_path, "notes.txt", data))


@pytest.mark.parametrize(
    "inside",
    [
        b"<< /S /JavaScript /JS (app.alert(1)) >>",
        b"<< /S /J#61v#61Script /JS (app.alert(1)) >>",
        b"<< /S /Launch /F (cmd.exe) >>",
        b"<< /Type /EmbeddedFile >>",
        b"<< /S /GoToR /F (\\\\\\\\host\\\\share) >>",
        b"<</XFA 5 0 R>>",
        packed(b"<< /S /JavaScript /JS (app.alert(1)) >>"),
    ],
)
def test_17_a_pdf_that_acts_is_refused(inside: bytes, tmp_path: Path) -> None:
    assert "acts when it is opened" in refused(single(tmp_path, "method.pdf", pdf(inside)))


def test_17_a_pdf_that_explodes_or_is_encrypted_is_refused(tmp_path: Path) -> None:
    bomb = pdf(packed(bytes(201 << 20)))
    assert len(bomb) < 1 << 20
    assert "unpacks to more than" in refused(single(tmp_path, "method.pdf", bomb))
    assert "is encrypted" in refused(single(tmp_path, "method.pdf", PDF.replace(b"/Root", b"/Encrypt 9 0 R /Root")))


def test_17_every_problem_is_told_and_an_empty_archive_is_one(tmp_path: Path) -> None:
    said = refused(zipped(tmp_path / "d.zip", [("a.html", b""), ("b.md", b"<script>"), ("c.md", b"fine")]))
    assert "2 problems" in said
    assert "PK" not in refused(single(tmp_path, "cut.zip", b"PK\x03\x04" + bytes(30)))


@given(
    st.binary(max_size=200),
    st.sampled_from(["pdf", "md", "txt", "png", "zip"]),
    st.sampled_from([b"", b"PK\x03\x04", PDF]),
)
def test_no_bytes_escape_as_another_error(data: bytes, ending: str, start: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = single(Path(folder), f"x.{ending}", start + data)
        with suppress(InputInvalid):
            read_description(path)
