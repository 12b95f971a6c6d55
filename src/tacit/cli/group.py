"""The `tacit` command itself: errors of usage in the manner of all others, and no traceback."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from tacit.cli.answering import FAILED, WRONG, UsageProblem, refuse
from tacit.cli.commands import listed, loaded


class TacitGroup(TyperGroup):
    """A group whose commands are loaded when they are used, and whose errors of usage are told like other errors.

    That is one line, or JSON where JSON was asked for.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": listed()})

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that was named, and load it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else loaded(name), rest

    def main(self, args: Sequence[str] | None = None, **others: Any) -> Any:  # type: ignore[override]
        """Run a command and leave with its exit code."""
        given = list(sys.argv[1:] if args is None else args)
        others["standalone_mode"] = False
        try:
            code = super().main(args=given, **others)
        except typer.Exit as end:
            code = end.exit_code
        except UsageProblem as error:
            code = _told(error, "--json" in given)
        except (typer.Abort, KeyboardInterrupt):
            code = FAILED
        except BrokenPipeError:
            # Whoever read our words has gone; Python would complain once more on its way out.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = FAILED
        sys.exit(code if isinstance(code, int) else 0)


def _told(error: Any, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return WRONG
    hint = "" if getattr(error, "ctx", None) is None else f" See: {error.ctx.command_path} --help"
    try:
        refuse("Usage", f"{error.format_message()}{hint}", WRONG, as_json)
    except typer.Exit as end:
        return end.exit_code
