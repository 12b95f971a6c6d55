"""The experiments of the 2008 paper: their data, a few of their numbers again, and the files they leave."""

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from support.statistical import count_fits

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

FOLDER = Path(__file__).resolve().parent.parent / "experiments"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType, ModuleType]:
    """Import the experiments, which are scripts beside the package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import nips2008
    import nips2008_figure1
    import nips2008_figure2

    return nips2008, nips2008_figure1, nips2008_figure2


def committed(shared: ModuleType, figure: int) -> list[dict[str, str]]:
    """Read a committed table."""
    return list(shared.result_files.read_table(FOLDER / "results" / f"nips2008_figure{figure}.csv"))


def one(table: list[dict[str, str]], **wanted: Any) -> dict[str, str]:
    """Return the one row with these entries."""
    (row,) = [row for row in table if all(row[name] == str(value) for name, value in wanted.items())]
    return row


def test_separable_data_has_unit_rows_and_a_margin(scripts: Any) -> None:
    """Rows have norm one, none lies within 0.03 of the plane, and the labels are the plane's sides."""
    X, y = scripts[0].separable(3000)
    assert X.shape == (3000, 10)
    assert np.allclose(np.linalg.norm(X, axis=1), 1)
    assert np.min(np.abs(X[:, 0])) >= 0.03
    assert np.array_equal(y, np.sign(X[:, 0]))


def test_noisy_data_has_flips_in_the_band_only(scripts: Any) -> None:
    """A fifth of the labels within 0.1 of the plane are wrong, and none outside."""
    X, y = scripts[0].noisy(20_000)
    wrong, band = y != np.sign(X[:, 0]), np.abs(X[:, 0]) <= 0.1
    assert not np.any(wrong & ~band)
    assert count_fits(int(wrong.sum()), int(band.sum()), 0.2)


def test_folds_share_the_records_out(scripts: Any) -> None:
    """Five folds of 3,500 test records and 14,000 training records, every record tested once."""
    shared = scripts[0]
    X, y = shared.noisy(shared.POINTS)
    parts = list(shared.folds(X, y))
    assert [(len(fold.y), len(fold.y_test)) for fold in parts] == [(14_000, 3_500)] * 5
    assert np.array_equal(np.concatenate([fold.X_test for fold in parts]), X)


@pytest.mark.parametrize("method", ["sensitivity", "new"])
@pytest.mark.parametrize("data", ["separable", "noisy"])
def test_a_few_draws_agree_with_the_committed_table(scripts: Any, data: str, method: str) -> None:
    """Thirty draws with other seeds come within six standard errors of the committed mean."""
    shared = scripts[0]
    row = one(committed(shared, 1), data=data, scenario="as described", method=method)
    parts = list(shared.folds(*shared.DATA[data](shared.POINTS)))
    again = shared.private(method, parts, 0.1, 30, seed=1)
    chance = math.hypot(float(row["spread_over_runs"]) / math.sqrt(30), float(row["standard_error"]))
    assert abs(again.mean - float(row["error"])) < 6 * chance


def test_the_committed_table_supports_the_page(scripts: Any) -> None:
    """The epsilons at which the printed errors would be measured lie within the sweep, about a fifth of 0.1."""
    table = committed(scripts[0], 1)
    for data in ("separable", "noisy"):
        for method in ("sensitivity", "new"):
            implied = one(table, data=data, scenario="published (implied)", method=method)
            assert 0.016 < float(implied["epsilon"]) < 0.0225


def test_the_scripts_write_their_files(scripts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each script leaves a table that names its command and a picture that says it is a rehearsal."""
    shared, first, second = scripts
    for script in (first, second):
        monkeypatch.setattr(script, "POINTS", 1500)
    monkeypatch.setattr(first, "DATA_SETS", 2)
    monkeypatch.setattr(second, "SIZES", (500, 1000))
    monkeypatch.setattr(second, "EPSILONS", (0.05, 0.2))
    for number, script in enumerate((first, second), start=1):
        script.main(["--draws", "5", "--output", str(tmp_path)])
        table = (tmp_path / f"nips2008_figure{number}.csv").read_text(encoding="utf-8")
        assert table.startswith(f"# {shared.LABEL}; made by: python experiments/nips2008_figure{number}.py --draws 5\n")
        assert shared.LABEL in (tmp_path / f"nips2008_figure{number}.svg").read_text(encoding="utf-8")
