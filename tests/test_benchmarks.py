"""Benchmarks: all of them are run, and what they measure on is coded as published comparisons code it."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


def test_every_benchmark_is_run() -> None:
    """`make bench` runs all that can be run; what it does not run is there for something that it does run."""
    makefile = (BENCHMARKS.parent / "Makefile").read_text(encoding="utf-8")
    texts = {path.name: path.read_text(encoding="utf-8") for path in BENCHMARKS.glob("*.py")}
    run = set(re.findall(r"python benchmarks/(\w+\.py)$", makefile, re.MULTILINE))
    assert len(run) > 10
    assert run <= texts.keys()
    assert {name for name, text in texts.items() if "__main__" in text} == run
    needed = set(run)
    for _ in texts:
        lines = "\n".join(texts[name] for name in needed)
        needed |= {name for name in texts if re.search(rf"(?:import|from) {name[:-3]}\b|\b{name}\"", lines)}
    assert needed == texts.keys()


def test_adult_is_coded_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """45,222 records, 104 columns, rows of norm 1: a number is a share of its largest value, a level has a column."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    try:
        import datasets  # type: ignore[import-not-found]

        data = datasets.adult_published()
    finally:
        sys.modules.pop("datasets", None)
    assert data.rows.shape == (45_222, 104)
    assert sorted(set(data.labels.tolist())) == sorted(data.classes)
    np.testing.assert_allclose(np.linalg.norm(data.rows, axis=1), 1.0, rtol=1e-12)
    # Six numbers, and one column of each of the eight features with levels (sex has two of them): nothing is missing.
    filled = (data.rows > 0).sum(axis=1)
    assert filled.min() >= 8 + 2
    assert filled.max() <= 8 + 6


def test_what_decides_accuracy_is_in_the_mark_that_keeps_runs_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A changed default, in whatever room it is, gives another mark; a change of what scores are shown does not."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    try:
        import accuracy_settings  # type: ignore[import-not-found]
    finally:
        for name in ("accuracy_settings", "datasets"):
            sys.modules.pop(name, None)
    source = BENCHMARKS.parent / "src" / "tacit"
    copy = shutil.copytree(source, tmp_path / "tacit", ignore=shutil.ignore_patterns("__pycache__"))
    mark = accuracy_settings.fingerprint(copy)
    assert mark == accuracy_settings.fingerprint(source)
    for name in ("erm/perturbations/defaults.py", "erm/rows/rows.py", "noise.py", "mechanisms/process.py"):
        with (copy / name).open("a") as file:
            file.write("# changed\n")
        assert mark != (mark := accuracy_settings.fingerprint(copy)), name
    with (copy / "cli" / "app.py").open("a") as file:
        file.write("# changed\n")
    assert mark == accuracy_settings.fingerprint(copy)
