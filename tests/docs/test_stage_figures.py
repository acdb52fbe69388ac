"""The figures on the annotation stages come from a command in the tree, and it still runs."""

from docs.studies import with_table
from docs.validate_stages import HELD_OUT, PAGE, TABLES, Rate, flag_study, missing_found
from examples.erring_annotators import Detector

from docs import validate_stages
from surgvalid.questions.stages.cross_check import Thresholds


def test_every_table_has_its_place_on_the_page_and_figures_in_it():
    text = PAGE.read_text(encoding="utf-8")
    assert set(TABLES) == set(HELD_OUT)
    for name in TABLES:
        again = with_table(text, name, "| new |")
        assert "| new |" in again
        own = text.partition(f"<!-- {name} begins -->")[2].partition(f"<!-- {name} ends -->")[0]
        assert own.count("\n|---") == 1
        assert " of " in own or "times" in own


def test_held_out_seeds_choose_nothing():
    """A seed of the figures must not appear in a test of the stages, where thresholds are looked at."""
    folder = PAGE.parents[2] / "tests" / "unit" / "questions"
    for path in folder.rglob("test_*.py"):
        for seed in HELD_OUT.values():
            assert f"draw_scene({seed}" not in path.read_text(encoding="utf-8")


def test_a_small_study_counts_errors_and_flags():
    study = flag_study(21, range(1), Detector(), Thresholds())
    found = missing_found(study)
    assert found.errors.of == sum(1 for _ in study.errors("missed"))
    assert found.flags.of == len(study.flagged("missing"))
    assert 0 < found.errors.hits <= found.errors.of
    assert str(Rate(3, 4)) == "3 of 4 (75 %)"
    assert validate_stages.spurious_found(study).errors.hits > 0
