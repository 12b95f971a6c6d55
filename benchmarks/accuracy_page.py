"""The page and the picture that the accuracy benchmark writes."""

import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accuracy_settings import (
    BEFORE,
    DEFAULT,
    MAJORITY,
    OURS_FOR,
    PLAIN,
    PURE,
    SETTINGS,
    SKLEARN,
    Cell,
    Fit,
    Peer,
    Setting,
)


def cells(fits: list[Fit]) -> dict[tuple[str, str, float], Cell]:
    """Gather the repeats of each setting, model and epsilon."""
    found: dict[tuple[str, str, float], Cell] = defaultdict(Cell)
    for fit in fits:
        found[fit.setting, fit.model, fit.epsilon].values.append(100 * fit.accuracy)
    return found


def table(setting: Setting, found: dict[tuple[str, str, float], Cell]) -> str:
    """Set our rows beside the peers', as Markdown."""
    lines = ["| | kind | " + " | ".join(f"ε = {epsilon:g}" for epsilon in setting.epsilons) + " |"]
    lines.append("|---" * (len(setting.epsilons) + 2) + "|")
    for label in setting.private:
        kind = "pure" if label == PURE else "(ε, δ)"
        shown = [str(found[setting.name, label, epsilon]) for epsilon in setting.epsilons]
        lines.append(f"| **tacit, {label}** | {kind} | " + " | ".join(shown) + " |")
    for peer in setting.peers:
        kind = ("pure" if peer.kind == "pure" else "(ε, δ)") + (", tuned" if peer.tuned else "")
        figures = [f"{peer.figures[epsilon]:.1f}" if epsilon in peer.figures else "" for epsilon in setting.epsilons]
        lines.append(f"| {peer.name} | {kind} | " + " | ".join(figures) + " |")
    plain = ", ".join(f"{label} {found[setting.name, label, math.inf]}" for label in (PLAIN, SKLEARN))
    splits = len(found[setting.name, SKLEARN, math.inf].values)
    among = f" on {splits} of the splits" if splits > 1 else ""
    rest = f"Without privacy{among}: {plain}. Majority class {found[setting.name, MAJORITY, 0.0]}."
    return "\n".join([*lines, "", rest])


def comparisons(setting: Setting, found: dict[tuple[str, str, float], Cell]) -> Iterator[tuple[Peer, float, Cell]]:
    """Yield every peer's figure with the default of its kind, pure against pure."""
    for peer in setting.peers:
        for epsilon in peer.figures:
            yield peer, epsilon, found[setting.name, OURS_FOR[peer.kind], epsilon]


def verdict(ours: Cell, theirs: float) -> str:
    """Say whether we are ahead, within one standard error, or behind."""
    gap = ours.mean - theirs
    if gap > 0:
        return "ahead"
    return "within one standard error" if gap >= -ours.error else "behind"


def verdicts(setting: Setting, found: dict[tuple[str, str, float], Cell]) -> str:
    """Count the comparisons and name those that are not ahead."""
    told = [
        (verdict(ours, peer.figures[eps]), peer, eps, ours.mean - peer.figures[eps])
        for peer, eps, ours in comparisons(setting, found)
    ]
    lines = [f"Ahead in {sum(word == 'ahead' for word, *_ in told)} of {len(told)} comparisons."]
    lines += [
        f"- {word}: {peer.name}{' (tuned)' if peer.tuned else ''} at ε = {eps:g}, by {gap:+.2f} points"
        for word, peer, eps, gap in told
        if word != "ahead"
    ]
    return "\n".join(lines)


def section(setting: Setting, fits: list[Fit], found: dict[tuple[str, str, float], Cell]) -> str:
    """Return one setting's part of the page."""
    mine = [fit for fit in fits if fit.setting == setting.name]
    size, columns = mine[0].trained_on, mine[0].columns
    delta, repeats = setting.delta_for(size), len({fit.repeat for fit in mine})
    facts = [f"{size:,} records to train on", f"{columns} columns", f"δ = {delta:.3g} where there is one"]
    facts += [f"{repeats} repeats", "source " + ", ".join(sorted({fit.source for fit in mine}))]
    return "\n\n".join([f"## {setting.title}", "; ".join(facts) + ".", table(setting, found), verdicts(setting, found)])


HEAD = """# Accuracy, side by side with the peers

Test accuracy in percent: mean ± standard error over fresh splits (80/20) and fresh noise. Replace-one neighbours.
Made by `python benchmarks/accuracy.py`, which does 10 repeats; a section that says fewer was stopped early, by the
clock (`--resume` goes on). Every fit is in [accuracy.csv](accuracy.csv), with a hash of the source that made it.

![accuracy against epsilon](accuracy.svg)

- **Untuned.** `PrivateLogisticRegression(epsilon, delta, data_norm=1.0)`: the ridge and the perturbation are the
  defaults, which see public quantities only. The rows "noisy gradients" ask for
  `perturbation="gradient"`. Rows are arrays here, in which numbers are straight lines; models of `Records`, whose
  numbers are curves, are in [three scores](three_scores.md).
- **What the defaults have seen before.** None of these sets is untouched.
  - The *form* of the default ridge was suggested by accuracies on Adult with 104 columns.
  - The *encoder's* defaults were chosen among some thirty ways to code records by their accuracy on Adult, Diabetes
    130, CoverType and KDD99.
  - Earlier runs of this benchmark, with the defaults of their time, were behind some rows. That is why other defaults
    were looked for: after the first a ridge for pure noise and clipped softmax gradients, after the second a margin in
    the logistic loss with a ridge of its own, an anchor for softmax gradients, and other weights in the encoder. All
    were chosen on made-up problems and checked on others ([the margin](default_margin.md),
    [softmax](softmax_clipping.md), [the ridge before](default_ridge.md), and now
    [margin, ridge and curves by three scores](default_scores.md)), and no accuracy on these sets was looked at
    between the choice and this run. But *that* they were looked for is owed to these test sets.
  - The bounds in the schemas of CoverType and KDD99 are round numbers, declared by someone who knew the published
    ranges of these columns.
- **Rehearsals.** Fits are seeded, to be repeatable. A seeded fit has the law of a private one and is not private.
- **Compared** are like with like: pure with our pure default, (ε, δ) with our (ε, δ) default. *Tuned*
  rows chose parameters by test accuracy; of Yu et al.'s DP-SGD and DP-GD it is only known that the number of steps was
  chosen among three, and they are counted as tuned. The standard error is ours alone, theirs is not published.
- **The published settings.** KDD99 is 70,000 records of the 10 % file and MNIST 65,000 of its 70,000 digits, the
  numbers of Iyengar et al.'s benchmark, which Yu et al. follow; drawn afresh in every repeat, without replacement.
  Columns "as published": numbers divided by their largest value, one column a level, every row divided by its norm;
  bounds are declared in the place of the largest value found.
"""

REASONS = """## What is not beaten, and what may be why

None of these explanations was tested on the data set it speaks of, and no default was changed after these figures
were seen.

- **Adult through its schema**, the rows with a delta at ε of 0.316 and 1. At ε of 1 we are within 0.2 points of the
  models without privacy on these splits, 84.0, and the prototype's 84.1 and 84.2 lie above those. So noise is not what
  is missing there, but the code of records, or luck: the prototype's figures are means of six draws on other splits,
  without an error. One difference of code is known. The encoder puts capital gains and losses, nearly always 0, at -1,
  where they take room in every row. To put what is usual at the origin was tried on made-up tables and dropped there
  ([the origin](default_margin.md)).
- **KDD99 through a schema**, DP-SGD and DP-GD. Most columns are counts and flags that are nearly always 0, and these
  are at -1 or -1/2 as well. With the columns as published, where they are at 0, we are ahead.

The run before, with the defaults of its time, and this one (ε from 0.1 to 3.16, or the one of the table). Where the
number of repeats is the same the splits are; CoverType had 8 and MNIST 9.

| | pure | with a delta |
|---|---|---|
{moved}
"""


def page(fits: list[Fit]) -> str:
    """Return the page of results."""
    found, there = cells(fits), {fit.setting for fit in fits}
    parts = [section(setting, fits, found) for setting in SETTINGS if setting.name in there]
    return "\n\n".join([HEAD.strip(), *parts, REASONS.format(moved=moved(found)).strip()]) + "\n"


def moved(found: dict[tuple[str, str, float], Cell]) -> str:
    """Say what the means of the run before were, and what they are now."""
    lines = []
    for setting in SETTINGS:
        cells = [setting.title]
        for label in (PURE, DEFAULT):
            before = BEFORE.get((setting.name, label), ())
            now = [found[setting.name, label, epsilon] for epsilon in setting.epsilons]
            pairs = [f"{old:.2f} → {new.mean:.2f}" for old, new in zip(before, now, strict=False) if new.values]
            cells.append(", ".join(pairs))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(fits: list[Fit], path: Path) -> None:
    """Draw accuracy against epsilon for Adult, and the single figures of the other sets."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "tacit", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    found, there = cells(fits), {fit.setting for fit in fits}
    shown = [setting for setting in SETTINGS if setting.name in there]
    rows = -(-len(shown) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(12, 3.6 * rows), layout="constrained", squeeze=False)
    for axis, setting in zip(axes.flat, shown, strict=False):
        (_curves if len(setting.epsilons) > 1 else _points)(axis, setting, found)
        axis.set_title(setting.title)
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _curves(axis: Any, setting: Setting, found: dict[tuple[str, str, float], Cell]) -> None:
    """Accuracy against epsilon: ours with error bars, the peers' thin."""
    for label, colour in zip(setting.private, ("tab:blue", "tab:green", "tab:red"), strict=True):
        ours = [found[setting.name, label, epsilon] for epsilon in setting.epsilons]
        means, errors = [cell.mean for cell in ours], [cell.error for cell in ours]
        axis.errorbar(setting.epsilons, means, errors, color=colour, label=f"tacit, {label}", lw=2, capsize=3)
    for peer, marker in zip([peer for peer in setting.peers if len(peer.figures) > 1], "osv^Dx", strict=False):
        colour = "tab:blue" if peer.kind == "pure" else "tab:red"
        points = (list(peer.figures), list(peer.figures.values()))
        axis.plot(*points, color=colour, ls=":", lw=1, marker=marker, ms=4, alpha=0.6, label=peer.name)
    axis.axhline(found[setting.name, SKLEARN, math.inf].mean, color="black", lw=0.8, label="without privacy")
    axis.set(xscale="log", xlabel="epsilon", ylabel="test accuracy, %")
    axis.set_xticks(setting.epsilons, [f"{epsilon:g}" for epsilon in setting.epsilons])
    axis.set_ylim(bottom=75)
    axis.legend(fontsize=7)


def _points(axis: Any, setting: Setting, found: dict[tuple[str, str, float], Cell]) -> None:
    """One epsilon: a point for each of our rows and each peer."""
    (epsilon,) = setting.epsilons
    ours = [(f"tacit, {label}", found[setting.name, label, epsilon]) for label in setting.private]
    plain = ("without privacy", found[setting.name, SKLEARN, math.inf])
    for place, (_, cell) in enumerate([*ours, plain]):
        colour = "tab:red" if place < len(ours) else "black"
        axis.errorbar([cell.mean], [place], xerr=[cell.error], color=colour, marker="o", capsize=3)
    peers = [peer for peer in setting.peers if epsilon in peer.figures]
    places = range(len(ours) + 1, len(ours) + 1 + len(peers))
    axis.plot([peer.figures[epsilon] for peer in peers], list(places), "s", color="tab:gray")
    names = [*(name for name, _ in [*ours, plain]), *(peer.name for peer in peers)]
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_xlabel(f"test accuracy at epsilon {epsilon:g}, %")
    axis.invert_yaxis()
    axis.grid(axis="x", lw=0.3)
