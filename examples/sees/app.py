"""The participant: answers questions of the challenge's protocol with the trained model, on a CPU.

    python examples/sees/app.py [MODEL]

MODEL is the folder of `*.onnx` that `train.py` wrote, `model` beside this file if left out. Needs onnxruntime, PyAV,
numpy and Pillow, not torch.

It looks at one image per FRAME question, and at one every five seconds (at most 64) of longer videos. A video that
cannot be read is answered from the wording alone, and the answer says so (`extra`: 0 images). A third of
the budget is for reading, a quarter for looking, in an order that is spread over the whole; the answer rests on what
was seen by then.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if not __package__:  # run as a file, from wherever it lies
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    __package__ = Path(__file__).resolve().parent.name
    __import__(__package__)

import av
import numpy as np

from . import words
from .asked import Vocabulary, answer_text, asked_arrays
from .pictures import cropped

try:
    from .serve import serve  # in an image: the file beside this one
except ImportError:
    from surgvalid.submissions.serve import serve

MODEL = Path(__file__).with_name("model")
STEP_S = 5.0
"""Between the images of a longer video, as in training."""
READ_UNTIL, LOOK_UNTIL = 0.3, 0.55
"""Shares of the budget after which no more of the video is read, and no more images are looked at."""
SEEK_FROM_S = 20.0
"""Wider gaps than this are jumped over; clips of the challenge have a whole image every five seconds."""


def pictures_of(
    path: str, start_s: float, end_s: float, deadline: float, most: int
) -> tuple[list[float], list[np.ndarray]]:
    """Seconds since the start, and images: one of a frame, else up to `most` on training's grid."""
    first = -(-start_s // STEP_S) * STEP_S - start_s
    wanted = [float(second) for second in np.arange(first, end_s - start_s + 0.5, STEP_S)]
    wanted = wanted if wanted and end_s > start_s else [0.0]
    wanted = [wanted[round(k)] for k in np.linspace(0, len(wanted) - 1, min(len(wanted), most))]
    times, pictures = [], []
    with av.open(path) as container:
        stream = container.streams.video[0]
        skipped_s = start_s if is_whole(length_of(container), start_s, end_s) else 0.0
        for at_s, frame in _frames_at(container, stream, [skipped_s + second for second in wanted]):
            times.append(max(0.0, at_s - skipped_s))
            pictures.append(cropped(frame.to_ndarray(format="rgb24")))
            if time.monotonic() > deadline:
                break
    return times, pictures


def length_of(container: Any) -> float:
    """Seconds of a film, 0 of a still image; some formats say it of the file, others of its stream alone."""
    stream = container.streams.video[0]
    if container.duration:
        return float(container.duration / av.time_base)
    return float(stream.duration * stream.time_base) if stream.duration and stream.time_base else 0.0


def is_whole(length_s: float, start_s: float, end_s: float) -> bool:
    """Whether a file holds the video from its beginning, and not the window that is asked about."""
    return length_s > end_s - start_s + 2 and (end_s <= start_s or length_s > start_s)


def _frames_at(container: Any, stream: Any, seconds: list[float]) -> Iterator[tuple[float, Any]]:
    """The first frame at or after each second, the last one where none is; wide gaps are jumped over."""
    last_s, frame, is_still, found = 0.0, None, not length_of(container), False
    for second in seconds:
        if second - last_s > SEEK_FROM_S:
            container.seek(int(second / stream.time_base), stream=stream)
        with suppress(EOFError):  # decoding goes on behind the end
            for frame in container.decode(stream):
                last_s = float(frame.time or 0.0)
                if last_s + 1e-3 >= second or is_still:
                    yield last_s, frame
                    found = True
                    break
    if frame is not None and not found:
        yield last_s, frame


class Graph:
    """One file of the model."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        try:
            self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:  # its own errors share no class
            raise SystemExit(
                f"sees: {path} is not there or no model ({error}); train one (python -m examples.sees.train DATA OUT) "
                "or name the folder OUT/model"
            ) from error
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.shapes = {given.name: given.shape for given in self.session.get_inputs()}

    def __call__(self, **given: np.ndarray) -> SimpleNamespace:
        """What the graph says, by name."""
        return SimpleNamespace(**dict(zip(self.outputs, self.session.run(None, given), strict=True)))


class Participant:
    """The model of a folder, answering."""

    def __init__(self, folder: Path) -> None:
        self.eye, self.frame, self.film = (Graph(folder / f"{name}.onnx") for name in ("eye", "frame", "film"))
        about = json.loads(self.frame.session.get_modelmeta().custom_metadata_map["about"])
        self.vocabulary = Vocabulary(about["words"], about["answers"])
        self.answers = list(self.vocabulary.answers)
        self.most_frames = self.film.shapes["totals"][1]
        self.eye(picture=np.zeros(self.eye.shapes["picture"], np.uint8))  # the first look is slow

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer in the format that the wording asks for, and how many images it rests on."""
        read_until, look_until = (time.monotonic() + share * question["budget_s"] for share in (READ_UNTIL, LOOK_UNTIL))
        start_s, end_s = float(question["start_time"]), float(question["end_time"])
        try:
            times, pictures = pictures_of(question["video"], start_s, end_s, read_until, self.most_frames)
        except (OSError, ValueError, IndexError) as error:  # PyAV's errors are among these
            print(f"{question['video']}: {error}", file=sys.stderr)
            times, pictures = [], []
        asked = words.read(question["question"], question.get("procedure_type") or "")
        text, looked_at = self.text_for(asked, start_s, end_s, times, pictures, look_until)
        return {"content": text, "extra": {"pictures": looked_at}}

    def text_for(self, asked: words.Asked, start_s: float, end_s: float, times: list[float], pictures: list[np.ndarray],
                 deadline: float) -> tuple[str, int]:  # fmt: skip
        """The answer from images that were seen at times, and how many of them were looked at."""
        seen = self.looked(pictures, deadline)
        when = [times[at] for at in seen]
        heads = self.said(asked, start_s, end_s, when, list(seen.values()))
        marks = next(iter(seen.values()), None) if end_s <= start_s else None
        text = answer_text(asked, heads, 0, start_s=start_s, window_s=max(1.0, end_s - start_s), answers=self.answers,
                           times=np.array([when or [0.0]]), marks=marks)  # fmt: skip
        return text, len(seen)

    def said(self, asked: words.Asked, start_s: float, end_s: float, when: list[float],
             seen: list[SimpleNamespace]) -> SimpleNamespace:  # fmt: skip
        """What every head says, of what the eye said of images, in their order."""
        given = asked_arrays([asked], [start_s], [end_s], self.vocabulary)
        if end_s <= start_s:
            one = seen[0] if seen else self.shut()
            return self.frame(**given, kind=one.kind, described=one.described, there=one.there, total=one.total)
        totals = np.zeros(self.film.shapes["totals"], np.float32)
        there, times = np.zeros(totals.shape[:2], bool), np.zeros(totals.shape[:2], np.float32)
        for row, one in enumerate(seen):
            totals[0, row], there[0, row], times[0, row] = one.total[0], True, when[row]
        return self.film(**given, totals=totals, there=there, when=times)

    def looked(self, pictures: list[np.ndarray], deadline: float) -> dict[int, SimpleNamespace]:
        """What the eye says of each image that was looked at while there was time, by its number, in order."""
        seen = {}
        for at in spread_order(len(pictures)):
            seen[at] = self.eye(picture=pictures[at][None])
            if time.monotonic() > deadline:
                break
        return dict(sorted(seen.items()))

    def shut(self) -> SimpleNamespace:
        """What a shut eye sees."""
        kinds = {"kind": np.int64, "there": bool}
        return SimpleNamespace(**{name: np.zeros(self.frame.shapes[name], kinds.get(name, np.float32))
                                  for name in ("kind", "described", "there", "total")})  # fmt: skip


def spread_order(count: int) -> list[int]:
    """Numbers below `count` in an order of which every beginning is spread over all of them.

    Example:
        >>> spread_order(8)
        [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = max(1, (count - 1).bit_length())
    return [at for n in range(1 << bits) if (at := int(f"{n:0{bits}b}"[::-1], 2)) < count]


if __name__ == "__main__":
    serve(Participant(Path(sys.argv[1]) if len(sys.argv) > 1 else MODEL).answer, name="sees (small model)")
