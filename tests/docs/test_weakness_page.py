"""The page from weaknesses to an algorithm shows the stored results and nothing else."""

from docs import weakness_page as w


def test_tables_of_the_page_are_those_of_the_stored_results():
    assert w.page() == w.PAGE.read_text(encoding="utf-8")


def test_pictures_are_those_of_the_stored_results():
    for name, text in w.pictures().items():
        assert (w.FIGURES / name).read_text(encoding="utf-8") == text
        assert f"figures/{name}" in w.PAGE.read_text(encoding="utf-8")


def test_the_sham_shows_no_gain_in_what_is_stored():
    for part in w.PARTS:
        assert "better" not in w.read(f"gains_{part}_sham")["verdict"].to_list()
    assert (w.read("overall").filter(arm="sham")["low"] < 0).all()
