"""The figures of the papers: scripts in the source, run whole, and what is said of their tables."""

import contextlib
import importlib
import io
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final, get_args

import tacit
from tacit.errors import InvalidParameter
from tacit.files import write_whole

Figure = Literal[
    "nips2008-figure1", "nips2008-figure2", "icml2013-figure2a", "icml2013-figure2b", "icml2013-interactive"
]
FIGURES = get_args(Figure)
_QUICK: Mapping[str, Sequence[str]] = {
    "nips2008-figure1": ("--draws", "20"),
    "nips2008-figure2": ("--draws", "20"),
    "icml2013-figure2a": ("--runs", "1", "--landmarks", "100"),
    "icml2013-figure2b": ("--runs", "1"),
    "icml2013-interactive": ("--points", "1000"),
}


@final
@dataclass(frozen=True)
class Reproduced:
    """A table made anew, the files that it stands in, and which claims it bears out."""

    rows: list[dict[str, str]]
    files: list[Path]
    holds: dict[str, bool]
    words: dict[str, str]


def reproduced(figure: Figure, output: Path, quick: bool) -> Reproduced:
    """Run an experiment of the source; its files are moved to the folder when all are there."""
    name = figure.replace("-", "_")
    with _scripts(), tempfile.TemporaryDirectory() as made:
        script, claims = importlib.import_module(name), importlib.import_module("claims").CLAIMS[figure]
        missing: Any = importlib.import_module("datasets").MissingData
        try:
            # What experiments print is no result of the command.
            with contextlib.redirect_stdout(sys.stderr if sys.stderr.isatty() else io.StringIO()):
                script.main([*(_QUICK[figure] if quick else ()), "--output", made])
        except missing as error:
            raise InvalidParameter(f"{figure} needs data that is not here: {error}") from None
        rows = importlib.import_module("result_files").read_table(Path(made) / f"{name}.csv")
        files = []
        for path in sorted(Path(made).iterdir()):
            files.append(output / path.name)
            write_whole(files[-1], [path.read_bytes()])
    holds = {claim.name: bool(claim.holds(rows)) for claim in claims}
    return Reproduced(rows, files, holds, {claim.name: claim.words for claim in claims})


@contextlib.contextmanager
def _scripts() -> Iterator[None]:
    """Let the scripts beside the package be imported; they are no part of what is installed elsewhere."""
    folder = Path(tacit.__file__).resolve().parents[2] / "experiments"
    if not (folder / "claims.py").is_file():
        raise InvalidParameter(
            "the experiments are scripts in the source of tacit, which an installed package does not hold: run this "
            "in a clone of the repository, after `make demo` or `pip install --editable .[cli]`."
        )
    places = [str(folder), str(folder.parent / "benchmarks")]
    sys.path[:0] = places
    try:
        yield
    finally:
        for place in places:
            sys.path.remove(place)
