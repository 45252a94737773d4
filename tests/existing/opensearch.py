"""A stand-in for an OpenSearch server, which answers as its documentation says, over HTTP.

It keeps documents in memory, compares all vectors, and knows the queries that the integrations of
LangChain and LlamaIndex send: k-NN with filters in it or around it, scripts of distances, `bool`,
`term`, `terms`, `range` and `exists`. Strings are indexed as words and, up to 256 characters, as
keywords.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

LONGEST_KEYWORD = 256


def _values(source, field):
    """Return the values of a field as they are indexed: keywords, words of strings, or others."""
    keyword = field.endswith(".keyword")
    value = source
    for part in field.removesuffix(".keyword").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    values = value if isinstance(value, list) else [value]
    indexed = []
    for each in values:
        if isinstance(each, str) and keyword:
            indexed += [each] if len(each) <= LONGEST_KEYWORD else []
        elif isinstance(each, str):
            indexed += re.findall(r"\w+", each.lower())
        elif each is not None and not keyword:
            indexed.append(each)
    return indexed


def _as_list(clauses):
    return clauses if isinstance(clauses, list) else [clauses]


def passes(query, source) -> bool:
    [(kind, body)] = query.items()
    if kind == "match_all":
        return True
    if kind == "bool":
        must = [*_as_list(body.get("must", [])), *_as_list(body.get("filter", []))]
        if not all(passes(each, source) for each in must if "knn" not in each):
            return False
        if any(passes(each, source) for each in _as_list(body.get("must_not", []))):
            return False
        should = _as_list(body.get("should", []))
        return not should or any(passes(each, source) for each in should)
    [(field, operand)] = body.items()
    if kind == "term":
        value = operand["value"] if isinstance(operand, dict) else operand
        return value in _values(source, field)
    if kind == "terms":
        return any(value in operand for value in _values(source, field))
    if kind == "range":
        tests = {"gt": "__gt__", "gte": "__ge__", "lt": "__lt__", "lte": "__le__"}
        return any(
            getattr(float(value), tests[name])(float(bound)) is True
            for value in _values(source, field)
            if isinstance(value, int | float)
            for name, bound in operand.items()
        )
    raise AssertionError(query)


class Index:
    def __init__(self, body) -> None:
        self.body = body or {}
        self.documents: dict[str, dict] = {}

    def space(self, field):
        return self.body["mappings"]["properties"][field].get("method", {}).get("space_type", "l2")

    def search(self, body):
        query = body["query"]
        size = body.get("size", 10)
        assert size <= 10_000
        found = list(self.documents.items())
        if "knn" in query:
            [(field, knn)] = query["knn"].items()
            inner = knn.get("filter", {"match_all": {}})
            found = [(name, source) for name, source in found if passes(inner, source)]
            return self._best(found, field, knn["vector"], self.space(field))[: min(size, knn["k"])]
        if "script_score" in query:
            script = query["script_score"]["script"]
            field = script["params"]["field"]
            assert "l2Squared" in script["source"]
            inner = query["script_score"]["query"]
            found = [(name, source) for name, source in found if passes(inner, source)]
            return self._best(found, field, script["params"]["query_value"], "l2")[:size]
        wrapped = [
            each for each in _as_list(query.get("bool", {}).get("must", [])) if "knn" in each
        ]
        if wrapped:  # the filter comes after the search
            [(field, knn)] = wrapped[0]["knn"].items()
            best = self._best(found, field, knn["vector"], self.space(field))[: knn["k"]]
            return [hit for hit in best if passes(query, hit["_source"])][:size]
        return [
            {"_id": name, "_score": 1.0, "_source": source}
            for name, source in sorted(found)
            if passes(query, source)
        ]

    @staticmethod
    def _best(found, field, vector, space):
        hits = []
        for name, source in found:
            if space == "innerproduct":
                product = float(np.dot(source[field], vector))
                score = product + 1 if product >= 0 else 1 / (1 - product)
            else:
                distance = float(((np.array(source[field]) - np.array(vector)) ** 2).sum())
                score = 1 / (1 + distance)
            hits.append({"_id": name, "_score": score, "_source": source})
        return sorted(hits, key=lambda hit: -hit["_score"])


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.indexes: dict[str, Index] = {}
        self.scrolls: dict[str, list] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_) -> None:
        pass

    def _answer(self, method) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path, _, parameters = self.path.partition("?")
        status, reply = self._reply(method, path.strip("/").split("/"), parameters, raw)
        content = b"" if method == "HEAD" else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _reply(self, method, path, parameters, raw):
        indexes = self.server.indexes
        if path == [""]:
            return 200, {"version": {"number": "2.19.0", "distribution": "opensearch"}}
        if path == ["_bulk"]:
            return 200, self._bulk(raw)
        body = json.loads(raw) if raw else None
        if path[:2] == ["_search", "scroll"]:
            if method == "DELETE":
                return 200, {"succeeded": True}
            return 200, self._page(body["scroll_id"])
        name, *action = path
        if method == "PUT" and not action:
            indexes[name] = Index(body)
            return 200, {"acknowledged": True}
        if name not in indexes:
            return 404, {"error": {"type": "index_not_found_exception"}, "status": 404}
        index = indexes[name]
        if not action or action == ["_refresh"]:
            return 200, {name: {}}
        if action == ["_mapping"]:
            return 200, {name: {"mappings": index.body.get("mappings", {})}}
        if action == ["_mget"]:
            documents = []
            for each in body["ids"]:
                source = index.documents.get(each)
                documents.append({"_id": each, "found": source is not None, "_source": source})
            return 200, {"docs": documents}
        hits = index.search(body)
        if action == ["_count"]:
            return 200, {"count": len(hits)}
        if action == ["_delete_by_query"]:
            ids = {
                value
                for clause in _as_list(body["query"]["bool"]["filter"])
                for value in clause["terms"]["_id"]
            }
            for each in ids & index.documents.keys():
                del index.documents[each]
            return 200, {"deleted": len(ids)}
        assert action == ["_search"]
        if "scroll=" in parameters:
            number = str(len(self.server.scrolls))
            self.server.scrolls[number] = [body["size"], hits]
            return 200, self._page(number)
        return 200, {"hits": {"hits": hits[: body.get("size", 10)]}}

    def _page(self, number):
        size, hits = self.server.scrolls[number]
        self.server.scrolls[number] = [size, hits[size:]]
        return {
            "_scroll_id": number,
            "hits": {"hits": hits[:size]},
            "_shards": {"total": 1, "successful": 1, "skipped": 0},
        }

    def _bulk(self, raw):
        lines = [json.loads(line) for line in raw.splitlines() if line]
        items = []
        while lines:
            [(action, target)] = lines.pop(0).items()
            index = self.server.indexes.get(target["_index"])
            if action == "index":
                index.documents[target["_id"]] = lines.pop(0)
                items.append({action: {"_id": target["_id"], "status": 200}})
            else:
                present = index is not None and index.documents.pop(target["_id"], None)
                items.append({action: {"_id": target["_id"], "status": 200 if present else 404}})
        return {
            "errors": any(v["status"] == 404 for i in items for v in i.values()),
            "items": items,
        }

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def do_DELETE(self) -> None:
        self._answer("DELETE")
