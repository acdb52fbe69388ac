"""CPU and wall seconds to read 768 frames of a three-hour video of 960 x 540 pixels, by key frames and exactly.

    PYTHONPATH=src python bench/read_long_video.py

A minute is painted by the simulator, as clips of the challenge are made (H.264, 5 frames a second, a key frame every
five seconds), and repeated 180 times by copying its packets, so nothing is encoded twice. Needs PyAV and 1 GB of disk.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import av
import numpy as np

from surgvalid.models.long_video import VideoFrames
from surgvalid.simulation import draw_scene, write_clip

FRAMES, HEIGHT_PX, WIDTH_PX = 768, 252, 448


def repeated(minute: Path, out: Path, times: int) -> Path:
    """The video so many times in a row, by copying packets."""
    with av.open(str(minute)) as source, av.open(str(out), "w") as target:
        stream: Any = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        packets: list[Any] = [packet for packet in source.demux(stream) if packet.size]
        first = min(packet.pts for packet in packets)
        length = max(packet.pts + (packet.duration or 0) for packet in packets) - first
        kept = [(bytes(p), p.pts, p.dts, p.duration, p.is_keyframe) for p in packets]
        for turn in range(times):
            for data, pts, dts, duration, is_key in kept:
                packet = av.Packet(data)
                packet.pts, packet.dts, packet.duration = pts + turn * length, dts + turn * length, duration
                packet.time_base, packet.is_keyframe, packet.stream = stream.time_base, is_key, copy
                target.mux(packet)
    return out


def row(film: VideoFrames, frames: int, slack: float) -> dict[str, Any]:
    """What reading so many frames takes, from opening the file to pixels."""
    step = film.end_s / frames
    wanted = [(number + 0.5) * step for number in range(frames)]
    begin, cpu = time.perf_counter(), _cpu()
    shown, pixels = film.frames(wanted, HEIGHT_PX, WIDTH_PX, slack_s=slack * step)
    taken, worked = time.perf_counter() - begin, _cpu() - cpu
    off = max(float(np.abs(np.array(wanted) - second).min()) for second in shown)
    return {
        "frames": len(pixels), "key frames": slack > 0, "wall s": round(taken, 2), "CPU s": round(worked, 2),
        "ms a frame": round(1000 * worked / frames, 1), "off by at most s": round(off, 2),
    }  # fmt: skip


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hours", type=float, default=3.0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        minute = Path(folder) / "minute.mp4"
        write_clip(draw_scene(0, 0, minutes=(1, 2), width_px=960, height_px=540), plain=minute, end_s=60)
        film = VideoFrames(repeated(minute, Path(folder) / "long.mp4", round(60 * given.hours)))
        print(f"{film.end_s:.0f} s, {film.path.stat().st_size / 1e6:.0f} MB, {os.cpu_count()} cores")
        for frames, slack in ((FRAMES, 0.5), (96, 0.5), (96, 0.0)):
            print(row(film, frames, slack), flush=True)


if __name__ == "__main__":
    main()
