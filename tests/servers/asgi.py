"""An ASGI application, served by uvicorn on a port of this machine."""

import socket
import threading
from contextlib import contextmanager

import uvicorn

from tests.waiting import eventually

GRACE = 5  # seconds that open streams may take to end


@contextmanager
def serving(application):
    """Serve in a thread inside a `with`; the URL, without a slash at its end."""
    config = uvicorn.Config(application, log_level="warning", lifespan="off", timeout_graceful_shutdown=GRACE)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            eventually(lambda: server.started or not thread.is_alive(), "the server serves")
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
