"""Frames near times, as cheaply as a file allows: a key frame is decoded alone, any other with all since the last one.

Where the container lists its key frames (MP4, MOV, Matroska), nothing but these is read; otherwise frames are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surgvalid.video._pyav import VideoSource, opened, translated
from surgvalid.video.probe import upright
from surgvalid.video.sampling import FrameSample, sample

_BEHIND_S = 0.1
"""Lists count in the order of decoding, jumps in that of showing: a jump to a little later lands on the key frame."""


def nearest(source: VideoSource, times_s: Sequence[float], slack_s: float) -> Iterator[FrameSample]:
    """For each time the key frame nearest to it, or the frame on screen then where none is within the slack.

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
    if not keys.size:
        yield from sample(source, times)
        return
    after = (
        np.clip(np.searchsorted(keys, times), 1, max(1, len(keys) - 1)) if len(keys) > 1 else np.zeros(len(times), int)
    )
    before = np.maximum(after - 1, 0)
    chosen = np.where(times - keys[before] <= keys[after] - times, before, after)
    is_near = np.abs(keys[chosen] - times) <= slack_s
    exact = sample(source, times[~is_near])
    near = _keys_alone(source, np.unique(keys[chosen[is_near]]))
    waiting = [next(exact, None), next(near, None)]
    while any(shot is not None for shot in waiting):
        first = min((0, 1), key=lambda at: float("inf") if (shot := waiting[at]) is None else shot.shown_s)
        shot = waiting[first]
        assert shot is not None
        yield shot
        waiting[first] = next((exact, near)[first], None)


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
