"""OpenAI's Batch API on loopback."""

from __future__ import annotations

import json
import re
import time

from tests.propositions.prompting.server import Server, refused


class BatchServer(Server):
    """A server with files and batches.

    Each batch ends as the next of `endings` says ("completed" if there are none left), at the second time it is asked
    for: "completed", "expired" and "cancelled" (half of it answered), "in_progress" (never), "empty" (completed without
    files), or "failed: code: message". `before` and `after` are called with the name of a POST before and after it is
    carried out; what `before` returns is sent instead.
    """

    def __init__(self):
        super().__init__()
        self.files: dict[str, dict] = {}
        self.batches: dict[str, dict] = {}
        self.endings: list[str] = []
        self.before = self.after = lambda name: None
        self.broken_lines: list[str] = []

    @property
    def submitted(self) -> list[str]:
        """The ids of all requests in all batches."""
        return [line["custom_id"] for batch in self.batches.values() for line in self._lines(batch["input_file_id"])]

    def post(self, path, body, kind):
        if path == "/v1/chat/completions":
            return super().post(path, body, kind)
        name = path.split("/")[2]
        return self.before(name) or self._carry_out(path, name, body, kind)

    def _carry_out(self, path, name, body, kind):
        if name == "files":
            reply = self._new_file(body, kind)
        elif path == "/v1/batches":
            reply = self._new_batch(json.loads(body))
        else:
            batch = self.batches[path.split("/")[3]]
            batch["status"], batch["ending"] = "cancelling", "cancelled"
            reply = self._public(batch)
        return self.after(name) or (200, reply)

    def get(self, path):
        path, _, query = path.partition("?")
        parts = path.split("/")[2:]
        if parts == ["files"]:
            return 200, {"object": "list", "data": [file["public"] for file in self.files.values()], "has_more": False}
        if parts == ["batches"]:
            return self._page(query)
        if parts[0] == "batches" and parts[1] in self.batches:
            return 200, self._public(self._advanced(self.batches[parts[1]]))
        if parts[0] == "files" and parts[1] in self.files:
            return 200, self.files[parts[1]]["content"]
        return refused(404, f"no {path}")

    def _page(self, query):
        """Batches, newest first, three on a page."""
        ids = list(reversed(self.batches))
        after = re.search(r"after=(\w+)", query)
        start = ids.index(after[1]) + 1 if after else 0
        page = ids[start : start + 3]
        data = [self._public(self.batches[each]) for each in page]
        return 200, {"object": "list", "data": data, "has_more": start + 3 < len(ids)}

    def _new_file(self, body, kind):
        boundary = re.search("boundary=(.+)", kind)[1].strip('"').encode()
        part = next(part for part in body.split(b"--" + boundary) if b"filename=" in part)
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'filename="(.+?)"', head)[1].decode()
        return self._keep(content.removesuffix(b"\r\n"), name)

    def _keep(self, content, name):
        own = f"file{len(self.files)}"
        public = {"id": own, "object": "file", "bytes": len(content), "created_at": 0, "filename": name}
        self.files[own] = {"content": content, "public": {**public, "purpose": "batch", "status": "processed"}}
        return self.files[own]["public"]

    def _new_batch(self, given):
        own = f"batch{len(self.batches)}"
        ending = self.endings.pop(0) if self.endings else "completed"
        self.batches[own] = {
            "id": own,
            "object": "batch",
            "status": "validating",
            "created_at": int(time.time()),
            "ending": ending,
            "asked": 0,
            "errors": None,
            "output_file_id": None,
            "error_file_id": None,
            **given,
        }
        return self._public(self.batches[own])

    def _public(self, batch):
        return {key: value for key, value in batch.items() if key not in {"ending", "asked"}}

    def _lines(self, file_id):
        return [json.loads(line) for line in self.files[file_id]["content"].decode().split("\n") if line]

    def _advanced(self, batch):
        batch["asked"] += 1
        status, _, error = batch["ending"].partition(": ")
        if batch["asked"] < 2 or status == "in_progress" or batch["status"] in {"completed", "expired", "failed"}:
            batch["status"] = "in_progress" if batch["status"] == "validating" else batch["status"]
            return batch
        batch["status"] = "completed" if status == "empty" else status
        if status == "failed":
            code, _, message = error.partition(": ")
            batch["errors"] = {"object": "list", "data": [{"code": code, "message": message}]}
        elif status != "empty" and batch["output_file_id"] is None:
            self._finish(batch, status)
        return batch

    def _finish(self, batch, status):
        requests = self._lines(batch["input_file_id"])
        answered = len(requests) if status == "completed" else len(requests) // 2
        good, bad = list(self.broken_lines), []
        for request in requests[:answered]:
            code, body, *_ = self.answer(request["body"])
            line = {"custom_id": request["custom_id"], "response": {"status_code": code, "body": body}, "error": None}
            (good if code == 200 else bad).append(json.dumps(line, ensure_ascii=False))
        error = {"code": f"batch_{status}", "message": "This request was not executed."}
        for request in requests[answered:]:
            bad.append(json.dumps({"custom_id": request["custom_id"], "response": None, "error": error}))
        batch["output_file_id"] = self._keep("\n".join(good).encode(), "output")["id"] if good else None
        batch["error_file_id"] = self._keep("\n".join(bad).encode(), "errors")["id"] if bad else None
        batch["request_counts"] = {"total": len(requests), "completed": answered, "failed": len(requests) - answered}
