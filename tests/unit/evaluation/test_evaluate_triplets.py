"""Triplets: scikit-learn, NPZ files and bad input."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score

import surgvalid
from surgvalid.errors import FileUnreadable, InputInvalid

RNG = np.random.default_rng(5)
REFERENCE = RNG.random((30, 100)) < 0.1
SCORES = RNG.random((30, 100))
VIDEO = np.repeat(["VID01", "VID02", "VID03"], 10)
FRAME = np.tile(np.arange(10), 3)


def wide(prefix: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{prefix}:{place}": values[:, place] for place in range(100)}


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    at = {"video": VIDEO, "frame": FRAME}
    return pl.DataFrame({**at, **wide("score", SCORES)}), pl.DataFrame({**at, **wide("reference", REFERENCE * 1)})


def present(rows: np.ndarray) -> float:
    classes = np.flatnonzero(REFERENCE[rows].any(axis=0))
    return float(np.mean([average_precision_score(REFERENCE[rows][:, c], SCORES[rows][:, c]) for c in classes]))


def test_global_and_video_values_equal_scikit_learn_over_present_classes() -> None:
    result = surgvalid.evaluate("triplets", *tables(), metrics=["triplet_map_ivt"], replicates=20)
    assert result.value("triplet_map_ivt") == pytest.approx(present(np.ones(30, bool)))
    inside = dict(result.per_video.select("video", "value").rows())
    assert inside["VID02"] == pytest.approx(present(VIDEO == "VID02"))
    first = result.per_class.row(0, named=True)
    assert first["value"] == pytest.approx(average_precision_score(REFERENCE[:, 0], SCORES[:, 0]))
    assert first["references"] == REFERENCE[:, 0].sum()


def test_an_npz_file_gives_the_same_as_the_tables(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", video=VIDEO, frame=FRAME, reference=REFERENCE * 1, scores=SCORES)
    stored = surgvalid.evaluate("triplets", tmp_path / "t.npz", replicates=10)
    assert stored.metrics.equals(surgvalid.evaluate("triplets", *tables(), replicates=10).metrics)
    assert set(stored.conventions["triplet_map_i_videos"]["conventions"]) >= {"null triplets", "absent class"}


def test_pickled_and_broken_files_are_never_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", video=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FileUnreadable, match="never opened"):
        surgvalid.evaluate("triplets", tmp_path / "p.npz")
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileUnreadable):
        surgvalid.evaluate("triplets", tmp_path / "b.npz")
    with open(tmp_path / "a.npz", "wb") as handle:
        np.save(handle, np.zeros(3))
    with pytest.raises(FileUnreadable):
        surgvalid.evaluate("triplets", tmp_path / "a.npz")


def test_wrong_shapes_and_missing_columns_are_listed(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", video=VIDEO, reference=REFERENCE[:, :5] * 1, scores=SCORES[:4])
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("triplets", tmp_path / "t.npz")
    assert len(caught.value.problems) == 3
    scores, references = tables()
    with pytest.raises(InputInvalid, match="but the classes are"):
        surgvalid.evaluate("triplets", scores.drop("score:7"), references)
    with pytest.raises(InputInvalid, match="10 references and 9 predictions"):
        surgvalid.evaluate("triplets", scores[1:], references)
