"""The `tacit` command itself: errors of usage in the manner of all others, and no traceback."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from tacit.cli.answering import UsageProblem, refuse, refuse_for
from tacit.cli.commands import listed, loaded
from tacit.cli.console import NotPrinted, printing
from tacit.cli.ends import FAILED, WRONG

_INTERRUPTED = 130
_PIPE_CLOSED = 1


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
            with printing():
                code = self._left_with(given, others)
                if code == _INTERRUPTED:
                    raise KeyboardInterrupt
        except UsageProblem as error:
            code = _told(error, "--json" in given)
        except (typer.Abort, KeyboardInterrupt, NotPrinted) as failure:
            code = _code(refuse_for, failure, "--json" in given)
        sys.exit(code if isinstance(code, int) else 0)

    def _left_with(self, given: list[str], others: Mapping[str, Any]) -> Any:
        """Run a command; typer's own codes for an interrupt and a pipe that was closed are not ours."""
        try:
            return super().main(args=given, **others)
        except typer.Exit as end:
            return end.exit_code
        except SystemExit as end:
            return FAILED if end.code == _PIPE_CLOSED else end.code


def _code(refusing: Callable[..., NoReturn], *given: Any, **named: Any) -> int:
    """Return the code that a refusal leaves with."""
    try:
        refusing(*given, **named)
    except typer.Exit as end:
        return end.exit_code


def _told(error: Any, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return WRONG
    hint = "" if getattr(error, "ctx", None) is None else f" See: {error.ctx.command_path} --help"
    return _code(refuse, "Usage", f"{error.format_message()}{hint}", WRONG, as_json=as_json)
