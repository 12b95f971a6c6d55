"""A service at a real address of this machine, for clients and browsers."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application in a thread, at a port that is free; give its address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # Started by whoever made it: the application may be entered only once.
        config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(10)
