"""Private search over eight ridges against the default ridge, on Adult, at the same total epsilon.

    python benchmarks/private_search.py [repeats]

Test accuracy on a fifth of the records, new splits and noise each time (rehearsals). Ridges "about the default" are the
default one, for the epsilon of a run's fit and by public quantities alone, times the root of 2 to the powers from -4 to
3; "decades" are what somebody lays who knows nothing, eight from 1e-5 to 100. The law of the search was chosen on
made-up tables (`search_law.py`). Written to benchmarks/results/private_search.md.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import tacit
from tacit import PrivateLogisticRegression, Records
from tacit.data import adult_schema, load_adult
from tacit.model_selection import PrivateSearch
from tacit.secret import open_secret

RESULTS = Path(__file__).parent / "results" / "private_search.md"
EPSILONS = (1.0,)
RUN = 2 / 3 * 19 / 20
TARGET = "income"


def accuracy(model, test):
    truth = open_secret(test.secret).labels(test.schema)
    with tacit.public_data():
        return 100 * float(np.mean(model.predict(test) == truth))


def grids(train, epsilon):
    """Eight ridges about the default of a run, which a made-up table of the same size tells; and decades."""
    model = PrivateLogisticRegression(epsilon * RUN, random_state=0).fit(train.twin())
    return {
        "about the default": [{"alpha": model.alpha_ * 2.0 ** (power / 2)} for power in range(-4, 4)],
        "decades": [{"alpha": 10.0**power} for power in range(-5, 3)],
    }


def measured(repeats):
    table = load_adult()
    frame = pd.DataFrame(dict(table))
    rows = []
    for epsilon in EPSILONS:
        found = {"default": [], "about the default": [], "decades": []}
        seconds = []
        for repeat in range(repeats):
            order = np.random.default_rng(repeat).permutation(len(frame))
            train, test = Records(frame.iloc[order].reset_index(drop=True), adult_schema()).split()
            found["default"].append(accuracy(PrivateLogisticRegression(epsilon, random_state=repeat).fit(train), test))
            for name, ridges in grids(train, epsilon).items():
                start = time.perf_counter()
                search = PrivateSearch(PrivateLogisticRegression(), ridges, epsilon=epsilon, random_state=repeat)
                found[name].append(accuracy(search.fit(train), test))
                seconds.append(time.perf_counter() - start)
            print(epsilon, repeat, {name: round(values[-1], 2) for name, values in found.items()}, flush=True)
        rows.append((epsilon, found, seconds))
    return rows


def page(rows, repeats):
    lines = [
        "# Private search over eight ridges against the default ridge", "",
        f"`python benchmarks/private_search.py {repeats}`: Adult, logistic regression, pure; test accuracy in %, mean "
        f"and standard error over {repeats} splits; 50 runs on average. The grid about the default was settled after a "
        "look at such figures of Adult.", "",
        "| epsilon in all | default ridge | search about the default | difference | search over decades | difference | "
        "seconds a search: median, longest |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for epsilon, found, seconds in rows:
        told = {
            name: f"{np.mean(each):.2f} +- {np.std(each, ddof=1) / len(each) ** 0.5:.2f}"
            for name, each in found.items()
        }
        apart = {
            name: f"{np.mean(np.subtract(found[name], found['default'])):+.2f} +- "
            f"{np.std(np.subtract(found[name], found['default']), ddof=1) / repeats**0.5:.2f}"
            for name in ("about the default", "decades")
        }
        lines.append(
            f"| {epsilon:g} | {told['default']} | {told['about the default']} | {apart['about the default']} | "
            f"{told['decades']} | {apart['decades']} | {np.median(seconds):.0f}, {np.max(seconds):.0f} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    RESULTS.write_text(page(measured(repeats), repeats), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))
