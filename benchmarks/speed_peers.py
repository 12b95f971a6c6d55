"""Time of a private fit: tacit's, with its certificate, and diffprivlib's, on the same rows in one run.

Usage: python benchmarks/speed_peers.py [--rows 1000000] [--columns 50] [--repeats 5]

diffprivlib runs in an environment of its own (benchmarks/peers-requirements.txt), made on first use in
.venv-peers. The two take turns; what is compared is the median of the fits, data already in memory.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from tacit import PrivateLogisticRegression

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / ".venv-peers"
RESULTS = HERE / "results" / "speed_peers.md"
ALPHA = 1e-4

PEER = """
import json, sys, time, warnings
import numpy as np
from diffprivlib.models import LogisticRegression
warnings.simplefilter("ignore")
folder, alpha, repeats = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")
for line in sys.stdin:
    start = time.perf_counter()
    LogisticRegression(epsilon=1.0, data_norm=1.0, C=1 / (alpha * len(y))).fit(X, y)
    print(json.dumps(time.perf_counter() - start), flush=True)
"""


def peer_python() -> Path:
    """Return the other environment's interpreter, making the environment if need be."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        requirements = HERE / "peers-requirements.txt"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True)
    return python


def problem(rows: int, columns: int, smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of norm at most 1 with column scales from 1 down to `smallest`, and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)) * np.geomspace(1, smallest, columns)
    X /= np.linalg.norm(X, axis=1).max()
    w = rng.normal(size=columns) * 20
    return X, np.where(X @ w + rng.logistic(size=rows) > 0, 1, 0)


def compare(X: np.ndarray, y: np.ndarray, repeats: int) -> tuple[float, float]:
    """Return the median seconds of both, taking turns."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        np.save(f"{folder}/y.npy", y)
        command = [str(peer_python()), "-c", PEER, folder, str(ALPHA), str(repeats)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
            assert peer.stdin is not None
            assert peer.stdout is not None
            for _ in range(repeats + 1):
                start = time.perf_counter()
                PrivateLogisticRegression(1.0, data_norm=1.0, alpha=ALPHA, classes=[0, 1]).fit(X, y)
                ours.append(time.perf_counter() - start)
                peer.stdin.write("\n")
                peer.stdin.flush()
                theirs.append(json.loads(peer.stdout.readline()))
            peer.stdin.close()
    return statistics.median(ours[1:]), statistics.median(theirs[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    lines = [
        "# A certified private fit next to diffprivlib's",
        "",
        f"`python benchmarks/speed_peers.py {' '.join(sys.argv[1:])}`".replace(" `", "`"),
        "",
        f"{given.rows:,} rows of norm at most 1, {given.columns} columns, ridge {ALPHA:g}, epsilon 1, objective "
        f"perturbation; medians of {given.repeats} fits that took turns. tacit certifies (gradient at most "
        "1e-5 R/n); diffprivlib 0.6.6 stops at its default tolerance of 1e-4 and leaves the intercept unregularised.",
        "",
        "| column scales | tacit, s | diffprivlib, s | ratio |",
        "|---|---|---|---|",
    ]
    for smallest in (1.0, 0.01):
        ours, theirs = compare(*problem(given.rows, given.columns, smallest), given.repeats)
        lines.append(f"| 1 to {smallest:g} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")
        print(lines[-1], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
