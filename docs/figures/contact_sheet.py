"""Paint `docs/figures/contact-sheet.jpg`: `python -m docs.figures.contact_sheet`."""

from __future__ import annotations

from pathlib import Path

from surgeval.simulation import contact_sheet
from surgeval.video.images import jpeg_bytes

if __name__ == "__main__":
    import av

    picture = contact_sheet(seed=7, columns=8, width_px=240, height_px=134)
    frame = av.VideoFrame.from_ndarray(picture[: picture.shape[0] // 2 * 2], format="rgb24")
    data = jpeg_bytes(frame, width_px=frame.width, height_px=frame.height, quality=4)
    Path(__file__).with_name("contact-sheet.jpg").write_bytes(data)
