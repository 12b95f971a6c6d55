"""`tacit reproduce`: tables about the papers, computed anew, and whether what is said of them holds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Group
from rich.table import Table

from tacit.budget import Budget
from tacit.cli.answering import Answering, AsJson, Quiet, answering, example
from tacit.cli.ends import DONE, REFUTED
from tacit.cli.figures import FIGURES, Figure, reproduced
from tacit.cli.places import make_folder
from tacit.errors import InvalidParameter
from tacit.files import check_room
from tacit.kernels.magnitudes import CELLS, Magnitudes

EXAMPLE = example("tacit reproduce noise")
_DELTA = 1e-6
_CLAIMS = {
    "vacuous": "with the paper's constants PINP is worse than answering 0, in every row",
    "best": "a Gaussian process errs least of all that is private, in every row",
}


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="noise: ICML 2013, what answers of a kernel model cost; or a figure of one of the papers: "
            f"{', '.join(FIGURES)}.",
        ),
    ],
    output: Annotated[Path, typer.Option(help="The folder for a figure's table and picture.")] = Path("reproduced"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws or runs: a look, in a minute or two.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute a table about the papers anew; exit code 1 if what tacit says of it does not hold.

    Nothing private is read. Figures take minutes (--quick: less), and 2a and 2b of ICML 2013 the data that the
    environment variable TACIT_DATA points to. They are scripts of the source: run them in a clone.
    """
    with answering(as_json, quiet) as out:
        if table not in ("noise", *FIGURES):
            raise InvalidParameter(f"there is no table {table!r}. Known are noise, {', '.join(FIGURES)}.")
        holds = _noise(out) if table == "noise" else _figure(cast("Figure", table), output, quick, out)
    raise typer.Exit(DONE if all(holds.values()) else REFUTED)


def _noise(out: Answering) -> dict[str, bool]:
    cells = [(cell, Magnitudes(Budget(cell[0], _DELTA), *cell[1:])) for cell in CELLS]
    rows = [_row(cell, magnitudes) for cell, magnitudes in cells]
    holds = {
        "vacuous": all(row["pinp_published"] > row["zero"] for row in rows),
        "best": all(row["process"] < min(row["pinp"], row["tddl"], row["gaussian"]) for row in rows),
    }
    plain = {"table": "noise", "delta": _DELTA, "rows": rows, "holds": holds}
    out.result(plain, Group(_shown(rows), _said(holds, _CLAIMS)))
    out.note("Errors that 5 of 100 tables of answers exceed; logistic loss, delta 1e-6, rows of norm 1.")
    return holds


def _figure(figure: Figure, output: Path, quick: bool, out: Answering) -> dict[str, bool]:
    make_folder(output)
    check_room(output / f"{figure}.csv", 2**20)
    with out.progress(f"computing {figure}"):
        made = reproduced(figure, output, quick)
    files = [str(path) for path in made.files]
    plain = {"table": figure, "quick": quick, "rows": made.rows, "holds": made.holds, "files": files}
    out.result(plain, "\n".join([*(f"file     {path}" for path in files), _said(made.holds, made.words)]))
    return made.holds


def _said(holds: Mapping[str, bool], words: Mapping[str, str]) -> str:
    return "\n".join(f"{'holds' if held else 'REFUTED'}: {words[name]}" for name, held in holds.items())


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
