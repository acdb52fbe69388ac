"""The page from weaknesses to an algorithm shows the stored results and nothing else."""

from examples.weakness_to_algorithm.recipes import read_recipes

from docs import weakness_page as w


def test_tables_of_the_page_are_those_of_the_stored_results():
    assert w.page() == w.PAGE.read_text(encoding="utf-8")


def test_pictures_are_those_of_the_stored_results():
    for name, text in w.pictures().items():
        assert (w.FIGURES / name).read_text(encoding="utf-8") == text
        assert f"figures/{name}" in w.PAGE.read_text(encoding="utf-8")


def test_the_sham_shows_no_gain_in_what_is_stored():
    for part in w.PARTS:
        assert "better" not in w.read(f"gains_{part}_sham_baseline")["verdict"].to_list()
    assert (w.read("overall").filter(arm="sham")["low"] < 0).all()


def test_the_sham_of_the_second_round_shows_no_gain_either():
    sham = w.read("second_overall").filter(arm="sham")
    assert sham.height == len(w.PARTS) * len(w.OUTCOMES)
    assert (sham["low_all"] < 0).all()
    for part in w.PARTS:
        assert "better" not in w.read(f"second_gains_{part}_sham_baseline")["verdict"].to_list()


def test_the_second_round_is_the_one_that_was_planned():
    """The arms on the page are those of the recipes, each trained as often as they say, for the steps that they say."""
    recipes = read_recipes(w.RESULTS / "second.json")
    trained = {row["recipe"]: row for row in w.read("second_trainings").iter_rows(named=True)}
    assert set(trained) == {one.name for one in recipes}
    assert all(trained[one.name]["steps"] == 1400 * one.longer for one in recipes)
    planned = ("revised:baseline joining:revised pasting:revised direct:baseline direct:revised sham:baseline "
               "longremedy:longbaseline")  # fmt: skip
    assert planned in w.PAGE.read_text(encoding="utf-8")
    shown = w.read("second_overall").select("arm", "against").unique(maintain_order=True).rows()
    assert [f"{arm}:{against}" for arm, against in shown] == planned.split()
