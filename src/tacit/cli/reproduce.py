"""`tacit reproduce`: tables about the papers, computed anew, and whether what is said of them holds."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer
from rich.console import Group
from rich.table import Table

from tacit.budget import Budget
from tacit.cli.answering import DONE, REFUTED, AsJson, Quiet, answering, example
from tacit.kernels.magnitudes import CELLS, Magnitudes

EXAMPLE = example("tacit reproduce noise")
_DELTA = 1e-6
_CLAIMS = {
    "vacuous": "with the paper's constants PINP is worse than answering 0, in every row",
    "best": "a Gaussian process errs least of all that is private, in every row",
}


def reproduce(
    table: Annotated[Literal["noise"], typer.Argument(help="noise: ICML 2013, what answers of a kernel model cost.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute a table about the papers anew; exit code 1 if what tacit says of it does not hold.

    Nothing private is read. Figures that train models take minutes, and are scripts in the source: experiments/.
    """
    del table  # There is one so far.
    with answering(as_json, quiet) as out:
        cells = [(cell, Magnitudes(Budget(cell[0], _DELTA), *cell[1:])) for cell in CELLS]
        rows = [_row(cell, magnitudes) for cell, magnitudes in cells]
        holds = {
            "vacuous": all(row["pinp_published"] > row["zero"] for row in rows),
            "best": all(row["process"] < min(row["pinp"], row["tddl"], row["gaussian"]) for row in rows),
        }
        said = "\n".join(f"{'holds' if held else 'REFUTED'}: {_CLAIMS[name]}" for name, held in holds.items())
        out.result({"table": "noise", "delta": _DELTA, "rows": rows, "holds": holds}, Group(_shown(rows), said))
        out.note("Errors that 5 of 100 tables of answers exceed; logistic loss, delta 1e-6, rows of norm 1.")
    raise typer.Exit(DONE if all(holds.values()) else REFUTED)


def _row(cell: tuple[float, int, float, int], magnitudes: Magnitudes) -> dict[str, Any]:
    epsilon, records, ridge, answers = cell
    return {
        "epsilon": epsilon,
        "records": records,
        "ridge": ridge,
        "answers": answers,
        "zero": magnitudes.trivial,
        "pinp_published": magnitudes.pinp_published,
        "pinp": magnitudes.pinp()[0],
        "tddl": magnitudes.tddl,
        "gaussian": magnitudes.independent,
        "process": magnitudes.process,
    }


def _shown(rows: Sequence[Mapping[str, Any]]) -> Table:
    names = {"pinp_published": "PINP, paper", "pinp": "PINP", "tddl": "TDDL", "records": "n"}
    shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in rows[0]:
        shown.add_column(names.get(name, name), justify="right")
    for row in rows:
        shown.add_row(
            *(f"{value:.0e}" if name in ("records", "answers") else f"{value:.3g}" for name, value in row.items())
        )
    return shown
