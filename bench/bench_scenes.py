"""Rendered scenes: frames with every pass, ids alone, truth by the second, larger frames, the first frame."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np

from bench.harness import Row, cpu_seconds
from surgvalid.simulation import draw_scene

FRAMES = 50
_FIRST = """
import time
start = time.perf_counter()
from surgvalid.simulation import draw_scene
from surgvalid.simulation.render.passes import Painter
from surgvalid.simulation.render.world import World
scene = draw_scene(3, 0, minutes=(12, 15))
Painter(scene.center, 480, 270).frame(World(scene).at(300.0))
status = open("/proc/self/status").read() if __import__("os").path.exists("/proc/self/status") else ""
peak = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
print(time.perf_counter() - start, int(peak[0]) / 1024 if peak else 0)
"""


def rows() -> list[Row]:
    """A row for each speed that was promised; goals are ratios to the promise."""
    from surgvalid.simulation.render.passes import Painter
    from surgvalid.simulation.render.sight import look, window_of
    from surgvalid.simulation.render.world import World

    scene = draw_scene(3, 0, minutes=(12, 15))
    world, painter = World(scene), Painter(scene.center, 480, 270)
    times = 670 + np.arange(FRAMES) / 25

    def every_pass() -> None:
        moments = [world.at(float(time_s)) for time_s in times]
        for before, moment in pairwise(moments):
            painter.frame(moment, before=before)

    def ids() -> None:
        for time_s in times:
            painter.buffers(world.at(float(time_s)))

    seconds = [float(s) for s in range(400, 700, 3)]
    looked = [s for s in seconds if not (moment := world.at(s)).masked and window_of(painter, moment)]

    def truth() -> None:
        for second in looked:
            look(painter, world.at(second))

    large = Painter(scene.center, 960, 540)
    wide = World(draw_scene(3, 0, minutes=(12, 15), width_px=960, height_px=540)).at(670.0)
    first_s, peak_mb = map(float, subprocess.check_output([sys.executable, "-c", _FIRST], text=True).split())
    return [
        Row(
            "a frame of 480x270 with every pass, one thread",
            cpu_seconds(every_pass) / (FRAMES - 1),
            "1/15 s",
            1 / 15,
            1,
        ),
        Row("ids and depth alone, one thread", cpu_seconds(ids) / FRAMES, "1/100 s", 0.01, 1),
        Row("truth of a second with an object near the view", cpu_seconds(truth) / len(looked), "10 ms", 0.01, 1),
        Row("a frame of 960x540", cpu_seconds(lambda: large.frame(wide)), "1/4 s", 0.25, 1),
        Row("first frame of a process, compiled before", first_s, "5 s", 5.0, None, f"peak memory {peak_mb:.0f} MB"),
    ]
