"""`python docs/figures/contact_sheet.py`: the contact sheet of the simulator, as JPEG."""

from __future__ import annotations

from pathlib import Path

import av

from surgeval.simulation import contact_sheet
from surgeval.video.images import jpeg_bytes


def main() -> None:
    """Paint and write."""
    sheet = contact_sheet(seed=0, width_px=256, height_px=144)
    frame = av.VideoFrame.from_ndarray(sheet, format="rgb24")
    path = Path(__file__).with_suffix(".jpg").with_stem("contact-sheet")
    path.write_bytes(jpeg_bytes(frame, width_px=sheet.shape[1], height_px=sheet.shape[0], quality=3))


if __name__ == "__main__":
    main()
