"""An OpenAI-compatible server on loopback, for tests through the real client."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from factoid.units import Unit
from tests.propositions import passages


def unit(text: str) -> Unit:
    return passages.unit(text, "T")


def completion(content, *, finish_reason="stop", usage=None, **message):
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": content, **message},
    }
    made = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return made if usage is None else {**made, "usage": usage}


def refused(status, message, code=None, **headers):
    error = {"error": {"message": message, "type": "error", "code": code, "param": None}}
    return status, error, {key.replace("_", "-"): value for key, value in headers.items()}


def passage_of(request: dict) -> str:
    return request["messages"][0]["content"].rpartition("Content: ")[2].removesuffix("\nOutput:")


class Server(ThreadingHTTPServer):
    """An OpenAI-compatible server.

    `answers` maps passages to (status, body) or (status, body, headers), or to a list of them, one
    for each request; other passages, and requests after the list, get the passage back. Some bodies
    are what the server does instead of answering: "hang", "hang up", "close in the body".
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, object] = {}
        self.requests: list[dict] = []
        self.usage: dict | None = None
        self.refuses: dict[str, str] = {}  # arguments, and what is said of them
        self.active = self.peak = self.wait_for_peak = 0
        self.changed = threading.Condition()
        self.closing = threading.Event()

    def handle_error(self, request, client_address):
        """Say nothing of clients that hang up, as those that time out do."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def asked(self) -> list[str]:
        return [passage_of(request) for request in self.requests]

    def answer(self, request: dict) -> tuple:
        text = passage_of(request)
        with self.changed:
            self.requests.append(request)
            self.active += 1
            self.peak = max(self.peak, self.active)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.peak >= self.wait_for_peak, timeout=5)
            self.active -= 1
            for argument in self.refuses.keys() & request.keys():
                return refused(400, self.refuses[argument])
            answer = self.answers.get(text)
            if isinstance(answer, list):
                answer = answer.pop(0) if answer else None
        return answer or (200, completion(json.dumps([text]), usage=self.usage))

    def get(self, path: str) -> tuple:
        return refused(404, f"no {path}")

    def post(self, path: str, body: bytes, kind: str) -> tuple:
        return self.answer(json.loads(body))


@contextmanager
def running(made: Server):
    with made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.closing.set()
            made.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(*self.server.get(self.path))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(*self.server.post(self.path, body, self.headers["Content-Type"]))

    def reply(self, status, body, headers=None):
        if body == "hang":
            self.server.closing.wait(5)
        if body in ("hang", "hang up"):
            self.close_connection = True
            return
        cut_off = 20 if body == "close in the body" else None
        if cut_off:
            body = completion('["Half an answer."]')
            self.close_connection = True
        body = body if isinstance(body, bytes | str) else json.dumps(body)
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header(
            "Content-Type", "text/html" if data.startswith(b"<") else "application/json"
        )
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[:cut_off])

    def log_message(self, *args):
        pass
