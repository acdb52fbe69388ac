import numpy as np
import pytest

from mixed_data import factor, nested_table
from surgvalid.errors import Misuse
from surgvalid.stats.mixed.model import structure
from surgvalid.stats.mixed.model.structure import is_nested, layout_of

TABLE = nested_table()
NAMES = ("algorithm", "patient", "image", "instance")
FACTORS = [factor(name, TABLE[name].to_numpy()) for name in NAMES]


def test_nested_factors_form_the_chain_and_crossed_ones_the_border() -> None:
    layout = layout_of(FACTORS, TABLE.height)
    assert [NAMES[i] for i in layout.chain] == ["instance", "image", "patient"]
    assert [NAMES[i] for i in layout.border] == ["algorithm"]
    assert layout.row_factor == -1


def test_a_factor_with_one_level_per_row_is_set_apart() -> None:
    layout = layout_of([*FACTORS, factor("row", np.arange(TABLE.height))], TABLE.height)
    assert layout.row_factor == 4
    assert 4 not in layout.chain + layout.border


def test_every_row_finds_its_own_levels_again() -> None:
    layout = layout_of([*FACTORS, factor("row", np.arange(TABLE.height))], TABLE.height)
    sorted_codes = [f.codes[layout.order] for f in FACTORS]
    for i, codes in enumerate(sorted_codes):
        place = layout.level_of_row(i)
        assert len(set(zip(place.tolist(), codes.tolist(), strict=True))) == FACTORS[i].levels


def test_pairs_hold_exactly_the_couplings_that_occur() -> None:
    layout = layout_of(FACTORS, TABLE.height)
    column = layout.columns[:, 0]
    node, seen = layout.leaf, set()
    for start, stop in layout.spans:
        seen |= set(zip(node.tolist(), column.tolist(), strict=True))
        node = layout.node_parent[node] if stop < layout.nodes else node
        assert start < stop
    assert seen == set(zip(layout.pair_node.tolist(), layout.pair_column.tolist(), strict=True))


def test_nesting_is_one_way() -> None:
    assert is_nested(FACTORS[3], FACTORS[2])
    assert not is_nested(FACTORS[2], FACTORS[3])
    assert not is_nested(FACTORS[2], FACTORS[0])


def test_the_chain_with_most_levels_wins() -> None:
    rows = 60
    chosen = layout_of([factor("few", np.arange(rows) % 3), factor("many", np.arange(rows) // 2)], rows)
    assert chosen.chain == (1,)


def test_two_huge_crossed_factors_are_refused_before_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "BORDER_LIMIT", 10)
    rng = np.random.default_rng(0)
    crossed = [factor("a", rng.integers(0, 20, 200)), factor("b", rng.integers(0, 15, 200))]
    with pytest.raises(Misuse, match=r"b \(15 levels\).*order 15 \(limit 10\)"):
        layout_of(crossed, 200)


def test_without_factors_a_null_root_stands_in() -> None:
    layout = layout_of([], 5)
    assert (layout.nodes, layout.width, layout.chain) == (1, 0, ())
