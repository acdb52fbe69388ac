"""Frames of a long video against OpenCV and decord; painting against real time; procedures without video."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.harness import Row, cpu_seconds, peak_memory_mb

HOUR_S = 3600
DECORD_PART = 4
"""decord is measured on a quarter of the hour, which keeps the bench short."""
PROCEDURES = 100
"""Procedures without video that are measured; each is drawn on its own, so that a thousand take ten times as long."""
SAMPLE = "1 fps from a one-hour 960x540 video (25 fps, H.264, B-frames), as RGB"


def rows() -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hour.mp4"
        make_hour(path)
        return [
            *_sampling(path),
            _few_frames(path),
            _painting(Path(folder)),
            _procedures(),
        ]


def make_hour(path: Path) -> None:
    """One hour of video: a painted minute, encoded as recorders do, repeated sixty times without encoding again."""
    import av

    from surgvalid.simulation import draw_scene
    from surgvalid.simulation.renderer import Renderer

    scene = draw_scene(0, 0, minutes=(10, 10), width_px=960, height_px=540)
    minute = path.with_name("minute.mp4")
    with av.open(str(minute), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 960, 540, "yuv420p"
        stream.options = {"preset": "veryfast", "crf": "23", "g": "250"}
        for picture in Renderer(scene).frames(120 + np.arange(60 * 25) / 25):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    with av.open(str(minute)) as source, av.open(str(path), "w") as container:
        original = source.streams.video[0]
        copy = container.add_stream_from_template(original)
        packets = [packet for packet in source.demux(original) if packet.size and packet.pts is not None]
        tick = Fraction(original.time_base or 1)
        length = round(60 / tick)
        stamps = [(packet.pts or 0, packet.dts or 0) for packet in packets]
        for turn in range(HOUR_S // 60):
            for packet, (pts, dts) in zip(packets, stamps, strict=True):
                packet.pts, packet.dts, packet.stream = pts + turn * length, dts + turn * length, copy
                packet.time_base = tick
                container.mux(packet)


def _sampling(path: Path) -> list[Row]:
    from surgvalid.video import sample

    def ours() -> int:
        return sum(shot.rgb().shape[0] > 0 for shot in sample(path, np.arange(float(HOUR_S))))

    ours_s = cpu_seconds(ours, repeat=1, warm_up=False)
    note = f"peak memory of the bench {peak_memory_mb():.0f} MB"
    peers: list[tuple[str, Callable[[Path], int], int]] = [
        ("OpenCV (grab, retrieve)", _opencv, 1),
        ("PyAV that skips frames nothing refers to, and takes the next it has", _skipping, 1),
        (f"decord (get_batch; {60 // DECORD_PART} minutes times {DECORD_PART})", _decord, DECORD_PART),
    ]
    found = []
    for name, work, times in peers:
        try:
            peer_s = times * cpu_seconds(partial(work, path), repeat=1, warm_up=False)
        except ImportError:
            found.append(Row(SAMPLE, ours_s, f"{name}: not installed here", None, note=note))
        else:
            found.append(Row(SAMPLE, ours_s, name, peer_s, note=note))
    return found


def _opencv(path: Path) -> int:
    import cv2

    reader, count = cv2.VideoCapture(str(path)), 0
    for number in range(HOUR_S * 25):
        if not reader.grab():
            break
        if number % 25 == 0:
            count += cv2.cvtColor(reader.retrieve()[1], cv2.COLOR_BGR2RGB).shape[0] > 0
    assert count == HOUR_S
    return count


def _skipping(path: Path) -> int:
    """A frame at or after each second, of those that a skipping decoder gives: not always the one asked for."""
    import av

    count = 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        stream.codec_context.skip_frame = "NONREF"
        for frame in container.decode(stream):
            if (frame.time or 0.0) >= count - 1e-6:
                count += frame.to_ndarray(format="rgb24").shape[0] > 0
    return count


def _decord(path: Path) -> int:
    import decord

    reader, count = decord.VideoReader(str(path)), 0
    for start in range(0, HOUR_S // DECORD_PART, 60):
        count += len(reader.get_batch([25 * second for second in range(start, start + 60)]).asnumpy())
    return count


def _few_frames(path: Path) -> Row:
    """Ten frames from anywhere, by seeking."""
    from surgvalid.video import sample

    times = np.linspace(100, 3500, 10)
    ours_s = cpu_seconds(lambda: sum(shot.rgb().shape[0] for shot in sample(path, times)), repeat=2, warm_up=False)
    work, peer = "10 frames from anywhere in that hour", "OpenCV (set time, read)"
    try:
        peer_s = cpu_seconds(lambda: _opencv_seeking(path, times.tolist()), repeat=2, warm_up=False)
    except ImportError:
        return Row(work, ours_s, f"{peer}: not installed here", None)
    return Row(work, ours_s, peer, peer_s)


def _opencv_seeking(path: Path, times_s: list[float]) -> int:
    import cv2

    reader, count = cv2.VideoCapture(str(path)), 0
    for time_s in times_s:
        reader.set(cv2.CAP_PROP_POS_MSEC, 1000 * time_s)
        count += reader.read()[0]
    return count


def _painting(folder: Path) -> Row:
    from surgvalid.simulation import draw_scene, write_clip
    from surgvalid.video import OFFICIAL_CLIP

    length_s = 60
    scene = draw_scene(1, 0, minutes=(10, 10))
    spent_s = cpu_seconds(
        lambda: write_clip(scene, plain=folder / "film.mp4", spec=OFFICIAL_CLIP, start_s=120, end_s=120 + length_s),
        repeat=1,
        warm_up=False,
    )
    return Row(
        f"{length_s} s painted at 480x270 to the official clip specification, two cores",
        spent_s / 2,
        "real time",
        float(length_s),
        goal=4,
        note=f"{spent_s:.1f} s of CPU, one procedure per core",
    )


def _procedures() -> Row:
    from surgvalid.simulation import simulate

    def work() -> int:
        return sum(len(procedure.tracks) for procedure in simulate(PROCEDURES, seed=5).procedures())

    spent_s = 1000 / PROCEDURES * cpu_seconds(work, repeat=1, warm_up=False)
    return Row(
        "1,000 procedures without video (tracks, events, phases)",
        spent_s,
        "a minute",
        60.0,
        goal=1,
        note=f"{PROCEDURES} procedures, scaled; the goal is older than truth from painted pixels; peak memory of the "
        f"bench {peak_memory_mb():.0f} MB",
    )
