"""Make the pictures of the documentation: `python tools/pictures.py` writes docs/pictures/*.svg.

They are rehearsals with fixed seeds on the bundled Adult records, which are public: repeatable, and not private.
"""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tacit import Budget, PrivateLogisticRegression, Records, evaluation, statistics
from tacit.accounting.meaning import picture
from tacit.data import adult_schema, load_adult
from tacit.evaluation import TwoClassReport

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SHOWN = ("age", "education-num", "hours-per-week")
SEED = 1


def draw_curves(model: PrivateLogisticRegression) -> None:
    """Draw what a private model has learned of three columns, with the band of its noise."""
    figure = model.curves_.plot(*SHOWN)
    figure.set_size_inches(11, 3.1)
    figure.suptitle("effects on earning >50K, in log-odds", fontsize=9)
    _save(figure, "curves")


def draw_counts(table: dict[str, np.ndarray]) -> None:
    """Draw private counts beside true ones, at three epsilons."""
    levels = list(range(1, 17))
    truth = [int(np.count_nonzero(table["education-num"] == level)) for level in levels]
    figure = Figure(figsize=(11, 3.1), layout="constrained")
    for axes, epsilon in zip(figure.subplots(1, 3, sharey=True), (0.001, 0.01, 0.1), strict=True):
        counts = statistics.histogram(
            table["education-num"], levels=levels, epsilon=epsilon, label="schooling", random_state=SEED
        )
        axes.bar(levels, truth, width=0.8, color="lightgray", label="true")
        axes.plot(levels, counts.value, "o", markersize=4, label="private")
        axes.set(title=f"epsilon = {epsilon:g}", xlabel="years of schooling, in stages")
    axes.legend()
    _save(figure, "counts")


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


def main() -> None:
    """Draw every picture."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tacit", "path.simplify_threshold": 0.5})
    FOLDER.mkdir(exist_ok=True)
    table = load_adult("all")
    train, test = Records(table, adult_schema()).split()
    model = PrivateLogisticRegression(1.0, 1e-6, random_state=SEED).fit(train)
    draw_curves(model)
    draw_counts(table)
    report = evaluation.report(model, test, epsilon=1.0, delta=1e-6, random_state=SEED)
    assert isinstance(report, TwoClassReport)
    report.save(FOLDER / "scores.svg")
    _save(picture(Budget(1)), "epsilon")


if __name__ == "__main__":
    main()
