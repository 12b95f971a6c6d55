"""`tacit serve`: the trusted learner, over HTTP."""

import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.answering import AsJson, Quiet, answering, example
from tacit.errors import InvalidParameter

EXAMPLE = example(
    "tacit serve --demo --port 8765",
    "tacit serve --config service.toml --custodian carol",
    "tacit serve --config service.toml",
)


def serve(
    config: Annotated[Path | None, typer.Option(help="The service's settings, a TOML file.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the bundled Adult, with tokens to try it.")] = False,
    folder: Annotated[Path, typer.Option(help="Where a demonstration keeps what it knows.")] = Path("tacit-demo"),
    port: Annotated[int | None, typer.Option(help="The port to listen at.", min=1, max=65535)] = None,
    custodian: Annotated[
        str | None, typer.Option(help="Make a custodian's token for this name, print it once, and stop.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Serve registered tables to analysts, who see answers and never a record."""
    with answering(as_json, quiet) as out:
        if demo == (config is not None):
            raise InvalidParameter("give --config, a file of settings, or --demo, the bundled Adult.")
        run = _loaded()
        settings = run.settings_of(config, folder, port)
        if custodian is not None:
            token = run.make_custodian(settings, custodian)
            out.result({"custodian": token}, token)
            out.note("It is shown this once. Sign in with it on the service's page, and make tokens for the others.")
            return
        _require_free(settings.host, settings.port)
        if demo:
            tokens = run.prepare_demo(settings)
            address = f"http://{settings.host}:{settings.port}"
            words = (
                f"Adult is served at {address}\nanalyst    {tokens['analyst']}\ncustodian  {tokens['custodian']}\n\n"
                f"curl -H 'Authorization: Bearer {tokens['analyst']}' {address}/v1/datasets"
            )
            out.result({"address": address, **tokens}, words)
        else:
            out.note(f"Serving at http://{settings.host}:{settings.port}; Ctrl-C ends it.")
        run.serve(settings)


def _require_free(host: str, port: int) -> None:
    """Refuse a place where nobody can listen."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as failure:
        reason = (failure.strerror or "the system refused it").lower()
        raise InvalidParameter(f"nobody can listen at port {port} of {host}: {reason}. Give another --port.") from None


def _loaded() -> Any:
    try:
        from tacit.service import running
    except ModuleNotFoundError as error:
        raise InvalidParameter(f"the service needs {error.name}: pip install 'tacit[service]'.") from None
    return running
