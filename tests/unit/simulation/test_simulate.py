from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from surgvalid import score
from surgvalid.cli import build_app
from surgvalid.errors import Misuse, UnknownName, WouldOverwrite
from surgvalid.schema.procedures.procedure_files import read_procedure
from surgvalid.simulation import CHARACTERISTICS, Renderer, simulate, true_procedure
from surgvalid.video.images import png_bytes

av = pytest.importorskip("av")
pytest.importorskip("numba")
SMALL = {"minutes": (1, 1), "width_px": 160, "height_px": 90}


def run(*arguments: object):
    return CliRunner().invoke(build_app(), ["data", "simulate", *map(str, arguments)])


def test_a_set_is_written_and_read_back(tmp_path):
    simulation = simulate(2, seed=2, minutes=(1, 1.5), width_px=160, height_px=90)
    table = simulation.to_dir(tmp_path)
    assert table.equals(simulation.table)
    for number, procedure in enumerate(simulation.procedures()):
        assert read_procedure(tmp_path / "procedures" / f"{procedure.video}.json") == procedure
        conditions = pl.read_parquet(tmp_path / "conditions" / f"{procedure.video}.parquet")
        assert conditions.columns == ["second", *CHARACTERISTICS, "image_lens_fog", "image_roll"]
        assert conditions.height == procedure.duration_s
        assert true_procedure(simulation.scene(number)) == procedure
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["verb"] == "simulate"
    assert manifest["seeds"] == {"seed": 2}
    assert not (tmp_path / "videos").exists()


@pytest.mark.long
def test_the_files_are_the_same_for_any_number_of_processes(tmp_path):
    simulation = simulate(2, seed=5, minutes=(1, 1), width_px=96, height_px=54)
    for name, workers in (("one", 1), ("two", 2)):
        more = {"masks": True, "passes": True, "pairs": True}
        simulation.to_dir(tmp_path / name, video=True, clock=True, **more, workers=workers)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert len([path for path in files if path.suffix == ".mp4"]) == 4
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes(), path
    simulation.to_dir(tmp_path / "unpainted", masks=True)
    truth = [path for path in files if path.parts[0] in ("procedures", "conditions", "masks")]
    assert len(truth) == 6
    for path in truth:
        assert (tmp_path / "unpainted" / path).read_bytes() == (tmp_path / "one" / path).read_bytes(), path


def image_of(path):
    with av.open(str(path)) as file:
        return next(file.decode(video=0)).to_ndarray(format="rgb24")


@pytest.fixture(scope="module")
def extras(tmp_path_factory):
    """One procedure with passes and pairs, as the verb writes them."""
    folder = tmp_path_factory.mktemp("extras") / "set"
    more = ("--with", "passes", "--with", "pairs", "--without", "video", "--seed", 4)
    done = run(folder, "--procedures", 1, "--minutes", 3, "--height", 136, "--workers", 1, *more)
    assert done.exit_code == 0, done.output
    return folder, simulate(1, seed=4, minutes=(3, 3), width_px=242, height_px=136).scene(0)


def test_every_pass_is_written_in_open_formats_with_dials_and_relations(extras):
    folder, scene = extras
    renderer, related = Renderer(scene), 0
    for second in range(0, scene.duration_s, 10):
        stem = folder / "passes" / f"{scene.video}_{second:06d}"
        frame = renderer.frame(float(second))
        assert stem.with_suffix(".png").read_bytes() == png_bytes(frame.colour)
        told = json.loads(stem.with_name(f"{stem.name}_things.json").read_text())
        with np.load(stem.with_name(f"{stem.name}_passes.npz")) as kept:
            np.testing.assert_array_equal(kept["instance"], frame.labels)
            np.testing.assert_allclose(kept["depth_cm"], frame.depth, rtol=1e-6)
            shown = {thing["number"]: thing for thing in told["things"]}
            assert set(shown) == set(np.unique(np.concatenate([kept["instance"], kept["foil"]])).tolist()) - {-1}
        names = {thing["instance"] for thing in told["things"]}
        assert all({subject, other} <= names for subject, _, other in told["relations"] if other)
        assert {what for _, what, other in told["relations"] if not other} <= {"visible", "doubtful"}
        related += len(told["relations"])
        for one in renderer.look(float(second)).objects:
            row = next(thing for thing in told["things"] if thing["instance"] == one.instance)
            assert (row["verdict"], row["seen_px"], row["shown"]) == (one.verdict, one.seen_px, one.shown)
    assert related > 20


def test_pairs_differ_in_the_answer_and_in_the_one_object_alone(extras):
    folder, scene = extras
    rows, renderer = pl.read_csv(folder / "pairs" / f"{scene.video}_pairs.csv").to_dicts(), Renderer(scene)
    assert len(rows) >= 6
    first, kinds = [], set()
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert (one["question"], one["pair"]) == (other["question"], other["pair"])
        images = {row["answer"]: image_of(folder / "pairs" / f"{row['case']}.png") for row in (one, other)}
        whole = renderer.painter.frame(renderer.world.at(float(one["second"]))).colour
        sight = renderer.look(float(one["second"])).objects
        seen = [s for s in sight if f"any {s.class_name.lower()} in" in one["question"] and s.verdict != "not visible"]
        assert len(seen) == 1
        if one["changed"] != seen[0].instance:  # an artefact, or the centre: the object is there to be seen
            assert (one["answer"], other["answer"]) == ("yes", "yes")
            kinds.add(one["changed"])
            continue
        np.testing.assert_array_equal(images["yes"], whole)
        change = np.abs(images["yes"].astype(int) - images["no"]).max(axis=-1)
        assert change.max() > 6
        may = image_of(folder / "pairs" / f"{scene.video}_{one['second']:06d}_{one['changed']}_change.png")
        assert change[may[..., 0] == 0].max() <= 4
        first.append(one["answer"])
    assert {"yes", "no"} == set(first), "the name of an image does not tell which of the two it is"
    assert any(kind.startswith("Center") for kind in kinds)


def test_pairs_are_scored_as_pairs_and_no_words_pass_them(extras, tmp_path):
    pairs = extras[0] / "pairs"
    asked = pairs / "requests.json", pairs / "references.json"
    texts = {row["qID"]: row["answer"] for row in json.loads(asked[1].read_text())}
    questions = {row["qID"]: row["question"] for row in json.loads(asked[0].read_text())}
    assert all((pairs / f"{case}.png").exists() for case in questions)
    blind = {case: "yes" if len(question) % 2 else "no" for case, question in questions.items()}
    for said, both, same in ((texts, 1.0, 0.0), (blind, 0.0, 1.0)):
        path = tmp_path / "answers.json"
        path.write_text(json.dumps([{"qID": case, "content": text, "latency": 0.1} for case, text in said.items()]))
        rows = score(*asked, path, model="m").summary.filter(level="pair", estimand="rows")
        told = dict(rows["name", "accuracy"].iter_rows())
        assert (told["both right"], told["one answer to both"]) == (both, same)
        assert "both right where the answer stays" in told


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
    with pytest.raises(Misuse, match="seed must lie between 0"):
        simulate(1, seed=-1)
    with pytest.raises(Misuse, match="there are 1 procedures"):
        simulate(1).scene(1)


def test_types_are_found_in_any_case_and_the_package_offers_it():
    assert surgvalid.simulate(1, types=["appendectomy"]).types == ("Appendectomy",)


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
