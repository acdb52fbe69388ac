"""The participant: answers questions of the challenge's protocol with the trained model, on a CPU or a GPU.

    python examples/sees/app.py [WEIGHTS.npz]

It looks at one image per FRAME question, and at one every five seconds (at most 64) of longer videos. A video that
cannot be read is answered from the wording alone, and the answer says so (`extra`: 0 images). A third of
the budget is for reading, a quarter for looking, in an order that is spread over the whole; the answer rests on what
was seen by then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if not __package__:  # run as a file, from wherever it lies
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    __package__ = Path(__file__).resolve().parent.name
    __import__(__package__)

import av
import numpy as np
import torch

from . import words
from .learning import normal
from .model import MARKS, MOST_FRAMES, Marks, mark_width, summary_width
from .pictures import cropped
from .store import asked_tensors
from .weights import answer_text, load

try:
    from .serve import serve  # in an image: the file beside this one
except ImportError:
    from surgvalid.submissions.serve import serve

WEIGHTS = Path(__file__).with_name("weights.npz")
STEP_S = 5.0
"""Between the images of a longer video, as in training."""
READ_UNTIL, LOOK_UNTIL = 0.3, 0.55
"""Shares of the budget after which no more of the video is read, and no more images are looked at."""
SEEK_FROM_S = 20.0
"""Wider gaps than this are jumped over; clips of the challenge have a whole image every five seconds."""


def pictures_of(path: str, start_s: float, end_s: float, deadline: float) -> tuple[list[float], list[np.ndarray]]:
    """Seconds since the start, and images: one of a frame, else up to MOST_FRAMES on training's grid."""
    first = -(-start_s // STEP_S) * STEP_S - start_s
    wanted = [float(second) for second in np.arange(first, end_s - start_s + 0.5, STEP_S)]
    wanted = wanted if wanted and end_s > start_s else [0.0]
    wanted = [wanted[round(k)] for k in np.linspace(0, len(wanted) - 1, min(len(wanted), MOST_FRAMES))]
    times, pictures = [], []
    with av.open(path) as container:
        stream = container.streams.video[0]
        skipped_s = start_s if is_whole(stream, start_s, end_s) else 0.0
        for at_s, frame in _frames_at(container, stream, [skipped_s + second for second in wanted]):
            times.append(at_s - skipped_s)
            pictures.append(cropped(frame.to_ndarray(format="rgb24")))
            if time.monotonic() > deadline:
                break
    return times, pictures


def is_whole(stream: Any, start_s: float, end_s: float) -> bool:
    """Whether a file holds the video from its beginning, and not the window that is asked about."""
    length_s = float(stream.duration * stream.time_base) if stream.duration and stream.time_base else 0.0
    return length_s > end_s - start_s + 2 and length_s > end_s - 1


def _frames_at(container: Any, stream: Any, seconds: list[float]) -> Iterator[tuple[float, Any]]:
    """The first frame at or after each second; wide gaps are jumped over, narrow ones decoded through."""
    last_s = 0.0
    for second in seconds:
        if second - last_s > SEEK_FROM_S:
            container.seek(int(second / stream.time_base), stream=stream)
        for frame in container.decode(stream):
            last_s = float(frame.time or 0.0)
            if last_s + 1e-3 >= second or stream.duration is None:
                yield last_s, frame
                break


class Participant:
    """The model of a file, answering."""

    def __init__(self, weights: Path) -> None:
        if not weights.is_file():
            raise SystemExit(
                f"sees: {weights} is not there; train it (python -m examples.sees.train DATA OUT) or name another file"
            )
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        model, self.vocabulary = load(weights)
        self.model = model.to(self.device)
        self.answers = list(self.vocabulary.answers)
        self.model.look(torch.zeros(1, 3, 160, 288, device=self.device))  # the first look is slow

    @torch.inference_mode()
    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer in the format that the wording asks for, and how many images it rests on."""
        read_until, look_until = (time.monotonic() + share * question["budget_s"] for share in (READ_UNTIL, LOOK_UNTIL))
        start_s, end_s = float(question["start_time"]), float(question["end_time"])
        try:
            times, pictures = pictures_of(question["video"], start_s, end_s, read_until)
        except (OSError, ValueError, IndexError) as error:  # PyAV's errors are among these
            print(f"{question['video']}: {error}", file=sys.stderr)
            times, pictures = [], []
        asked = words.read(question["question"], question.get("procedure_type", ""))
        text, looked_at = self.text_for(asked, start_s, end_s, times, pictures, look_until)
        return {"content": text, "extra": {"pictures": looked_at}}

    def text_for(self, asked: words.Asked, start_s: float, end_s: float, times: list[float], pictures: list[np.ndarray],
             deadline: float) -> tuple[str, int]:  # fmt: skip
        """The answer from images that were seen at times, and how many of them were looked at."""
        batch = asked_tensors([asked], [start_s], [end_s], self.vocabulary)
        batch = type(batch)(**{name: value.to(self.device) for name, value in vars(batch).items()})
        marks, totals, looked_at = self.looked(pictures, deadline)
        if end_s <= start_s:
            heads = self.model.read_frame(batch, marks, totals[-1:], blind=not pictures)
            text = answer_text(asked, heads, 0, start_s=start_s, window_s=1.0, answers=self.answers, marks=marks)
            return text, len(looked_at)
        when = torch.tensor([[times[at] for at in looked_at] or [0.0]], device=self.device)
        there = torch.ones(1, len(totals), dtype=torch.bool, device=self.device)
        heads = self.model.read_long(batch, totals[None], there, when, blind=not pictures)
        text = answer_text(asked, heads, 0, start_s=start_s, window_s=max(1.0, end_s - start_s), answers=self.answers,
                           times=when)  # fmt: skip
        return text, len(looked_at)

    def looked(self, pictures: list[np.ndarray], deadline: float) -> tuple[Marks, torch.Tensor, list[int]]:
        """The marks of the last image, the sum of each, and which were looked at while there was time.

        Without images, what a shut eye sees.
        """
        size, totals = self.model.size, dict[int, torch.Tensor]()
        none = torch.zeros(1, MARKS, device=self.device)
        marks = Marks(none.long(), none, none[..., None].expand(-1, -1, 4), none,
                      torch.zeros(1, MARKS, mark_width(size), device=self.device))  # fmt: skip
        for at in spread_order(len(pictures)):
            shown = torch.from_numpy(pictures[at]).permute(2, 0, 1)[None].to(self.device)
            _, marks, totals[at] = self.model.look(normal(shown))
            if time.monotonic() > deadline:
                break
        seen = sorted(totals)
        empty = torch.zeros(1, summary_width(size), device=self.device)
        return marks, torch.cat([totals[at] for at in seen]) if seen else empty, seen


def spread_order(count: int) -> list[int]:
    """Numbers below `count` in an order of which every beginning is spread over all of them.

    Example:
        >>> spread_order(8)
        [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = max(1, (count - 1).bit_length())
    return [at for n in range(1 << bits) if (at := int(f"{n:0{bits}b}"[::-1], 2)) < count]


if __name__ == "__main__":
    serve(Participant(Path(sys.argv[1]) if len(sys.argv) > 1 else WEIGHTS).answer, name="sees (small model)")
