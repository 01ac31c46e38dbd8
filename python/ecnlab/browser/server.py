"""A server for the page, on this machine alone."""

from __future__ import annotations

import os
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ecnlab.browser import page
from ecnlab.errors import UsageError

HOST = "127.0.0.1"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".wasm": "application/wasm",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
}


class PageServer(ThreadingHTTPServer):
    """Serves the page and the files of its folder, which are read once. Raises UsageError if the port is taken."""

    daemon_threads = True
    # On Windows the option lets two servers share a port, so a taken one would not be noticed.
    allow_reuse_address = os.name != "nt"

    def __init__(self, config: dict[str, Any], port: int = 0) -> None:
        folder = page.require_page_folder()
        self.files = {f"/{file.name}": file.read_bytes() for file in folder.iterdir() if file.suffix in _TYPES}
        self.files[f"/{page.MODULE}"] = page.read_module()
        self.files[f"/{page.PAGE}"] = self.files["/"] = page.served_page(config).encode()
        try:
            super().__init__((HOST, port), _Handler)
        except PermissionError:
            raise UsageError(f"--port {port}: needs the rights of an administrator; fix: give a port from 1024 on, or none") from None
        except OSError as error:
            raise UsageError(f"--port {port}: cannot be used: {error.strerror}; fix: give another one, or none") from None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_address[1]}/{page.PAGE}"

    def is_own_name(self, host: str) -> bool:
        """Whether a request names this server. Another name means that a foreign page sends it (DNS rebinding)."""
        port = self.server_address[1]
        # Browsers leave out the port of HTTP.
        return host in {f"{name}:{port}" for name in (HOST, "localhost")} or (port == 80 and host in (HOST, "localhost"))


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        content = self.server.files.get(path)
        if content is None or not self.server.is_own_name(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _TYPES["." + path.rpartition(".")[2] if "." in path else ".html"])
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", page.CONTENT_SECURITY_POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Logs nothing: the terminal shows the address alone."""
