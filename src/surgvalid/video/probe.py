"""What a video file is, and exactly when each of its frames is shown.

`probe` reads headers only. `time_index` reads every packet but decodes none, so it is exact also for a
variable frame rate, a start offset, B-frames (stored in another order than shown) and edit lists
(frames that are stored and never shown).

Time zero is the first frame shown. A container may say that its image starts at 1.4 s; every annotation
tool and the challenge count from the first frame, so we do, and `Probe.start_s` keeps the offset.

A recorder that was held sideways stores its frames turned and says so. Sizes here, and the frames of `sample`, are
those of the upright image; `Probe.rotation_deg` keeps the angle.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.video._pyav import VideoSource, name_of, opened, pyav, translated

if TYPE_CHECKING:
    from av import VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

LEAST_MISSING_S = 1.0
"""Headers round; a file that ends this much before its header says was cut off."""
MAX_PACKETS = 5_000_000
"""More packets than this is no surgical video (46 hours at 30 fps) but a file made to exhaust memory."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The facts in a video's headers."""

    codec: str
    width_px: int
    height_px: int
    pixel_aspect: Fraction
    """Width of a pixel over its height; 1 for square pixels."""
    fps: float
    """The average frame rate as the header states it; NaN when it does not."""
    duration_s: float
    """As the header states it; NaN when it does not. `time_index` measures it."""
    start_s: float
    """What the container calls the time of the first frame; our time starts at 0 there."""
    audio: bool
    container: str
    rotation_deg: int = 0
    """By how much stored frames are turned, counterclockwise, to stand upright: 0, 90, 180 or 270."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height."""
        return self.width_px, self.height_px


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndex:
    """When each shown frame begins, and where decoding can start."""

    tick_s: Fraction
    """The unit of the timestamps."""
    shown: NDArray[np.int64]
    """Timestamps of the shown frames in ticks, rising, not shifted."""
    stored: NDArray[np.int64]
    """Timestamps of all packets in the order in which they are stored."""
    keys: NDArray[np.bool_]
    """For each stored packet, whether decoding can start there."""
    end: int
    """The tick at which the last frame stops being shown."""
    promised_s: float = float("nan")
    """How long the header says that the video is; NaN when it does not."""

    @property
    def times_s(self) -> NDArray[np.float64]:
        """When each shown frame begins, in seconds from the first."""
        times: NDArray[np.float64] = (self.shown - self.shown[0]) * float(self.tick_s)
        return times

    @property
    def duration_s(self) -> float:
        """From the first frame to the end of the last."""
        return float((self.end - self.shown[0]) * self.tick_s)

    def frames_at(self, times_s: NDArray[np.float64], where: str) -> NDArray[np.int64]:
        """The position (in order of showing) of the frame that is on screen at each time.

        That is the last frame which begins at or before the time. Half a tick, at most half a millisecond,
        is forgiven, because a container rounds 0.6667 s to its own unit. The very end still shows the last frame.

        Raises:
            Misuse: A time outside the video.
            FileUnreadable: A time that the header promises and the file, cut off, does not hold.
        """
        ticks = np.asarray(times_s, dtype=np.float64) / float(self.tick_s) + self.shown[0]
        slack = slack_ticks(self.tick_s)
        positions: NDArray[np.int64] = np.searchsorted(self.shown, ticks + slack, side="right") - 1
        outside = (positions < 0) | (ticks > self.end + slack) | ~np.isfinite(ticks)
        if outside.any():
            first = float(np.asarray(times_s)[outside][0])
            refuse_truncated(where, first, self.duration_s, self.promised_s)
            raise Misuse(
                f"{where}: {int(outside.sum())} of {len(ticks)} times lie outside the video, which runs from 0 to "
                f"{self.duration_s:.3f} s (first: {first:g} s)"
            )
        return positions


def refuse_truncated(where: str, time_s: float, reached_s: float, promised_s: float) -> None:
    """Do nothing, unless the header promises more than the file holds and the time lies in what is missing.

    Raises:
        FileUnreadable: The file was cut off.
    """
    if reached_s < time_s <= promised_s and promised_s - reached_s > LEAST_MISSING_S:
        raise FileUnreadable(
            where,
            [
                f"cut off: its header promises {promised_s:.1f} s, but its frames end after {reached_s:.1f} s, "
                f"before {time_s:g} s; copy or download it again"
            ],
        )


def upright(frame: VideoFrame) -> VideoFrame:
    """The frame as it is meant to be seen: turned where the recorder says so."""
    turns = _turns(frame)
    if not turns:
        return frame
    stored = np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
    pixels: NDArray[np.uint8] = np.ascontiguousarray(np.rot90(stored, turns))
    return type(frame).from_ndarray(pixels, format="rgb24")


def _turns(frame: VideoFrame) -> int:
    """Quarter turns, counterclockwise."""
    return round(frame.rotation / 90) % 4


def slack_ticks(tick_s: Fraction) -> float:
    """By how many ticks a frame may begin after the time asked for and still be the one meant."""
    return min(0.5, 0.0005 / float(tick_s)) + 1e-6 / float(tick_s)


def probe(source: VideoSource) -> Probe:
    """What the headers of the video say.

    Raises:
        FileUnreadable: It is no video.
    """
    with opened(source) as (container, stream):
        tick = Fraction(stream.time_base or 1)
        context = stream.codec_context
        turns = _first_turns(container, stream)
        width, height = (context.width, context.height) if turns % 2 == 0 else (context.height, context.width)
        aspect = Fraction(stream.sample_aspect_ratio or 1) or Fraction(1)
        return Probe(
            codec=context.name,
            width_px=width,
            height_px=height,
            pixel_aspect=aspect if turns % 2 == 0 else 1 / aspect,
            fps=float(stream.average_rate) if stream.average_rate else float("nan"),
            duration_s=promised_s(container, stream),
            start_s=float((stream.start_time or 0) * tick),
            audio=bool(container.streams.audio),
            container=container.format.name,
            rotation_deg=90 * turns,
        )


def _first_turns(container: InputContainer, stream: VideoStream) -> int:
    """Quarter turns of the first frame that can be decoded; 0 where none can."""
    with suppress(pyav().FFmpegError, EOFError, OSError, ValueError):
        for frame in container.decode(stream):
            return _turns(frame)
    return 0


def time_index(source: VideoSource) -> TimeIndex:
    """The time of every frame, read from the packets without decoding.

    Raises:
        FileUnreadable: No video, no timestamps, or no frame that is ever shown.
    """
    with opened(source) as (container, stream), translated(source):
        return _read_index(container, stream, name_of(source))


def _read_index(container: InputContainer, stream: VideoStream, where: str) -> TimeIndex:
    stored: list[int] = []
    keys: list[bool] = []
    dropped: list[bool] = []
    last = (-(1 << 62), 0)
    for packet in container.demux(stream):
        if not packet.size:
            continue
        if packet.pts is None:
            raise FileUnreadable(where, ["its frames carry no timestamps; put the stream into a container (MP4, MKV)"])
        if len(stored) == MAX_PACKETS:
            raise FileUnreadable(where, [f"more than {MAX_PACKETS:,} frames"])
        stored.append(packet.pts)
        keys.append(packet.is_keyframe)
        dropped.append(packet.is_discard)
        if packet.pts >= last[0] and not packet.is_discard:
            last = (packet.pts, packet.duration or 0)
    order = np.array(stored, dtype=np.int64)
    shown = np.unique(order[~np.array(dropped, dtype=bool)]) if stored else order
    if not shown.size:
        raise FileUnreadable(where, ["holds no frame that is shown"])
    usual = int(np.median(np.diff(shown))) if shown.size > 1 else 0
    end = int(shown[-1]) + (last[1] or usual)
    tick = Fraction(stream.time_base or 1)
    return TimeIndex(tick, shown, order, np.array(keys, dtype=bool), end, promised_s(container, stream))


def promised_s(container: InputContainer, stream: VideoStream) -> float:
    """How long the header says that the image is; NaN when it does not."""
    if stream.duration:
        return float(stream.duration * Fraction(stream.time_base or 1))
    return _container_duration_s(container)


def _container_duration_s(container: InputContainer) -> float:
    return container.duration / 1_000_000 if container.duration else float("nan")
