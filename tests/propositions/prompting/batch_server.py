"""OpenAI's Batch API on loopback."""

from __future__ import annotations

import json
import re
import time

from tests.propositions.prompting.server import Server, refused


class BatchServer(Server):
    """A server with files and batches.

    Each batch ends as the next of `endings` says ("completed" if there are none left), at the third
    time it is asked for: "completed", "expired" and "cancelled" (half of it answered),
    "in_progress" (never), "empty" (completed without files), or "failed: code: message". `before`
    and `after` are called with the name of a POST before and after it is carried out; what `before`
    returns is sent instead.
    """

    def __init__(self):
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict] = {}
        self.endings: list[str] = []
        self.before = self.after = lambda name: None

    @property
    def submitted(self) -> list[str]:
        """The ids of all requests in all batches."""
        return [
            line["custom_id"]
            for batch in self.batches.values()
            for line in self.lines(batch["input_file_id"])
        ]

    def lines(self, file_id):
        return [json.loads(line) for line in self.files[file_id].decode().split("\n") if line]

    def post(self, path, body, kind):
        if path == "/v1/chat/completions":
            return super().post(path, body, kind)
        name = path.split("/")[2]
        return self.before(name) or self._carry_out(path, name, body, kind)

    def _carry_out(self, path, name, body, kind):
        if name == "files":
            boundary = re.search("boundary=(.+)", kind)[1].strip('"').encode()
            part = next(part for part in body.split(b"--" + boundary) if b"filename=" in part)
            reply = {"id": self._store(part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n"))}
        elif path == "/v1/batches":
            reply = {
                "id": f"batch{len(self.batches)}",
                "object": "batch",
                "created_at": int(time.time()),
                "status": "validating",
                "ending": self.endings.pop(0) if self.endings else "completed",
                "asked": 0,
                **dict.fromkeys(("errors", "output_file_id", "error_file_id")),
                **json.loads(body),
            }
            self.batches[reply["id"]] = reply
        else:
            reply = self.batches[path.split("/")[3]]
            reply["status"], reply["ending"] = "cancelling", "cancelled"
        return self.after(name) or (200, reply)

    def get(self, path):
        path, _, query = path.partition("?")
        name, _, id_ = path.removeprefix("/v1/").partition("/")
        if name == "batches" and not id_:  # newest first, three on a page
            ids = list(reversed(self.batches))
            after = re.search(r"after=(\w+)", query)
            start = ids.index(after[1]) + 1 if after else 0
            page = [self.batches[batch_id] for batch_id in ids[start : start + 3]]
            return 200, {"object": "list", "data": page, "has_more": start + 3 < len(ids)}
        if name == "batches" and id_ in self.batches:
            return 200, self._advanced(self.batches[id_])
        if name == "files" and (file_id := id_.removesuffix("/content")) in self.files:
            return 200, self.files[file_id]
        return refused(404, f"no {path}")

    def _store(self, content):
        file_id = f"file{len(self.files)}"
        self.files[file_id] = content
        return file_id

    def _advanced(self, batch):
        batch["asked"] += 1
        status, _, error = batch["ending"].partition(": ")
        if (
            batch["asked"] < 3
            or status == "in_progress"
            or batch["status"] in {"completed", "expired", "failed"}
        ):
            batch["status"] = "in_progress" if batch["asked"] == 2 else batch["status"]
            return batch
        batch["status"] = "completed" if status == "empty" else status
        if status == "failed":
            code, _, message = error.partition(": ")
            batch["errors"] = {"object": "list", "data": [{"code": code, "message": message}]}
        elif status != "empty" and batch["output_file_id"] is None:
            self._finish(batch, status)
        return batch

    def _finish(self, batch, status):
        requests = self.lines(batch["input_file_id"])
        answered = len(requests) if status == "completed" else len(requests) // 2
        good, bad = [], []
        for request in requests[:answered]:
            code, body, *_ = self.answer(request["body"])
            line = {
                "custom_id": request["custom_id"],
                "response": {"status_code": code, "body": body},
                "error": None,
            }
            (good if code == 200 else bad).append(json.dumps(line, ensure_ascii=False))
        error = {"code": f"batch_{status}", "message": "This request was not executed."}
        for request in requests[answered:]:
            bad.append(
                json.dumps({"custom_id": request["custom_id"], "response": None, "error": error})
            )
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            batch[name] = self._store("\n".join(lines).encode()) if lines else None
        batch["request_counts"] = {
            "total": len(requests),
            "completed": answered,
            "failed": len(requests) - answered,
        }
