"""Table 2 of Roß et al. (2023): every cell is the separate fit of its outcome and group."""

import numpy as np
import polars as pl
import pytest
from examples.simulated_instruments import Simulation
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from surgvalid.cli import build_app
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.stats.mixed.failures import failures

OPTIONS = {"fixed": ["i_dark", "i_instrument", "b_smoke"], "random": ["algorithm", "patient", "image", "instance"],
           "slopes": False}  # fmt: skip
OUTCOMES = {"precision": "tp / predicted", "recall": "tp / reference"}


def instruments(seed: int = 1, patients: int = 5) -> pl.DataFrame:
    """Simulated instances with the number of instruments of their image; only several can cover each other."""
    frame = Simulation(patients=patients, images=50, instances=80, algorithms=3).frame(seed)
    count = frame.select("image", "instance").unique().group_by("image").len("instruments")
    several = pl.col("instruments") > 1
    return frame.join(count, on="image", maintain_order="left").with_columns(
        i_instrument=pl.when(several).then(pl.col("i_instrument")).otherwise(0)
    )


def test_every_cell_is_the_separate_fit_of_its_rows() -> None:
    frame = instruments()
    result = failures(frame, form="symbols", outcomes=OUTCOMES, split="instruments > 1", **OPTIONS)
    groups = {"instruments > 1": pl.col("instruments") > 1, "instruments <= 1": pl.col("instruments") <= 1}
    assert result.shown.columns == ["term", *(f"{o}, {g}" for o in OUTCOMES for g in groups)]
    for outcome, trials in (("precision", "predicted"), ("recall", "reference")):
        for group, rows in groups.items():
            alone = failures(frame.filter(rows), successes="tp", trials=trials, **OPTIONS).table
            cell = result.table.filter(outcome=outcome, group=group)
            assert_frame_equal(cell.select(alone.columns), alone, check_exact=True)
    single = result.table.filter(pl.col("term") == "i_instrument", pl.col("group") == "instruments <= 1")
    assert single["symbol"].to_list() == ["x", "x"]
    assert any("i_instrument is 0 in every row" in text for text in result.warnings)
    assert sum("i_instrument is 0 in every row" in text for text in result.warnings) == 1


def test_the_verb_writes_the_table_and_shows_it_in_symbols(tmp_path) -> None:
    instruments().write_csv(tmp_path / "scores.csv")
    words = ["analyse", "failures", str(tmp_path / "scores.csv"), "--form", "symbols", "--outcome",
             "precision=tp/predicted,recall=tp/reference",
             "--by", "instruments>1", "--fixed", ",".join(OPTIONS["fixed"]), "--random",
             ",".join(OPTIONS["random"]), "--spec", "slopes=none", "--out", str(tmp_path / "out")]  # fmt: skip
    done = CliRunner().invoke(build_app(), words)
    assert done.exit_code == 0, done.output
    assert "recall, instruments <= 1" in done.stdout
    written = pl.read_csv(tmp_path / "out" / "failure_table.csv")
    made = failures(instruments(), form="symbols", outcomes=OUTCOMES, split="instruments>1", **OPTIONS).table
    assert_frame_equal(written.select("estimate", "p_value"), made.select("estimate", "p_value"), rel_tol=1e-9)


def test_a_group_that_cannot_be_fitted_is_crosses_and_a_warning() -> None:
    frame = instruments().with_columns(
        tp=pl.when(pl.col("instruments") > 1).then(pl.col("reference")).otherwise(pl.col("tp"))
    )
    result = failures(frame, form="symbols", outcomes={"recall": "tp/reference"}, split="instruments>1", **OPTIONS)
    assert set(result.table.filter(group="instruments > 1")["symbol"]) == {"x"}
    assert any("recall, instruments > 1" in text and "always a success" in text for text in result.warnings)
    with pytest.raises(TableInvalid, match=r"recall, instruments = 1: .*always a success"):
        failures(frame.with_columns(tp=pl.col("reference")), form="symbols", outcomes={"recall": "tp/reference"},
                      split="instruments", **OPTIONS)  # fmt: skip


def test_columns_are_renamed_in_every_option() -> None:
    frame = instruments().rename({"algorithm": "network", "patient": "operation"})
    names = {"model": "network", "video": "operation"}
    options = OPTIONS | {"random": ["network", "operation", "image", "instance"]}
    renamed = failures(frame, form="symbols", outcomes={"recall": "tp/reference"}, columns=names, **options)
    plain = failures(instruments(), form="symbols", outcomes={"recall": "tp/reference"}, **OPTIONS)
    assert renamed.table["p_value"].to_list() == pytest.approx(plain.table["p_value"].to_list(), nan_ok=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcomes": {}}, "no outcome"),
        ({"outcomes": {"a": "b/c/d"}}, "neither a column nor"),
        ({"split": "instance"}, "80 values"),
        ({"split": "image > 3"}, "no numbers"),
    ],
)
def test_what_makes_no_table_is_refused(options: dict, message: str) -> None:
    with pytest.raises(Misuse, match=message):
        failures(instruments(), form="symbols", **({"outcomes": OUTCOMES} | OPTIONS | options))


def scored(seed: int = 1) -> pl.DataFrame:
    """Instances with scores that `i_dark` spoils: overlap, distance, a 0/1 failure and a number of no known kind."""
    rng = np.random.default_rng(seed)
    frame = instruments(seed, patients=8)
    spoilt = 0.8 * frame["i_dark"].to_numpy() + rng.normal(0, 0.6, frame.height)
    return frame.with_columns(
        dice=pl.Series(0.7 - 0.05 * spoilt), hd95=pl.Series(5 + spoilt), blurriness=pl.Series(spoilt),
        missed=pl.Series((spoilt > 0.5).astype(float)),
    )  # fmt: skip


@pytest.mark.long
def test_a_minus_hurts_and_a_plus_helps_whatever_is_better() -> None:
    outcomes = {"overlap": "dice", "distance": "hd95", "unknown": "blurriness"}
    result = failures(scored(), form="symbols", outcomes=outcomes, **OPTIONS)
    dark = dict(result.table.filter(term="i_dark").select("outcome", "symbol").iter_rows())
    assert {outcome: mark.strip("-") or "-" for outcome, mark in dark.items()} == {
        "overlap": "-", "distance": "-", "unknown": "larger",
    }  # fmt: skip
    estimates = dict(result.table.filter(term="i_dark").select("outcome", "estimate").iter_rows())
    assert estimates["overlap"] < 0 < estimates["distance"]
    assert "a plus helps, a minus hurts, in every column" in result.prose
    assert "In unknown nobody said which values are better: the symbols say larger or smaller" in result.prose
    told = failures(scored(), form="symbols", outcomes=outcomes, better={"blurriness": "smaller"}, **OPTIONS)
    assert {mark[0] for mark in told.table.filter(term="i_dark")["symbol"]} == {"-"}


def test_odds_of_something_bad_turn_the_symbol_and_the_sentence() -> None:
    options = OPTIONS | {"outcome": "missed"}
    bad = failures(scored(), better="smaller", **options)
    good = failures(scored().with_columns(missed=1 - pl.col("missed")), **options)
    assert bad.table["symbol"].to_list() == good.table["symbol"].to_list()
    assert bad.table.filter(term="i_dark")["symbol"].item().startswith("-")
    assert bad.table.filter(term="i_dark")["odds_ratio"].item() > 1
    assert "Most harmful: i_dark" in bad.prose
    assert bad.records["fit"]["better"] == "smaller"


def test_symbols_of_linear_models_are_not_explained_as_odds_ratios() -> None:
    frame = instruments().with_columns(hd95=1.0 + pl.int_range(pl.len()).hash(seed=1) % 1000 / 100)
    result = failures(frame, form="symbols", outcomes={"hd": "hd95", "recall": "tp / reference"}, **OPTIONS)
    assert "In hd (linear models) the steps are 0.2, 0.5 and 0.8 SD of the outcome." in result.prose
    assert "linear models" not in failures(frame, form="symbols", outcomes=OUTCOMES, **OPTIONS).prose
