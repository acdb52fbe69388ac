"""A folder of questions with their videos or frames, in whichever layout it came.

Understood: `request.json` (or requests, also .jsonl, .csv, .parquet), references beside it, and media in
`frames/`, `plain/`, `overlayed/` (named by question) or `videos/` (named by video, as `plain/` and `overlayed/`
may be too), as folders, as `batch-frames.zip` or `batch-videos.zip`, or as archives within those. A question whose
media is missing, empty or not what its name says is found here, before anything runs: it must never end as a
silent wrong answer.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from surgvalid.asking.plan import AskedTask
from surgvalid.errors import FileUnreadable
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.video.batch_files import archive_name
from surgvalid.video.stored_images import StoredImages, images_in_archive

BY_QUESTION = ("frames", "plain", "overlayed")
"""Folders whose files are named after questions."""
BY_VIDEO = ("videos", "plain", "overlayed")
"""Folders whose files may be named after videos; a file of the question itself goes first."""
_KINDS = ("videos", *BY_QUESTION)
_PREFERRED = ("frames", "plain", "videos", "overlayed")
_ENDINGS = (".json", ".jsonl", ".csv", ".parquet")
_MAGIC: dict[str, tuple[tuple[int, bytes], ...]] = {
    ".png": ((0, b"\x89PNG\r\n\x1a\n"),),
    ".jpg": ((0, b"\xff\xd8\xff"),),
    ".jpeg": ((0, b"\xff\xd8\xff"),),
    ".mp4": ((4, b"ftyp"),),
    ".mov": ((4, b"ftyp"), (4, b"moov"), (4, b"mdat"), (4, b"wide")),
    ".mkv": ((0, b"\x1aE\xdf\xa3"),),
    ".webm": ((0, b"\x1aE\xdf\xa3"),),
    ".avi": ((0, b"RIFF"),),
}


@dataclass(frozen=True, slots=True)
class QuestionFolder:
    """Questions, where their references are, and the files that show what they are about."""

    requests: tuple[Request, ...]
    requests_file: Path
    references_file: Path | None
    definitions_file: Path | None
    media: dict[str, dict[str, Path]] = field(default_factory=dict)
    """By case, then by kind (`frames`, `plain`, `overlayed`, `videos`)."""
    problems: dict[str, str] = field(default_factory=dict)
    """By case: why it has no usable media."""
    notes: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()

    def tasks(self, *, clock: bool = False) -> list[AskedTask]:
        """One task per question. Where both are there, `clock` prefers the video with a burned-in clock."""
        return [AskedTask(r, self._best(r.case, clock), self.problems.get(r.case, "")) for r in self.requests]

    @property
    def has_only_frames(self) -> bool:
        """Whether every file is a single frame."""
        return bool(self.media) and all(set(kinds) == {"frames"} for kinds in self.media.values())

    def _best(self, case: str, clock: bool) -> Path | None:
        kinds = self.media.get(case, {})
        order = ("overlayed", *_PREFERRED) if clock else _PREFERRED
        return next((kinds[kind] for kind in order if kind in kinds), None)


def read_inputs(folder: Path, *, scratch: Path) -> QuestionFolder:
    """The questions of a folder with their media; archives are unpacked below `scratch`.

    Raises:
        FileUnreadable: There is no readable requests file, or an archive is broken.
        WrongFile: Requests or references are recognisably another file.
        QuestionsInvalid: The requests or references contradict themselves.
    """
    requests_file = _named(folder, ("request", "requests"))
    if requests_file is None:
        raise FileUnreadable(str(folder), ["no request.json (or requests.json, .jsonl, .csv, .parquet) in it"])
    references_file = _named(folder, ("reference", "references"))
    questions = load_questions(requests_file, () if references_file is None else references_file)
    requests = tuple(questions.requests.values())
    wanted = {name for request in requests for name in (request.case, request.video)}
    files, notes = _collect(folder, scratch, wanted)
    media, problems = _matched(requests, files)
    definitions = folder / "FO_definitions.json"
    return QuestionFolder(
        requests,
        requests_file,
        references_file,
        definitions if definitions.is_file() else None,
        media,
        problems,
        tuple(notes),
        tuple(questions.references.values()),
    )


def media_problem(path: Path) -> str | None:
    """Why the file cannot be what its ending says, or None. Looks at its first bytes only."""
    try:
        with open(path, "rb") as handle:
            start = handle.read(16)
    except OSError as error:
        return f"{path.name} cannot be read ({error.strerror})"
    if not start:
        return f"{path.name} is empty"
    known = _MAGIC.get(path.suffix.lower())
    if known is None or any(start[at : at + len(magic)] == magic for at, magic in known):
        return None
    return f"{path.name} is not what its name says: it starts with {start[:8]!r}"


def _named(folder: Path, stems: tuple[str, ...]) -> Path | None:
    names = [folder / f"{stem}{ending}" for ending in _ENDINGS for stem in stems]
    return next((path for path in names if path.is_file()), None)


def _collect(folder: Path, scratch: Path, wanted: set[str]) -> tuple[dict[tuple[str, str], Path], list[str]]:
    """Every media file by kind and name; of archives, those that a question or a video is named after."""
    files: dict[tuple[str, str], Path] = {}
    notes = []
    for kind in _KINDS:
        for path in sorted((folder / kind).glob("*")) if (folder / kind).is_dir() else ():
            if path.is_file() and path.suffix.lower() in _MAGIC:
                files[kind, path.stem] = path
    for archive in sorted(folder.glob("batch-*.zip")):
        default = "frames" if archive.name == archive_name("frames") else "plain"
        images = images_in_archive(archive, dict.fromkeys(_KINDS, _MAGIC), kind=default)
        notes.append(f"{archive.name}: {sum(map(len, images.values()))} videos or frames")
        files |= _unpacked(images, scratch / archive.stem, wanted)
    return files, notes


def _unpacked(images: StoredImages, scratch: Path, wanted: set[str]) -> Iterator[tuple[tuple[str, str], Path]]:
    """Copies below `scratch` of the images that are wanted, by their path in the archive or by their bare name."""
    for kind, named in images.items():
        for number, (path, image) in enumerate(named.items()):
            name = path if path in wanted else PurePosixPath(path).name
            if name not in wanted:
                continue
            target = scratch / kind / str(number) / PurePosixPath(image.where.replace("!", "/")).name
            target.parent.mkdir(parents=True, exist_ok=True)
            with image.open() as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
            yield (kind, name), target


def _matched(
    requests: tuple[Request, ...], files: dict[tuple[str, str], Path]
) -> tuple[dict[str, dict[str, Path]], dict[str, str]]:
    media: dict[str, dict[str, Path]] = {}
    problems = {}
    checked: dict[Path, str | None] = {}
    for request in requests:
        kinds = {kind: files[kind, request.video] for kind in BY_VIDEO if (kind, request.video) in files}
        kinds |= {kind: files[kind, request.case] for kind in BY_QUESTION if (kind, request.case) in files}
        for path in kinds.values():
            if path not in checked:
                checked[path] = media_problem(path)
        usable = {kind: path for kind, path in kinds.items() if checked[path] is None}
        if usable:
            media[request.case] = usable
        else:
            reasons = [reason for path in kinds.values() if (reason := checked[path])]
            problems[request.case] = "; ".join(reasons) or (
                f"no file for question {request.case} in frames/, plain/ or overlayed/, "
                f"and none for video {request.video} in videos/"
            )
    return media, problems
