"""An OpenAI-compatible server on loopback, for tests through the real client."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(content, *, finish_reason="stop", **message):
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def refused(status, message, code=None):
    return status, {"error": {"message": message, "type": "error", "code": code, "param": None}}


class Server(ThreadingHTTPServer):
    """An OpenAI-compatible server. `answers` maps passages to (status, body); others get themselves back."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, tuple[int, object]] = {}
        self.requests: list[dict] = []
        self.active = self.peak = self.wait_for_peak = 0
        self.changed = threading.Condition()
        self.closing = threading.Event()

    def handle_error(self, request, client_address):
        """Say nothing of clients that hang up, as those that time out do."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, request: dict) -> tuple[int, object]:
        text = request["messages"][0]["content"].rpartition("Content: ")[2].removesuffix("\nOutput:")
        with self.changed:
            self.requests.append(request)
            self.active += 1
            self.peak = max(self.peak, self.active)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.peak >= self.wait_for_peak, timeout=5)
            self.active -= 1
        return self.answers.get(text) or (200, completion(json.dumps([text])))


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, body = self.server.answer(request)
        if body == "hang":
            self.server.closing.wait(5)
        if body in ("hang", "hang up"):
            self.close_connection = True
            return
        kind = "text/html" if isinstance(body, str) and body.startswith("<") else "application/json"
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass
