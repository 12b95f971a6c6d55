"""`tacit reproduce`: the table of the library, in 80 columns, and exit code 1 where a claim about it fails."""

import pytest

from tacit import Budget
from tacit.kernels.magnitudes import CELLS, Magnitudes


def test_the_table_is_the_librarys_and_its_claims_hold(clinic):
    """One row a cell with the library's numbers; both claims hold; a terminal of 80 columns has room for it."""
    plain = clinic.run("reproduce", "noise", "--json")
    assert (plain.code, plain.plain["holds"]) == (0, {"vacuous": True, "best": True})
    for row, (epsilon, *others) in zip(plain.plain["rows"], CELLS, strict=True):
        assert row["process"] == Magnitudes(Budget(epsilon, 1e-6), *others).process
        assert row["pinp_published"] > 1
    shown = clinic.run("reproduce", "noise")
    assert max(map(len, shown.out.splitlines())) <= 80
    assert len(shown.out.splitlines()) == 1 + len(CELLS) + 2
    assert "REFUTED" not in shown.out
    assert clinic.run("reproduce", "nothing").code == 2


@pytest.mark.parametrize(("name", "value", "claim"), [("pinp_published", 0.0, "vacuous"), ("process", 1e9, "best")])
def test_a_claim_that_fails_is_refuted(clinic, monkeypatch, name, value, claim):
    """Were one number otherwise, the command would say so and end with 1."""
    monkeypatch.setattr(Magnitudes, name, value)
    ended = clinic.run("reproduce", "noise", "--json")
    assert (ended.code, ended.plain["holds"][claim]) == (1, False)
    assert "REFUTED" in clinic.run("reproduce", "noise").out
