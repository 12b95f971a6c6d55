"""The table of noise magnitudes: known numbers to two digits, and the command that prints it."""

import runpy
import sys
from pathlib import Path

import pytest

from tacit.budget import Budget

SCRIPT = str(Path(__file__).resolve().parents[2] / "benchmarks" / "noise_table.py")
BENCHMARK = runpy.run_path(SCRIPT)
CELLS, Magnitudes, table = (BENCHMARK[name] for name in ("CELLS", "Magnitudes", "table"))
CELL = Magnitudes(Budget(1, 1e-6), 10**5, 0.01, 10**4)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(CELL.trivial, 11.8), (CELL.pinp_published, 588), (CELL.pinp(16 / 5)[0], 5.5), (CELL.tddl, 13.3),
     (CELL.process, 0.0386), (CELL.deviation, 0.00845), (CELL.pinp()[0], 4.9)],
)  # fmt: skip
def test_the_known_numbers_come_out(value, wanted):
    """Epsilon 1, 100,000 records, ridge 0.01, 10,000 answers: to two digits."""
    assert value == pytest.approx(wanted, rel=0.011)


@pytest.mark.parametrize(
    ("epsilon", "count", "ridge", "answers", "published", "tddl", "process"),
    [
        (0.1, 10**4, 1e-2, 100, 4219, 80, 2.53),
        (0.1, 10**5, 1e-2, 100, 1334, 8.02, 0.253),
        (0.1, 10**6, 1e-3, 10**4, 5875, 129, 0.331),
        (1.0, 10**4, 1e-2, 10**4, 1858, 133, 0.386),
        (1.0, 10**6, 1e-2, 100, 133, 0.0827, 0.00294),
        (1.0, 10**6, 1e-2, 10**4, 186, 1.33, 0.00386),
    ],
)
def test_other_cells_come_out(epsilon, count, ridge, answers, published, tddl, process):
    """Across epsilons and sizes, to two digits."""
    cell = Magnitudes(Budget(epsilon, 1e-6), count, ridge, answers)
    assert cell.pinp_published == pytest.approx(published, rel=0.01)
    assert cell.tddl == pytest.approx(tddl, rel=0.01)
    assert cell.process == pytest.approx(process, rel=0.01)


def test_published_pinp_is_vacuous_and_the_process_best_in_every_cell():
    """The paper's constants are always worse than answering 0; the Gaussian process is always the best."""
    for epsilon, count, ridge, answers in CELLS:
        cell = Magnitudes(Budget(epsilon, 1e-6), count, ridge, answers)
        assert cell.pinp_published > cell.trivial
        assert cell.process < min(cell.pinp()[0], cell.tddl, cell.independent)


def test_the_command_prints_the_table(monkeypatch, capsys):
    """`python benchmarks/noise_table.py` prints one row for each cell."""
    monkeypatch.setattr(sys, "argv", [SCRIPT])
    runpy.run_path(SCRIPT, run_name="__main__")
    printed = capsys.readouterr().out.strip()
    assert printed == table()
    assert len(printed.splitlines()) == 2 + len(CELLS)
