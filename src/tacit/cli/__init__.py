"""The command line: a thin skin over the library, one command per file."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the `tacit` command."""
    try:
        from tacit.cli.app import app
    except ModuleNotFoundError as error:
        sys.exit(f"the command line needs {error.name}: pip install 'tacit[cli]'")
    app()
