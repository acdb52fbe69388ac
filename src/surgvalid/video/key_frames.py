"""Frames near times, as cheaply as a file allows: a key frame is decoded alone, any other with all since the last one.

Where the container lists its key frames (MP4, MOV, Matroska), nothing but these is read; otherwise frames are exact.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import FileUnreadable
from surgvalid.video._pyav import VideoSource, opened, translated
from surgvalid.video.probe import probe, time_index, upright
from surgvalid.video.sampling import FrameSample, sample

_MOST_READERS = 8
_LAST_FRAME_S = 0.05
_BEHIND_S = 0.1
"""Lists count in the order of decoding, jumps in that of showing: a jump to a little later lands on the key frame."""


def nearest(
    source: VideoSource, times_s: Sequence[float] | NDArray[np.float64], slack_s: float
) -> Iterator[FrameSample]:
    """The key frames nearest to the times where each is within the slack of its own, else the frames on screen then.

    Times in a row that have the same key frame give it once. Nothing is cached, so several threads may read one file.

    Args:
        source: The video.
        times_s: Seconds from the first frame, rising.
        slack_s: How far a frame may be from its time; 0 for exact ones.

    Raises:
        FileUnreadable: No video, or a frame that is wanted cannot be decoded.
        Misuse: Times that fall or lie outside the video.
    """
    times = np.asarray(times_s, dtype=np.float64)
    keys = key_times(source) if slack_s > 0 and times.size else np.empty(0)
    chosen = keys[np.searchsorted((keys[1:] + keys[:-1]) / 2, times)] if keys.size else np.full(len(times), np.inf)
    if (np.abs(chosen - times) <= slack_s).all():
        return _keys_alone(source, np.unique(chosen))
    return sample(source, times)


def key_times(source: VideoSource) -> NDArray[np.float64]:
    """Seconds of the key frames that the container lists, about; none where it lists none."""
    with opened(source) as (_, stream):
        tick, entries = float(Fraction(stream.time_base or 1)), stream.index_entries
        listed = [entry.timestamp for entry in entries if entry.is_keyframe]
    return np.unique(np.array(listed, dtype=np.float64) - (listed[0] if listed else 0)) * tick


def _keys_alone(source: VideoSource, seconds: NDArray[np.float64]) -> Iterator[FrameSample]:
    """The key frames at or before these seconds, each decoded alone."""
    with opened(source) as (container, stream), translated(source):
        tick, context = float(Fraction(stream.time_base or 1)), stream.codec_context
        context.thread_count = 1
        zero, start = stream.start_time or 0, stream.index_entries[0].timestamp
        for second in seconds.tolist():
            container.seek(round((second + _BEHIND_S) / tick) + start, stream=stream, backward=True)
            for packet in container.demux(stream):
                frames = [*context.decode(packet), *context.decode(None)]
                context.flush_buffers()
                if frames:
                    shown_s = ((frames[0].pts or 0) - zero) * tick
                    yield FrameSample(second, shown_s, upright(frames[0]))
                    break


class VideoFrames:
    """A file of video whose frames are read by several threads at once.

    Args:
        path: The file.
        name: Questions of one name share what was seen; by default the path.
        start_s: The time of its first frame, as questions count.

    Raises:
        FileUnreadable: It is no video, or holds no frame.
    """

    def __init__(self, path: str | Path, *, name: str = "", start_s: float = 0.0) -> None:
        self.path, self.name, self.start_s = Path(path), name or str(path), start_s
        facts = probe(self.path)
        length_s = facts.duration_s if isfinite(facts.duration_s) else time_index(self.path).duration_s
        if not length_s > 0:
            raise FileUnreadable(str(path), ["holds no frame"])
        self.end_s = start_s + length_s
        self.width_px, self.height_px = facts.size_px
        self._readers = min(_MOST_READERS, os.cpu_count() or 1)

    def frames(
        self, times_s: Sequence[float], height_px: int, width_px: int, *, slack_s: float = 0.0
    ) -> tuple[list[float], NDArray[np.uint8]]:
        """When frames were shown, and these: the ones on screen at these times, or key frames within the slack."""
        latest = max(0.0, self.end_s - self.start_s - _LAST_FRAME_S)
        inside = np.clip(np.asarray(times_s) - self.start_s, 0.0, latest)
        pieces = np.array_split(inside, min(self._readers, len(inside)))

        def read(times: NDArray[np.float64]) -> list[tuple[float, NDArray[np.uint8]]]:
            shots = nearest(self.path, times, slack_s)
            return [(shot.shown_s, shot.rgb(width_px=width_px, height_px=height_px)) for shot in shots]

        with ThreadPoolExecutor(max_workers=self._readers) as threads:
            shots = dict(shot for shots in threads.map(read, pieces) for shot in shots)
        return [self.start_s + second for second in shots], np.stack(list(shots.values()))
