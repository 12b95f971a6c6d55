"""What does it cost to protect patients instead of their stays? Untuned fits of the same stays, both ways.

Diabetes 130 has 101,766 stays of 71,518 patients, some of whom came 40 times. Patients are split at random, four fifths
for training, so that nobody is on both sides; scores are exact, over the test patients' stays. Both models promise the
same epsilon: one for each stay, the other for each patient with all their stays. An infinite epsilon shows what it
costs that a patient's stays count as one, without any noise.

    python benchmarks/persons.py            # four splits; writes benchmarks/results/persons.md
    python benchmarks/persons.py --quick    # two splits, nothing written
"""

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import real_tables
from sklearn.metrics import log_loss, roc_auc_score

from tacit import PrivateLogisticRegression
from tacit.data import Records
from tacit.secret import open_secret

RESULTS = Path(__file__).parent / "results" / "persons.md"
BUDGETS = [(epsilon, delta) for epsilon in (0.1, 0.316, 1.0, 3.16) for delta in (0.0, 1e-6)] + [(math.inf, 0.0)]
TABLE = real_tables.BY_NAME["patients"]
WAYS = {"stay": None, "patient": TABLE.unit}


def splits(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield training and test cells, no patient in both."""
    cells = TABLE.read()
    patients, owners = np.unique(np.asarray(cells[str(TABLE.unit)], dtype=str), return_inverse=True)
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(patients))
        trains = np.isin(owners, order[: int(0.8 * len(patients))])
        yield tuple({name: column[mask] for name, column in cells.items()} for mask in (trains, ~trains))  # type: ignore[misc]


def scores(train: Records, test: Records, truth: Any, epsilon: float, delta: float, seed: int) -> tuple[float, ...]:
    """Fit a rehearsal; return seconds, and accuracy, AUC and log-loss over stays, then over patients."""
    start = time.perf_counter()
    model = PrivateLogisticRegression(epsilon, delta, random_state=seed).fit(train)
    seconds = time.perf_counter() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances = model.predict_proba(test)[:, list(model.classes_).index("<30")]
    found = [seconds]
    for weights in (None, open_secret(test.secret).weights()):
        found.append(float(np.average((chances > 0.5) == truth, weights=weights)))
        found.append(float(roc_auc_score(truth, chances, sample_weight=weights)))
        found.append(float(log_loss(truth, chances, sample_weight=weights)))
    return tuple(found)


def page(found: dict[tuple[float, float, str], Any], count: int, sizes: str) -> str:
    """Write the tables."""
    lines = [
        "# Patients or stays",
        "",
        "What it costs to protect a patient with all their stays instead of each stay by itself: Diabetes 130, untuned",
        f'`PrivateLogisticRegression` on `Records` with `unit="patient_nbr"` and without; {count} splits by patient,',
        f"mean +- standard error. {sizes} Scores are exact, over",
        "the test patients; 11 % of the stays are positive. Points lost are hundredths of accuracy and of AUC.",
        "`python benchmarks/persons.py`.",
    ]
    for title, first in (("Every test stay counts once", 1), ("Every test patient counts once", 4)):
        lines += ["", f"## {title}", "", _HEAD, "|---" * 10 + "|"]
        lines += [_row(found, epsilon, delta, first) for epsilon, delta in BUDGETS]
    seconds = {way: np.mean([row[0] for key, rows in found.items() if key[2] == way for row in rows]) for way in WAYS}
    ratio = seconds["patient"] / seconds["stay"]
    return "\n".join([*lines, "", f"A fit of patients takes {ratio:.2f} times as long as one of stays.", ""])


_HEAD = (
    "| epsilon | delta | accuracy: stays | patients | points lost | AUC: stays | patients | points lost "
    "| log-loss: stays | patients |"
)


def _row(found: dict[tuple[float, float, str], Any], epsilon: float, delta: float, first: int) -> str:
    """Write one line: accuracy, AUC and log-loss stand at `first` and after it."""
    stay, patient = (np.array(found[epsilon, delta, way])[:, first : first + 3] for way in WAYS)
    cells = [f"{epsilon:g}", f"{delta:g}"]
    for place in (0, 1):
        lost = 100 * (stay - patient)[:, place]
        error = lost.std(ddof=1) / np.sqrt(len(lost))
        cells += [f"{stay[:, place].mean():.4f}", f"{patient[:, place].mean():.4f}"]
        cells.append(f"{lost.mean():+.2f} +- {error:.2f}")
    return f"| {' | '.join([*cells, *(f'{each[:, 2].mean():.4f}' for each in (stay, patient))])} |"


def main() -> None:
    """Fit both ways over all splits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two splits, nothing written")
    quick = parser.parse_args().quick
    count, found, sizes = 2 if quick else 4, {}, ""
    for seed, (mine, theirs) in enumerate(splits(count)):
        test = Records(theirs, TABLE.schema, unit=TABLE.unit)
        truth = theirs["readmitted"] == "<30"
        for way, unit in WAYS.items():
            train = Records(mine, TABLE.schema, unit=unit)
            sizes += f" {train.n:,} {way}s" * (seed == 0)
            for epsilon, delta in BUDGETS:
                result = scores(train, test, truth, epsilon, delta, seed)
                found.setdefault((epsilon, delta, way), []).append(result)
        print(f"split {seed + 1} of {count}", flush=True)
    text = page(found, count, f"In the first split{sizes.replace('stays', 'stays of', 1)} train.")
    print(text)
    if not quick:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
