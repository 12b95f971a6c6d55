"""Programs that some tests start for themselves, and that need not be on every machine."""

import os
import shutil
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """End a test that cannot run here: as skipped, or as failed in continuous integration, where nothing is skipped."""
    reason = f"{what} is not installed: tools/install-ci-packages installs it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def needed(program: str, what: str) -> str:
    """Return where a program is."""
    return shutil.which(program) or missing(what)
