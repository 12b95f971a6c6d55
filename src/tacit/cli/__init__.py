"""The command line: a thin skin over the library, one command per file."""

import sys
from typing import NoReturn

from tacit.cli.ends import FAILED, INTERRUPTED, WRONG, error_as_json

__all__ = ["main"]


def main() -> None:
    """Run the `tacit` command."""
    try:
        from tacit.cli.app import app

        app()
    except ModuleNotFoundError as error:
        _leave("NotInstalled", f"the command line needs {error.name}: pip install 'tacit[cli]'", WRONG)
    except KeyboardInterrupt:
        _leave("Interrupted", INTERRUPTED, FAILED)


def _leave(kind: str, message: str, code: int) -> NoReturn:
    """Say an error without the packages that print all others, and leave."""
    if "--json" in sys.argv:
        sys.stdout.write(error_as_json(kind, message, code))
    else:
        print(message, file=sys.stderr)
    sys.exit(code)
