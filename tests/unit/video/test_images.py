from __future__ import annotations

import sys

import numpy as np
import pytest

from surgvalid.errors import ExtraNeeded, Misuse
from surgvalid.video import probe, sample, write_png

pytest.importorskip("av")


@pytest.mark.parametrize("shape", [(1, 1, 3), (7, 13, 3), (64, 3, 3)])
def test_a_png_is_read_back_pixel_by_pixel(tmp_path, shape):
    rgb = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    write_png(rgb, tmp_path / "p.png")
    [shot] = sample(tmp_path / "p.png", [0.0], how="in-order")
    assert (shot.rgb() == rgb).all()


@pytest.mark.parametrize("rgb", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8)])
def test_arrays_that_are_no_pictures_are_refused(rgb, tmp_path):
    with pytest.raises(Misuse, match="height, width, 3"):
        write_png(rgb, tmp_path / "p.png")


def test_without_pyav_the_extra_is_named(monkeypatch, tmp_path):
    (tmp_path / "v.mp4").touch()
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ExtraNeeded, match=r"install surgvalid\[video\]"):
        probe(tmp_path / "v.mp4")
