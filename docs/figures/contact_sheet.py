"""Paint `docs/figures/contact_sheet.png`: `python -m docs.figures.contact_sheet`."""

from __future__ import annotations

from pathlib import Path

from surgeval.simulation import contact_sheet
from surgeval.video.images import write_png

if __name__ == "__main__":
    picture = contact_sheet(seed=4, columns=8, width_px=200, height_px=112)
    write_png(picture, Path(__file__).with_suffix(".png"))
