from pathlib import Path

import pytest

from surgvalid.schema.model_names import model_name


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (("runs/unet.json",), "unet"),
        ((Path("runs/unet.v2.csv"),), "unet.v2"),
        ((["heico=a/unet.json", "lapchole=b/unet.json"],), "unet"),
        ((["runs/unet/frame.json", "runs/unet/segment.json"],), "unet"),
        ((None, Path("boxes.json"), None), "boxes"),
        (([{"qID": "q1"}],), "model"),
        ((), "model"),
    ],
)
def test_a_model_is_called_as_the_file_of_its_answers(sources: tuple[object, ...], name: str) -> None:
    assert model_name(None, *sources) == name
    assert model_name("U-Net", *sources) == "U-Net"


def test_a_folder_of_predictions_gives_its_whole_name(tmp_path: Path) -> None:
    (tmp_path / "unet.v2").mkdir()
    assert model_name(None, tmp_path / "unet.v2") == "unet.v2"
    assert model_name(None, str(tmp_path / "unet.v2") + "/") == "unet.v2"
