"""Shapes of every kind are read as they were written: rotation, corners, masks, skeletons, attributes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from annotation_files import CVAT_IMAGES, CVAT_VIDEO
from cvat_writer import write_shapes
from how_many import many
from surgvalid.datasets.tools.cvat import CvatShape, read, read_shapes

PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=6)
SIDE = st.floats(0, 500, allow_subnormal=False)
POINT = st.tuples(SIDE, SIDE)
POINTS = st.lists(POINT, min_size=1, max_size=5).map(tuple)


@st.composite
def shapes(draw: st.DrawFn) -> CvatShape:
    """A shape of any kind, as a reader would give it apart from the box around it."""
    kind = draw(st.sampled_from(["box", "polygon", "polyline", "points", "ellipse", "cuboid", "mask", "skeleton"]))
    in_track = draw(st.booleans())
    outline: tuple[float, ...] = ()
    mask, at, points, parts = None, None, (), ()
    if kind in ("box", "ellipse"):
        x, y = draw(POINT)
        outline = (x, y, x + draw(st.floats(1, 99)), y + draw(st.floats(1, 99)))
    elif kind == "cuboid":
        outline = tuple(draw(st.lists(SIDE, min_size=16, max_size=16)))
    elif kind == "mask":
        mask = draw(arrays.arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 5))))
        mask[0, 0] = True
        at = (draw(st.integers(0, 90)), draw(st.integers(0, 90)))
    elif kind == "skeleton":
        named = draw(st.lists(st.tuples(PLAIN, POINTS, st.booleans(), st.booleans()), max_size=2))
        parts = (("tip", draw(POINTS), False, False), *named)
    else:
        points = draw(POINTS)
    return CvatShape(
        kind, f"label {kind}", draw(st.integers(0, 50)), f"{kind} 1" if in_track else None, (0, 0, 0, 0),
        draw(st.sampled_from([0.0, 12.5, 90.0, 271.25])), draw(st.booleans()), in_track and draw(st.booleans()),
        not in_track or draw(st.booleans()), draw(st.dictionaries(PLAIN, PLAIN, max_size=2)), points, mask, at, outline,
        parts, draw(st.integers(-3, 3)), draw(st.sampled_from(["manual", "auto"])), draw(st.sampled_from(["", "7"])),
        None,
    )  # fmt: skip


def content(shape: CvatShape) -> dict[str, object]:
    """What was put in: everything but the box around it and, for a skeleton, the points of its parts."""
    told = shape._asdict()
    told.pop("box")
    told.pop("image")  # all shapes of a frame share one; its round trip has a test of its own
    told["mask"] = None if shape.mask is None else shape.mask.tolist()
    if shape.kind == "skeleton":
        told.pop("points")
    return told


@settings(max_examples=many(60))
@given(listed=st.lists(shapes(), max_size=6))
def test_every_shape_comes_back_as_it_was(listed: list[CvatShape], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "shapes.xml"
    write_shapes(listed, path, video="v <1>", width_px=640, height_px=360)
    back = read_shapes(path)
    assert sorted(map(repr, map(content, back))) == sorted(map(repr, map(content, listed)))


@pytest.mark.parametrize("text", [CVAT_VIDEO, CVAT_IMAGES], ids=["video", "images"])
def test_files_from_the_format_description_lose_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "in.xml").write_text(text)
    shapes_in = read_shapes(tmp_path / "in.xml")
    write_shapes(shapes_in, tmp_path / "out.xml", video="case 12", width_px=640, height_px=360)
    back = read_shapes(tmp_path / "out.xml")
    assert sorted(map(repr, map(content, back))) == sorted(map(repr, map(content, shapes_in)))


def one(kind: str = "box", **more: object) -> CvatShape:
    base = CvatShape(kind, "Clip", 3, None, (0, 0, 0, 0), 0.0, False, False, True, {}, (), None, None)
    return base._replace(**more)


def test_a_rotated_box_keeps_its_corners_and_is_read_as_the_box_around_it(tmp_path: Path) -> None:
    turned = one(outline=(10.0, 10.0, 30.0, 20.0), rotation_deg=45.0)
    write_shapes([turned], tmp_path / "a.xml", video="v", width_px=64, height_px=48)
    (back,) = read_shapes(tmp_path / "a.xml")
    assert (back.outline, back.rotation_deg) == (turned.outline, 45.0)
    half = 15 / 2**0.5
    assert back.box == pytest.approx((20 - half, 15 - half, 2 * half, 2 * half))
    procedures, findings = read(tmp_path / "a.xml")
    assert procedures[0].tracks[0].boxes[0] == pytest.approx(back.box, abs=1e-6)
    assert "rotation" in {finding.code for finding in findings}


def test_image_files_keep_their_names_by_which_cvat_finds_the_frames(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(CVAT_IMAGES)
    came = read_shapes(tmp_path / "a.xml")
    assert [shape.image for shape in came] == ["f0.png", "f0.png", "f1.png"]
    write_shapes(came, tmp_path / "b.xml", video="v", width_px=100, height_px=50)
    assert [shape.image for shape in read_shapes(tmp_path / "b.xml")] == ["f0.png", "f0.png", "f1.png"]
