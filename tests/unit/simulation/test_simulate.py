from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, UnknownName, WouldOverwrite
from surgvalid.schema.procedures.procedure_files import read_procedure
from surgvalid.simulation import CHARACTERISTICS, simulate, true_procedure

pytest.importorskip("av")
SMALL = {"minutes": (1, 1), "width_px": 160, "height_px": 90}


def test_a_set_is_written_and_read_back(tmp_path):
    simulation = simulate(3, seed=2, minutes=(2, 3))
    table = simulation.to_dir(tmp_path)
    assert table.equals(simulation.table)
    for number, procedure in enumerate(simulation.procedures()):
        assert read_procedure(tmp_path / "procedures" / f"{procedure.video}.json") == procedure
        conditions = pl.read_parquet(tmp_path / "conditions" / f"{procedure.video}.parquet")
        assert conditions.columns == ["second", *CHARACTERISTICS]
        assert conditions.height == procedure.duration_s
        assert true_procedure(simulation.scene(number)) == procedure
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["verb"] == "simulate"
    assert manifest["seeds"] == {"seed": 2}
    assert not (tmp_path / "videos").exists()


@pytest.mark.long
def test_the_files_are_the_same_for_any_number_of_processes(tmp_path):
    simulation = simulate(2, seed=5, **SMALL)
    for name, workers in (("one", 1), ("two", 2)):
        simulation.to_dir(tmp_path / name, video=True, clock=True, workers=workers)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len([path for path in files if path.suffix == ".mp4"]) == 4
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path


def test_nothing_is_overwritten_unless_forced(tmp_path):
    simulation = simulate(1, **SMALL)
    simulation.to_dir(tmp_path)
    with pytest.raises(WouldOverwrite):
        simulation.to_dir(tmp_path)
    simulation.to_dir(tmp_path, force=True)


def test_wrong_names_and_numbers_are_refused_at_once():
    with pytest.raises(UnknownName, match="did you mean 'Cholecystectomy'"):
        simulate(1, types=["Cholezystectomy"])
    with pytest.raises(Misuse, match="minutes"):
        simulate(1, minutes=(0.1, 0.2))
    with pytest.raises(Misuse, match="negative"):
        simulate(1, seed=-1)
    with pytest.raises(Misuse, match="there are 1 procedures"):
        simulate(1).scene(1)


def test_types_are_found_in_any_case_and_the_package_offers_it():
    assert surgvalid.simulate(1, types=["appendectomy"]).types == ("Appendectomy",)


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["data", "simulate", *map(str, arguments)])


def test_the_verb_writes_annotations_and_videos_and_prints_a_table(tmp_path):
    done = run(
        tmp_path, "--procedures", 1, "--minutes", 1, "--height", 90, "--workers", 1, "--with", "clock", "--seed", 3
    )
    assert done.exit_code == 0, done.output
    assert "sim3_0000" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "conditions", "manifest.json", "overlayed", "procedures", "procedures.csv", "videos",
    ]  # fmt: skip


def test_the_verb_prints_json_and_can_leave_out_the_videos(tmp_path):
    done = run(tmp_path, "--without", "video", "--procedures", 2, "--minutes", "1-2", "--json", "--workers", 1)
    assert done.exit_code == 0, done.output
    assert [row["video"] for row in json.loads(done.stdout)["procedures"]] == ["sim42_0000", "sim42_0001"]
    assert not (tmp_path / "videos").exists()


@pytest.mark.parametrize(
    "options", [("--minutes", "long"), ("--minutes", "1-2-3"), ("--fps", 0), ("--procedure-type", "Nephrectomy")]
)
def test_the_verb_refuses_what_cannot_be(tmp_path, options):
    done = run(tmp_path / "new", *options)
    assert isinstance(done.exception, Misuse)
    assert not (tmp_path / "new").exists()
