"""Labels and scores as models write them: a file per video, arrays, list columns, saved data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import surgvalid
from data_set_files import BUILDERS
from shared_data import shared
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.predictions.labels import matched_videos, read_labels

PHASES = (
    *("Preparation", "CalotTriangleDissection", "ClippingCutting", "GallbladderDissection"),
    *("GallbladderPackaging", "CleaningCoagulation", "GallbladderRetraction"),
)


def real(place: str) -> Path:
    return shared("data", "real_formats", "predictions", place)


def references(labels: list[str], *, step: int = 1, video: str = "video43") -> pl.DataFrame:
    frames = [step * place for place in range(len(labels))]
    return pl.DataFrame({"video": [video] * len(labels), "frame": frames, "reference": labels})


@pytest.mark.parametrize(
    ("place", "video", "frames", "labels"),
    [
        ("phases/video41-phase.txt", "video41", [0, 25, 50], ["0", "0", "0"]),
        ("phases/video42_pred.txt", "video42", [0, 1, 2], ["CalotTriangleDissection"] * 3),
        ("phases/video43.txt", "video43", None, ["0", "0", "1"]),
    ],
)
def test_real_phase_files_are_read(place: str, video: str, frames: list[int] | None, labels: list[str]) -> None:
    frame = read_labels(real(place), ()).frame.head(3)
    assert frame["video"].unique().to_list() == [video]
    assert frame["prediction"].to_list() == labels
    if frames is None:
        assert "frame" not in frame.columns
    else:
        assert frame["frame"].to_list() == frames


def test_labels_without_numbers_are_about_the_references_in_order(tmp_path: Path) -> None:
    (tmp_path / "video43.txt").write_text(real("phases/video43.txt").read_text())
    ours = references(["0", "0", "1", "1", "2", "2", "2"], step=25)
    result = surgvalid.evaluate("phases", tmp_path, ours, fps=25)
    assert result.value("phase_accuracy") == pytest.approx(6 / 7)
    assert result.notes[0].startswith(
        "Predictions were read as 1 files, one per video: one label per line, in the order"
    )
    with pytest.raises(InputInvalid, match="7 predictions without numbers for 6 references; which moments they are"):
        surgvalid.evaluate("phases", tmp_path, ours.head(6), fps=25)


def test_numbers_of_phases_are_named_by_the_caller_and_never_guessed(tmp_path: Path) -> None:
    names = [PHASES[n] for n in (0, 0, 1, 1, 2, 2, 3)]
    (tmp_path / "video43.txt").write_text(real("phases/video43.txt").read_text())
    options: dict[str, Any] = {"fps": 1, "classes": PHASES}
    with pytest.raises(InputInvalid, match=r"labels .* are not among the classes"):
        surgvalid.evaluate("phases", tmp_path, references(names), **options)
    told = surgvalid.evaluate("phases", tmp_path, references(names), prediction_labels=PHASES, **options)
    assert told.value("phase_accuracy") == 1.0
    with pytest.raises(InputInvalid, match="predictions 3 are no numbers from 0 to 2"):
        surgvalid.evaluate("phases", tmp_path, references(names), prediction_labels=PHASES[:3], **options)


def test_the_two_lines_of_ms_tcn_are_read(tmp_path: Path) -> None:
    (tmp_path / "video43").write_bytes(real("phases/43-ms-tcn").read_bytes())
    ours = references(["Preparation"] * 2 + ["CalotTriangleDissection"] * 2)
    assert surgvalid.evaluate("phases", tmp_path, ours, fps=1).value("phase_accuracy") == 1.0


def test_videos_are_matched_without_case_and_zeros_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "Video7-phase.txt").write_text("Frame\tPhase\n0\ta\n1\tb\n")
    result = surgvalid.evaluate("phases", tmp_path, references(["a", "b"], video="video07"), fps=1)
    assert result.value("phase_accuracy") == 1.0
    assert "videos by name in another spelling (Video7 as video07)" in result.notes[0]


def test_scores_of_a_video_are_read_with_the_names_of_their_classes(tmp_path: Path) -> None:
    arrays = np.load(real("torchvision/scores_video01.npz"))
    (tmp_path / "video01_scores.npz").write_bytes(real("torchvision/scores_video01.npz").read_bytes())
    best = [PHASES[place] for place in arrays["scores"].argmax(axis=1)]
    frames = arrays["frames"].tolist()
    ours = pl.DataFrame({"video": ["video01"] * len(best), "frame": frames, "reference": best})
    result = surgvalid.evaluate("classification", tmp_path, ours, classes=PHASES)
    assert result.value("accuracy") == 1.0
    with pytest.raises(
        Misuse, match="holds 7 scores per moment and no names; name the classes in order with --classes"
    ):
        surgvalid.evaluate("classification", tmp_path, ours)
    with pytest.raises(InputInvalid, match="7 scores per moment, but 2 classes"):
        surgvalid.evaluate("classification", tmp_path, ours, classes=["a", "b"])


def test_arrays_per_video_and_files_of_arrays_are_read(tmp_path: Path) -> None:
    scores = np.array([[0.9, 0.1], [0.2, 0.8]])
    ours = references(["a", "b"], video="v1")
    np.savez(tmp_path / "all.npz", v1=scores)
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "v1.npy", scores)
    for source in (tmp_path / "all.npz", tmp_path / "folder"):
        result = surgvalid.evaluate("classification", source, ours, classes=["a", "b"])
        assert result.value("accuracy") == 1.0
    np.save(tmp_path / "folder" / "v1.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileUnreadable, match="no plain array"):
        surgvalid.evaluate("classification", tmp_path / "folder", ours, classes=["a", "b"])


def test_list_columns_of_parquet_are_one_column_per_class(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"video": ["v1", "v1"], "frame": [0, 1], "scores": [[0.9, 0.1], [0.2, 0.8]]}).write_parquet(path)
    ours = references(["a", "b"], video="v1")
    assert surgvalid.evaluate("classification", path, ours, classes=["a", "b"]).value("accuracy") == 1.0
    sets = pl.DataFrame({"video": ["v1", "v1"], "frame": [0, 1], "prediction": [["hook"], []]})
    members = pl.DataFrame({"video": ["v1", "v1"], "frame": [0, 1], "reference:hook": [1, 0], "reference:clip": [0, 0]})
    result = surgvalid.evaluate("classification", sets, members, classes=["hook", "clip"])
    assert result.value("label_accuracy") == 1.0


def test_a_saved_data_set_names_its_class_labels(tmp_path: Path) -> None:
    frame = pl.DataFrame({"video": ["v1", "v1"], "frame": [0, 1], "prediction": [1, 0]})
    frame.write_ipc_stream(tmp_path / "data-00000-of-00001.arrow")
    (tmp_path / "state.json").write_text("{}")
    labels = {"prediction": {"names": ["b", "a"], "_type": "ClassLabel"}}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": labels}))
    ours = references(["a", "b"], video="v1")
    assert surgvalid.evaluate("classification", tmp_path, ours).value("accuracy") == 1.0


def test_files_of_several_kinds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "v1.txt").write_text("a\n")
    np.save(tmp_path / "v2.npy", np.zeros((1, 2)))
    with pytest.raises(FileUnreadable, match=r"one per video, got \.npy, \.txt"):
        surgvalid.evaluate("classification", tmp_path, references(["a"], video="v1"))


def test_a_label_of_two_words_after_a_tab_is_one_label(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("Frame\tPhase\n0\tClipping and Cutting\n25\tDissection\n")
    assert read_labels(tmp_path / "v.txt", ()).frame["prediction"].to_list() == ["Clipping and Cutting", "Dissection"]


def test_a_header_says_that_numbers_are_seconds(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("Second\tPhase\n0\tclip\n1\tcut\n")
    assert read_labels(tmp_path / "v.txt", ()).frame.rows(named=True) == [
        {"video": "v", "second": 0, "prediction": "clip"}, {"video": "v", "second": 1, "prediction": "cut"}
    ]  # fmt: skip


def test_seconds_are_compared_with_frames_of_a_known_rate(tmp_path: Path) -> None:
    BUILDERS["cholec80"](tmp_path / "data")
    for video in ("video01", "video41"):
        place = tmp_path / "guess" / f"{video}.txt"
        place.parent.mkdir(exist_ok=True)
        place.write_text("second\tphase\n0\tPreparation\n1\tPreparation\n2\tCalotTriangleDissection\n")
    options = {"data_set": "cholec80", "rate_hz": 1.0}
    result = surgvalid.evaluate("phases", tmp_path / "guess", tmp_path / "data", **options)
    assert result.value("phase_accuracy") == 1.0


def test_a_folder_per_video_names_the_video(tmp_path: Path) -> None:
    for video in ("video_41", "video_42"):
        (tmp_path / video).mkdir()
        (tmp_path / video / "action_discrete.txt").write_text("000000000,0\n000000006,1\n")
    frame = read_labels(tmp_path, ()).frame
    assert frame["video"].unique(maintain_order=True).to_list() == ["video_41", "video_42"]
    assert frame["frame"].to_list() == [0, 6, 0, 6]
    (tmp_path / "video_42" / "more.txt").write_text("0,0\n")
    with pytest.raises(FileUnreadable, match="several text or array files"):
        read_labels(tmp_path, ())


def test_a_number_names_the_only_video_that_has_it() -> None:
    guesses = pl.DataFrame({"video": ["41", "42"], "frame": [0, 0]})
    named, how = matched_videos(["video41", "video42"], guesses)
    assert named["video"].to_list() == ["video41", "video42"]
    assert "41 as video41" in how
    for references in (["video41", "test41", "video42"], ["video41_2", "video42"]):
        assert "41" in matched_videos(references, guesses)[0]["video"].to_list()
