"""What tests of the ledger share: one interpreter for all processes that race, die or lose their rights."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import support


@pytest.fixture(scope="session")
def worker() -> Iterator[Callable[..., Any]]:
    """Give a function that has a command of support/ledger_workers.py carried out, and returns what came of it."""
    script = Path(support.__file__).with_name("ledger_workers.py")
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, script], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(command: str, *arguments: object) -> Any:
            print(json.dumps([command, *map(str, arguments)]), file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert "failure" not in answer, answer["failure"]
            return answer["answer"]

        yield ask
        process.kill()
