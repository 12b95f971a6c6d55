"""docs/service.md: its commands and its script run as they are written, against the demonstration."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from support.needs import needed

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "service.md").read_text("utf-8")
TACIT = [str(Path(sys.executable).with_name("tacit"))]


def blocks(kind: str) -> list[str]:
    """Return the blocks of code of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """`tacit serve --demo` at a port that is free: where it is, and its tokens."""
    assert "tacit serve --demo --port 8765\n" in blocks("")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("demonstration")
    command = [*TACIT, "serve", "--demo", "--port", str(port), "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        told, _ = json.JSONDecoder().raw_decode(_object(process))
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{told['address']}/healthz", timeout=5):
                    break
            except OSError:
                assert time.monotonic() < until
                assert process.poll() is None
                time.sleep(0.1)
        yield told
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
        process.stdout.close()


def _object(process: subprocess.Popen) -> str:
    """Read a JSON object from a process that goes on."""
    text = ""
    for line in process.stdout:
        text += line
        if line.startswith("}"):
            return text
    raise AssertionError(text)


def environment(demonstration: dict[str, str]) -> dict[str, str]:
    """Return what the page's reader has set."""
    return {**os.environ, "TACIT_TOKEN": demonstration["analyst"], "TACIT_URL": demonstration["address"]}


def test_the_pages_curl_lines_ask_price_and_are_answered_once(demonstration):
    """Each runs in a shell as it is written, but for the port; the last one twice, with one answer."""
    needed("curl", "curl, by which the page asks,")
    told = []
    for line in [*blocks("curl"), blocks("curl")[-1]]:
        here = line.replace("http://127.0.0.1:8765", demonstration["address"])
        ran = subprocess.run(
            ["bash", "-c", here], env=environment(demonstration), capture_output=True, text=True, timeout=60, check=True
        )
        told.append(json.loads(ran.stdout))
    listed, priced, answered, again = told
    assert [each["name"] for each in listed["datasets"]] == ["adult"]
    assert priced["affordable"]
    assert abs(answered["answers"][0]["value"] - 0.02) < 0.05
    assert answered == again


def test_the_pages_script_runs_on_the_twin_and_then_on_the_records(demonstration, tmp_path):
    """The same file: a rehearsal first, which costs nothing, then the real thing, which does."""
    script = tmp_path / "script.py"
    script.write_text("".join(blocks("python")), "utf-8")
    for more in ({"REHEARSE": "yes"}, {}):
        ran = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env={**environment(demonstration), **more}, capture_output=True,
            text=True, timeout=240, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        assert "AUC" in ran.stdout
        assert ("NOT private" in ran.stdout) == bool(more)
    assert (tmp_path / "income.tacit").exists()


def test_whoever_has_no_token_is_told_nothing(demonstration):
    """401, and no name of a data set."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{demonstration['address']}/v1/datasets", timeout=10)
    assert refused.value.code == 401
    assert "adult" not in refused.value.read().decode()
