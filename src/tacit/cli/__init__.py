"""The command line: a thin skin over the library, one command per file."""

import sys

__all__ = ["main"]

_WRONG, _FAILED = 2, 5


def main() -> None:
    """Run the `tacit` command."""
    try:
        from tacit.cli.app import app

        app()
    except ModuleNotFoundError as error:
        print(f"the command line needs {error.name}: pip install 'tacit[cli]'", file=sys.stderr)
        sys.exit(_WRONG)
    except KeyboardInterrupt:
        sys.exit(_FAILED)
