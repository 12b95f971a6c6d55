"""Opening a session: the fit of an interactive predictor, charged once for all its answers, and its two files."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.accounting.ledger import Ledger
from tacit.data.records import Records
from tacit.files import private_folder
from tacit.kernels.interactive.predictor import InteractiveKernelPredictor
from tacit.models.secret import keep
from tacit.service.datasets import RegisteredTable
from tacit.service.estimators import predictor_of
from tacit.service.jobs.fits import classes_of, paid, part_of
from tacit.service.jobs.sizes import check_work
from tacit.service.jobs.table import Job
from tacit.service.plain import plain_predictor

STATE, SECRET = "answers.db", "predictor"


def prepared(dataset: RegisteredTable, body: Mapping[str, Any]) -> tuple[InteractiveKernelPredictor, Records]:
    """Return the predictor and the records of a session that can be opened here, by public facts alone."""
    predictor, records = predictor_of(body["parameters"]), part_of(dataset, body)
    check_work(predictor, records)
    return predictor, records


def open_session(dataset: RegisteredTable, job: Job, ledger: Ledger, sessions: Path) -> tuple[dict[str, Any], str]:
    """Fit, write the secret and the empty memory into a new folder, and return public facts and the folder's name.

    Each attempt at a job has a folder of its own: the state file of one fit is never another's.
    """
    predictor, records = prepared(dataset, job.body)
    name = f"{job.id}-{job.holder}"
    folder = private_folder(private_folder(sessions) / name)
    predictor.ledger, predictor.state = ledger, folder / STATE
    try:
        predictor.fit(records)
        keep(predictor, folder / SECRET)
        return facts_of(predictor, job, records, ledger), name
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def facts_of(predictor: InteractiveKernelPredictor, job: Job, records: Records, ledger: Ledger) -> dict[str, Any]:
    """Return what is public of a predictor that was fitted."""
    return {
        **paid(predictor.release_, ledger, job.ticket),
        "session": job.id,
        "released": plain_predictor(predictor),
        "part": job.body.get("part", "all"),
        "method": predictor.method,
        "loss": predictor.loss,
        "alpha": predictor.alpha_,
        "n": records.n,
        "columns": list(records.schema.features),
        "classes": classes_of(predictor),
        "points": predictor.points_left_,
        "updates": predictor.updates_left_,
    }


def forget_others(sessions: Path, job: Job) -> None:
    """Remove what earlier attempts at a job left behind: nobody was given an answer from it."""
    for folder in sessions.glob(f"{job.id}-*"):
        if folder.name != f"{job.id}-{job.holder}":
            shutil.rmtree(folder, ignore_errors=True)
