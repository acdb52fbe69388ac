"""Shapes of every kind are kept as the upright box around them, whatever their numbers."""

from __future__ import annotations

from math import cos, radians, sin
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from surgvalid.datasets.tools._cvat_shapes import CvatShape, shapes_of

SIDE = st.integers(0, 500)
POINTS = st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=6)


def only(shape: str) -> CvatShape:
    problems: list[str] = []
    [one] = shapes_of(fromstring(f'<image id="3" name="f3.png">{shape}</image>'), problems)
    assert not problems
    return one


def around(points: list[tuple[float, float]]) -> tuple[float, float, float, float]:
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)


@given(POINTS, st.sampled_from(["polygon", "polyline", "points"]))
def test_points_are_kept_as_the_box_around_them(points: list[tuple[int, int]], kind: str) -> None:
    listed = ";".join(f"{x},{y}" for x, y in points)
    assert only(f'<{kind} label="Clip" points="{listed}"/>').box == around(points)


@given(POINTS, POINTS)
def test_of_a_skeleton_the_parts_in_view_count(seen: list[tuple[int, int]], unseen: list[tuple[int, int]]) -> None:
    parts = [";".join(f"{x},{y}" for x, y in points) for points in (seen, unseen)]
    inner = f'<points label="a" points="{parts[0]}"/><points label="b" outside="1" points="{parts[1]}"/>'
    assert only(f'<skeleton label="Clip">{inner}</skeleton>').box == around(seen)


@given(SIDE, SIDE, st.integers(1, 99), st.integers(1, 99), st.sampled_from([0.0, 12.5, 45.0, 90.0, 271.25]))
def test_what_is_turned_is_kept_as_the_box_around_it(x: int, y: int, wide: int, high: int, turn: float) -> None:
    corners = [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]
    cx, cy, c, s = x + wide / 2, y + high / 2, cos(radians(turn)), sin(radians(turn))
    turned = [(cx + c * (px - cx) - s * (py - cy), cy + s * (px - cx) + c * (py - cy)) for px, py in corners]
    box = only(f'<box label="Clip" rotation="{turn}" xtl="{x}" ytl="{y}" xbr="{x + wide}" ybr="{y + high}"/>')
    assert box.box == pytest.approx(around(turned), abs=1e-6)
    assert box.rotation_deg == turn
    angles = np.radians(np.arange(0, 360, 0.05))
    oval = [(x + c * wide * cos(a) - s * high * sin(a), y + s * wide * cos(a) + c * high * sin(a)) for a in angles]
    ellipse = only(f'<ellipse label="Clip" rotation="{turn}" cx="{x}" cy="{y}" rx="{wide}" ry="{high}"/>')
    assert ellipse.box == pytest.approx(around(oval), abs=0.01)


@given(arrays.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6))), SIDE, SIDE)
def test_a_mask_is_kept_as_the_box_around_its_pixels(mask: np.ndarray, left: int, top: int) -> None:
    mask[0, -1] = True
    runs, last = [0], False
    for pixel in mask.ravel().tolist():
        runs += [0] if pixel != last else []
        runs[-1] += 1
        last = pixel
    height, width = mask.shape
    sides = f'rle="{", ".join(map(str, runs))}" left="{left}" top="{top}" width="{width}" height="{height}"'
    rows, columns = np.nonzero(mask)
    pixels = [(left + x + step, top + y + step) for x, y in zip(columns, rows, strict=True) for step in (0, 1)]
    assert only(f'<mask label="Clip" {sides}/>').box == around(pixels)


@pytest.mark.parametrize(
    ("runs", "why"), [("5", "the runs cover 5 pixels, the rectangle has 4"), ("4", "no pixel"), ("a", "whole numbers")]
)
def test_a_mask_that_cannot_be_is_told(runs: str, why: str) -> None:
    problems: list[str] = []
    mask = f'<mask label="Clip" rle="{runs}" left="0" top="0" width="2" height="2"/>'
    assert list(shapes_of(fromstring(f'<image id="3" name="f3.png">{mask}</image>'), problems)) == []
    assert why in problems[0]
