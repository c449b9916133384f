"""A small web server on 127.0.0.1 that can resume, and can break off on purpose."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Served:
    """What the server has and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.break_after: int | None = None  # bytes of a body, once
        self.ranges = True
        self.requests: list[tuple[str, str | None]] = []  # path and Range
        self.url = ""


@contextmanager
def serving() -> Iterator[Served]:
    """A server for as long as the block lasts."""
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range") if served.ranges else None
            served.requests.append((self.path, self.headers.get("Range")))
            content = served.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            if start >= len(content) and start:
                self.send_error(416)
                return
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = len(content) if served.break_after is None else start + served.break_after
            served.break_after = None
            self.wfile.write(content[start:end])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
