"""Paint `docs/figures/looks.jpg`: `python -m docs.figures.looks`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surgvalid.simulation import Renderer, Scene, draw_scene
from surgvalid.video.images import jpeg_bytes

SEED, SIZE = 5, {"width_px": 320, "height_px": 180}
LOOKS = ((), ("roll",), ("soft",), ("depth",), ("all",))


def busiest(scene: Scene) -> float:
    """When instruments press hardest in a clear image."""
    times = np.arange(20.0, scene.duration_s - 20.0)
    view, levels = scene.look(times), scene.conditions(times)
    spoiled = sum(level for kind, level in levels.items() if kind.startswith(("image", "background")))
    forces = [scene.touches.force_at(slot, times) * view.tip_shown(slot) for slot in range(3)] if scene.touches else []
    return float(times[np.argmax(np.sum(forces, axis=0) - 2 * spoiled)])


def moments(center: str, number: int) -> np.ndarray:
    """One moment with each of the looks."""
    scenes = [draw_scene(SEED, number, center=center, minutes=(6, 7), looks=looks, **SIZE) for looks in LOOKS]
    time_s = busiest(scenes[2])
    return np.concatenate([Renderer(scene).frame(time_s) for scene in scenes], axis=1)


def clearing(center: str) -> np.ndarray:
    """A lens that fogged at the start, until it is clear."""
    for number in range(100):
        scene = draw_scene(SEED, number, center=center, minutes=(6, 7), looks=("fog",), **SIZE)
        fogs = [episode for episode in scene.episodes if episode.kind == "image_lens_fog" and episode.start_s < 0]
        if fogs and fogs[0].strength > 0.7:
            break
    renderer = Renderer(scene)
    return np.concatenate([renderer.frame(share * fogs[0].end_s) for share in (0.0, 0.2, 0.45, 0.75, 1.05)], axis=1)


if __name__ == "__main__":
    import av

    picture = np.concatenate([moments("Center A", 0), moments("Center E", 2), clearing("Center C")])
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
    data = jpeg_bytes(frame, width_px=frame.width, height_px=frame.height, quality=4)
    Path(__file__).with_name("looks.jpg").write_bytes(data)
