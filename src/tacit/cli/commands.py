"""The commands there are, each loaded when it is used: help, completion and typing errors load nothing else."""

from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group

SUMMARIES = {
    "train": "From a table and its schema to a model, card and report.",
    "predict": "What a model file says about the records of a table.",
    "evaluate": "Private scores of a model on records it never saw.",
    "tune": "The best of some candidates, chosen and paid for once.",
    "inspect": "What a model file promises, holds and leaves open.",
    "query": "A share of the records, or the mean of a number.",
    "explain": "What an epsilon means, in words and as a picture.",
    "schema": "Begin a schema, and check one.",
    "records": "Read a table once, and keep what was cleaned.",
    "ledger": "Budget accounts: create, show, verify, divide.",
    "audit": "Attack a claim and say whether it survives.",
    "reproduce": "A table or figure of the papers, computed anew.",
    "demo": "All of it on 45,222 bundled records, in a minute.",
    "serve": "Answer analysts over HTTP, who never see a record.",
}
"""Each is a module of this package: one function of that name with its EXAMPLE, or an `app` of several commands."""


def listed() -> dict[str, Any]:
    """Return what a list of commands shows: names and summaries."""
    return {name: TyperCommand(name, short_help=summary) for name, summary in SUMMARIES.items()}


@cache
def loaded(name: str) -> Any:
    """Return a command that can be run."""
    module = import_module(f"tacit.cli.{name}")
    if hasattr(module, "app"):
        return get_group(module.app)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, epilog=module.EXAMPLE)(getattr(module, name))
    return get_command(alone)
