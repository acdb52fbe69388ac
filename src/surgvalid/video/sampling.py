"""Frames at exact times, with as little decoding as possible.

Two ways lead to the same frames:

* *in order*: the packets are indexed first, so every frame wanted is known before anything is decoded.
  Stretches between keyframes that hold no wanted frame are passed over, and frames that no other frame
  refers to (most B-frames) are decoded only where they are wanted. Sampling 25 fps at 1 fps decodes about
  half of the frames.
* *seeking*: for a few times in a long file, jump to the keyframe before each and decode up to it, without
  reading the rest of the file.

`how="auto"` takes the one that reads and decodes less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import FileUnreadable, Misuse, UnknownName
from surgvalid.video._pyav import VideoSource, converted, name_of, opened, translated
from surgvalid.video.probe import TimeIndex, promised_s, refuse_truncated, slack_ticks, time_index, upright

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

How = Literal["auto", "in-order", "seek"]

_SEEKABLE = {"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"}
"""Containers whose seeking is exact by construction; others are read in order."""
_FRAMES_PER_SEEK = 300
"""What one seek costs in the comparison, in frames: half a long group of pictures and a cold decoder."""
_JUMP_PACKETS = 2000
"""Up to so many unwanted packets are read and dropped rather than jumped over."""
_SMALL_GAP = 8
"""Up to so many unwanted packets are decoded rather than starting afresh at the next keyframe."""


@dataclass(frozen=True, slots=True)
class FrameSample:
    """One frame, asked for by time."""

    time_s: float
    """The time asked for."""
    shown_s: float
    """When that frame began to be shown; never later than the time asked for."""
    frame: VideoFrame
    """The decoded image, upright. It must not be written to."""

    def rgb(self, *, width_px: int | None = None, height_px: int | None = None) -> NDArray[np.uint8]:
        """The image as an array of height x width x 3."""
        shown = converted(self.frame, "rgb24", width_px=width_px, height_px=height_px)
        return cast(NDArray[np.uint8], shown.to_ndarray())


def sample(
    source: VideoSource, times_s: Sequence[float] | NDArray[np.float64], *, how: How = "auto"
) -> Iterator[FrameSample]:
    """The frame on screen at each of `times_s`, in the order of time; equal times give equal frames.

    Only a few frames are held at once, however long the video is.

    Args:
        source: The video.
        times_s: Seconds from the first frame, rising.
        how: `auto`, `in-order` or `seek`. All give the same frames; containers in which seeking is not exact
            are read in order.

    Raises:
        FileUnreadable: No video, or a frame that is wanted cannot be decoded.
        Misuse: Times that fall or lie outside the video.
    """
    times = np.asarray(times_s, dtype=np.float64).reshape(-1)
    if how not in ("auto", "in-order", "seek"):
        raise UnknownName("way of sampling", how, ["auto", "in-order", "seek"])
    if times.size and (not np.isfinite(times).all() or (np.diff(times) < 0).any()):
        raise Misuse("times to sample must be finite and rising")
    return _sample(source, times, how)


def _sample(source: VideoSource, times: NDArray[np.float64], how: How) -> Iterator[FrameSample]:
    if not times.size:
        return
    with opened(source) as (container, stream):
        seek = _seeks(container, stream, len(times), how)
    index = None if seek else time_index(source)
    with opened(source) as (container, stream):
        stream.thread_type = "AUTO"
        if index is None:
            yield from _by_seeking(container, stream, times, source)
        else:
            yield from _in_order(container, stream, index, times, source)


def _seeks(container: InputContainer, stream: VideoStream, wanted: int, how: How) -> bool:
    if how == "in-order" or container.format.name not in _SEEKABLE:
        return False
    seconds = (stream.duration or 0) * Fraction(stream.time_base or 1)
    frames = stream.frames or float(seconds * (stream.average_rate or 0))
    return how == "seek" or wanted * _FRAMES_PER_SEEK < frames


# --- in order ------------------------------------------------------------------------------------


def _in_order(
    container: InputContainer, stream: VideoStream, index: TimeIndex, times: NDArray[np.float64], source: VideoSource
) -> Iterator[FrameSample]:
    ticks = index.shown[index.frames_at(times, name_of(source))]
    first, at = int(index.shown[0]), 0
    for frame in _wanted_frames(container, stream, index, np.unique(ticks), source):
        shown = upright(frame)
        while at < len(times) and ticks[at] == frame.pts:
            yield FrameSample(float(times[at]), float((_begin(frame) - first) * index.tick_s), shown)
            at += 1


def _wanted_frames(
    container: InputContainer, stream: VideoStream, index: TimeIndex, wanted: NDArray[np.int64], source: VideoSource
) -> Iterator[VideoFrame]:
    """The frames with the wanted timestamps, in order."""
    reader = _Reader(container, stream, index, frozenset(wanted.tolist()), source)
    frames = (frame for start, stop in _stretches(index, wanted) for frame in reader.frames(start, stop))
    for expected in wanted.tolist():
        frame = next((f for f in frames if _begin(f) >= expected), None)
        if frame is None or frame.pts != expected or frame.is_corrupt:
            second = float((expected - int(index.shown[0])) * index.tick_s)
            raise FileUnreadable(name_of(source), [f"the frame at {second:.3f} s is damaged"])
        yield frame


def _stretches(index: TimeIndex, wanted: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Stretches of stored packets to decode, each starting at a keyframe: (first, one past the last)."""
    by_time = np.argsort(index.stored, kind="stable")
    stored_at = by_time[np.searchsorted(index.stored[by_time], wanted)]
    keys = np.union1d([0], np.flatnonzero(index.keys))
    chosen = np.searchsorted(keys, stored_at, side="right") - 1
    # A frame stored after a keyframe but shown before it may refer to the stretch before: start one earlier.
    chosen = np.maximum(chosen - (index.stored[keys[chosen]] > wanted), 0)
    stretches: list[tuple[int, int]] = []
    for key, at in sorted(zip(keys[chosen].tolist(), stored_at.tolist(), strict=True)):
        if stretches and key - stretches[-1][1] <= _SMALL_GAP:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], at + 1))
        else:
            stretches.append((key, at + 1))
    return stretches


class _Reader:
    """Decodes chosen stretches of packets, in order, and passes over the others."""

    def __init__(
        self,
        container: InputContainer,
        stream: VideoStream,
        index: TimeIndex,
        wanted: frozenset[int],
        source: VideoSource,
    ) -> None:
        self.container, self.stream, self.index, self.wanted, self.source = container, stream, index, wanted, source
        self.packets, self.at = self._from_here(), 0
        self.jumps = container.format.name in _SEEKABLE
        # Only H.264 says of a frame, strictly, that nothing refers to it.
        self.unwanted: Literal["NONREF", "DEFAULT"] = "NONREF" if stream.codec_context.name == "h264" else "DEFAULT"

    def frames(self, start: int, stop: int) -> Iterator[VideoFrame]:
        """The decoded frames of the packets from `start` to before `stop`."""
        context = self.stream.codec_context
        with translated(self.source):
            if self.jumps and start - self.at > _JUMP_PACKETS:
                self._jump(start)
            for _ in self._until(start):
                pass
            for packet in self._until(stop):
                context.skip_frame = "DEFAULT" if packet.pts in self.wanted else self.unwanted
                yield from context.decode(packet)
            yield from context.decode(None)
            context.flush_buffers()

    def _jump(self, start: int) -> None:
        """Seek to the keyframe before `start`, or to the beginning where that lands too late."""
        keys = np.flatnonzero(self.index.keys[:start])
        for goal in (int(keys[-1]) if keys.size else 0, 0):
            self.container.seek(int(self.index.stored[goal]), stream=self.stream, backward=True)
            self.packets = self._from_here()
            first = next(self.packets, None)
            landed = np.flatnonzero(self.index.stored[: start + 1] == (first.pts if first is not None else None))
            if first is not None and landed.size:
                self.packets, self.at = chain([first], self.packets), int(landed[-1])
                return
        raise FileUnreadable(name_of(self.source), ["its index leads to other frames than it holds"])

    def _from_here(self) -> Iterator[Packet[VideoStream]]:
        return (packet for packet in self.container.demux(self.stream) if packet.size)

    def _until(self, stop: int) -> Iterator[Packet[VideoStream]]:
        while self.at < stop and (packet := next(self.packets, None)) is not None:
            self.at += 1
            yield packet


# --- seeking -------------------------------------------------------------------------------------


def _by_seeking(
    container: InputContainer, stream: VideoStream, times: NDArray[np.float64], source: VideoSource
) -> Iterator[FrameSample]:
    tick, where = Fraction(stream.time_base or 1), name_of(source)
    slack = slack_ticks(tick)
    with translated(source):
        zero = next((frame.pts for frame in container.decode(stream) if frame.pts is not None), None)
    if zero is None:
        raise FileUnreadable(where, ["holds no frame with a timestamp"])
    for time_s in times.tolist():
        wanted = time_s / float(tick) + zero
        with translated(source):
            frame, last = _frame_at(container, stream, wanted + slack, zero)
        if frame is None or (last and wanted > _begin(frame) + (frame.duration or 0) + slack):
            reached = 0.0 if frame is None else float((_begin(frame) + (frame.duration or 0) - zero) * tick)
            refuse_truncated(where, time_s, reached, promised_s(container, stream))
            raise Misuse(f"{where}: {time_s:g} s lies outside the video")
        if frame.is_corrupt:
            raise FileUnreadable(where, [f"the frame at {time_s:.3f} s is damaged"])
        yield FrameSample(time_s, float((_begin(frame) - zero) * tick), upright(frame))


def _frame_at(
    container: InputContainer, stream: VideoStream, limit: float, first: int
) -> tuple[VideoFrame | None, bool]:
    """The last frame that begins at or before the tick `limit`, and whether it is the video's last."""
    back = 0.0
    while True:
        goal = max(limit - back, first)
        container.seek(int(goal), stream=stream, backward=True)
        latest: VideoFrame | None = None
        for frame in container.decode(stream):
            if _begin(frame) > limit:
                break
            latest = frame
        else:
            return latest, True
        if latest is not None or goal == first:
            return latest, False
        # The jump landed after the frame: go back further, twice as far each time.
        back = max(2 * back, 2 / float(stream.time_base or 1))


def _begin(frame: VideoFrame) -> int:
    return -(1 << 62) if frame.pts is None else frame.pts
