"""An MCP server over stores: search, read, list, cite and look up, for agents.

It is read-only unless told otherwise. What a stored document says is data: it is returned, quoted
line by line, and nothing in it changes what the server does. A filter of the server is a wall that
no argument of a call can widen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Annotated, Any, Literal
from urllib.parse import quote

from factoid._optional import require
from factoid.entities import EntityRetriever
from factoid.errors import FactoidError, InvalidInputError, StoreError, shown
from factoid.filters import Filter, parse_filter
from factoid.late_interaction import Citation, PropCite
from factoid.store import UnitStore
from factoid.tools import (
    AROUND,
    IS_DATA,
    QUESTION_FIELD,
    READ_DESCRIPTION,
    SEARCH_DESCRIPTION,
    START_FIELD,
    NumberedHit,
    as_text,
    numbered_hits,
    numbered_unit,
    quoted,
    read_more,
)
from factoid.units import Document, Granularity, Unit

# Before all else of the SDK, so that a missing package is one error with the line that installs it.
require("mcp", extra="mcp")

from mcp.server import MCPServer  # noqa: E402 - after the check above
from mcp.server.mcpserver.context import Context  # noqa: E402
from mcp.server.mcpserver.exceptions import (  # noqa: E402
    ResourceError,
    ResourceNotFoundError,
    ToolError,
)
from mcp.server.mcpserver.resources import ResourceSecurity  # noqa: E402
from mcp_types import (  # noqa: E402
    CallToolResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import Field, ValidationError  # noqa: E402

HITS = 50  # the largest k
QUESTION = 10_000  # characters
ANSWER = 100_000  # characters
SOURCES = 50  # of an answer
RESOURCE = 1_000_000  # characters
DOCUMENTS = 200  # in one list
DOCUMENT = 1_000_000  # characters of one that is added

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_READING = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_DELETES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

StoreArgument = Annotated[
    str, Field(max_length=100, description="Name of the store; needed only if there are several.")
]
FilterArgument = Annotated[
    dict[str, Any] | None,
    Field(
        description='Conditions on metadata, such as {"year": {"$gte": 1990}}; operators: $eq $ne '
        "$gt $gte $lt $lte $in $nin $contains $exists $and $or $not."
    ),
]
Id = Annotated[str, Field(min_length=1, max_length=2000)]


# Without slots: the SDK takes the descriptors of slots for default values.
@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """What the tool `search` returns, and `look_up`."""

    hits: list[NumberedHit]


@dataclass(frozen=True, kw_only=True)
class ReadResult:
    """What the tool `read` returns: passages in order of the text, or a part of a document."""

    document_id: str
    passages: list[NumberedHit]
    next_start: int | None  # where a further part of the document begins


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document in a list."""

    id: str
    title: str
    characters: int
    uri: str  # of the resource


@dataclass(frozen=True, kw_only=True)
class ListResult:
    """What the tool `list_documents` returns."""

    documents: list[ListedDocument]
    next_start: str | None  # of the next part of the list: the last id of this one


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedClaim:
    """A claim of an answer with the sentence that supports it. Places are half-open."""

    number: int  # of the source, as in the marker
    id: str  # of the source
    title: str
    claim: str
    start: int  # of the claim in the answer with markers
    end: int
    support: str  # the sentence of the source
    support_start: int  # of that sentence in the document
    support_end: int
    score: float


@dataclass(frozen=True, kw_only=True)
class CiteResult:
    """What the tool `cite` returns."""

    answer: str  # with markers, such as [2]
    citations: list[CitedClaim]


@dataclass(frozen=True, kw_only=True)
class AddResult:
    """What the tool `add_document` returns."""

    document_id: str
    passages: int


@dataclass(frozen=True, kw_only=True)
class DeleteResult:
    """What the tool `delete_document` returns."""

    deleted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a server serves.

    Attributes:
        stores: The stores by the names that calls use: letters, digits, "-" and "_".
        filter: A condition on metadata that holds in every call, besides the call's own. None for
            none.
        citer: Cites answers; None for no tool `cite`.
        entities: Looks up entities; None for no tool `look_up`. It should have the same filter.
        write: Whether documents can be added and deleted; not together with a filter.

    Raises:
        InvalidInputError: There is no store, a name has other characters, or the filter is invalid
            or stands beside `write`.
    """

    stores: Mapping[str, UnitStore]
    filter: Mapping[str, Any] | None = None
    citer: PropCite | None = None
    entities: EntityRetriever | None = None
    write: bool = False

    def __post_init__(self) -> None:
        if not self.stores:
            raise InvalidInputError("an MCP server needs at least one store")
        for name in self.stores:
            if not _NAME.fullmatch(name):
                raise InvalidInputError(
                    f"the name of a store must be of letters, digits, '-' and '_', got {name!r}"
                )
        if self.filter is not None:
            parse_filter(self.filter)
            if self.write:
                raise InvalidInputError(
                    "a server with a filter is read-only: leave out write, or the filter"
                )

    # -- Steps of the tools --

    def store(self, name: str) -> UnitStore:
        """Return the store of a name, or the only one."""
        if not name and len(self.stores) == 1:
            [store] = self.stores.values()
            return store
        if name not in self.stores:
            raise ToolError(
                f"there is no store {shown(name)}: name one of {', '.join(self.stores)}"
            )
        return self.stores[name]

    def wall(self, condition: Mapping[str, Any] | None = None) -> Filter | None:
        """Return the filter of a call: the server's, and the call's own."""
        if self.filter is None:
            return condition
        if condition is None:
            return self.filter
        return {"$and": [self.filter, condition]}

    def one(self, store: UnitStore, unit_id: str) -> Unit:
        """Return a document or unit that the filter lets a search return.

        Raises:
            ToolError: There is none with this id.
        """
        units = store.get([unit_id], filter=self.wall(), documents=True)
        if not units:
            raise ToolError(
                f"there is nothing with the id {shown(unit_id)}: ids are those that a search "
                "returned"
            )
        return units[0]

    def uri(self, store: UnitStore, document_id: str) -> str:
        """Return the address of a document as a resource."""
        for name, other in self.stores.items():
            if other is store:
                return f"factoid://{name}/{quote(document_id, safe='')}"
        raise KeyError(document_id)


class StoreServer(MCPServer[Any]):  # type: ignore[misc, unused-ignore] # where it is absent
    """An MCP server whose errors are one sentence each."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; an argument that it does not take is an error, and not ignored."""
        tool = self._tool_manager.get_tool(name)
        if tool is not None:
            names = list(tool.parameters.get("properties", ()))
            for argument in arguments:
                if argument not in names:
                    raise ToolError(
                        f"{name} takes no {shown(argument)}: its arguments are {', '.join(names)}"
                    )
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_first_problem(cause)) from None
            if isinstance(cause, ToolError | FactoidError):
                raise ToolError(" ".join(str(cause).split())) from None
            raise


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(map(str, problem["loc"]))
    message = f"{place}: {problem['msg']}"
    if problem["type"] != "missing":
        message += f", got {shown(problem['input'])}"
    return message


def make_server(served: Served) -> MCPServer[Any]:
    """Return an MCP server, to be run on a transport: `server.run("stdio")`."""
    server = StoreServer(
        "factoid",
        title="factoid",
        description="Retrieval at the right granularity from stored documents.",
        instructions=_instructions(served),
        version=version("factoid"),
        log_level="WARNING",
    )
    _add_search(server, served)
    _add_read(server, served)
    _add_list(server, served)
    if served.citer is not None:
        _add_cite(server, served, served.citer)
    if served.entities is not None:
        _add_look_up(server, served.entities)
    if served.write:
        _add_writing(server, served)
    _add_resources(server, served)
    return server


def _instructions(served: Served) -> str:
    text = (
        "Search stored documents for the facts that answer a question, and name the results that "
        "you use, as in [2]. To read more around a result, call read with its id."
    )
    if len(served.stores) > 1:
        text += f" Stores: {', '.join(served.stores)}."
    return text + IS_DATA


# -- Tools --


def _add_search(server: MCPServer[Any], served: Served) -> None:
    def search(
        question: Annotated[
            str, Field(min_length=1, max_length=QUESTION, description=QUESTION_FIELD)
        ],
        k: Annotated[int, Field(ge=1, le=HITS, description="Number of passages.")] = 5,
        granularity: Annotated[
            Literal["passage", "sentence", "proposition", "mixed"] | None,
            Field(description="Units to compare with the question; null for the finest."),
        ] = None,
        filter: FilterArgument = None,  # noqa: A002 - as in UnitStore.search
        store: StoreArgument = "",
    ) -> Annotated[CallToolResult, SearchResult]:
        _check_question(question)
        hits = served.store(store).search(
            question, k, granularity=granularity, filter=served.wall(filter)
        )
        return _hits_result(numbered_hits(hits), "nothing was found")

    server.add_tool(
        search,
        title="Search",
        description=SEARCH_DESCRIPTION + IS_DATA,
        annotations=_READING,
        structured_output=True,
    )


def _add_read(server: MCPServer[Any], served: Served) -> None:
    def read(
        id: Annotated[Id, Field(description="Id of a fact, passage or document.")],  # noqa: A002
        around: Annotated[
            int, Field(ge=0, le=AROUND, description="Number of passages before and after.")
        ] = 1,
        start: Annotated[int, Field(ge=0, description=START_FIELD)] = 0,
        store: StoreArgument = "",
    ) -> Annotated[CallToolResult, ReadResult]:
        reading = read_more(
            served.store(store), id, around=around, start=start, filter=served.wall()
        )
        result = ReadResult(
            document_id=reading.document_id,
            passages=reading.passages,
            next_start=reading.next_start,
        )
        return _result(reading.text, result)

    server.add_tool(
        read,
        title="Read",
        description=READ_DESCRIPTION + IS_DATA,
        annotations=_READING,
        structured_output=True,
    )


def _add_list(server: MCPServer[Any], served: Served) -> None:
    def list_documents(
        start: Annotated[
            str,
            Field(max_length=2000, description="next_start of the part before; empty at first."),
        ] = "",
        count: Annotated[int, Field(ge=1, le=DOCUMENTS, description="Number of documents.")] = 50,
        filter: FilterArgument = None,  # noqa: A002 - as in UnitStore.search
        store: StoreArgument = "",
    ) -> Annotated[CallToolResult, ListResult]:
        chosen = served.store(store)
        ids = chosen.document_ids(served.wall(filter), after=start or None, limit=count + 1)
        listed_ids = ids[:count]
        titles = chosen.titles(listed_ids)
        documents = []
        lines = []
        for document in chosen.documents(listed_ids):
            titled = replace(document, title=titles.get(document.id, document.title))
            title = numbered_unit(0, titled, "").heading
            documents.append(
                ListedDocument(
                    id=document.id,
                    title=title,
                    characters=len(document.text),
                    uri=served.uri(chosen, document.id),
                )
            )
            lines.append(f"{quoted(title)} (id: {document.id})")
        following = None
        if len(ids) > count:
            following = listed_ids[-1]
            lines.append(f"(goes on: list_documents with start={json.dumps(following)})")
        result = ListResult(documents=documents, next_start=following)
        return _result("\n".join(lines) or "there are no documents", result)

    server.add_tool(
        list_documents,
        title="List documents",
        description="List stored documents with their titles and ids." + IS_DATA,
        annotations=_READING,
        structured_output=True,
    )


def _add_cite(server: MCPServer[Any], served: Served, citer: PropCite) -> None:
    def cite(
        answer: Annotated[
            str, Field(min_length=1, max_length=ANSWER, description="The answer, plain or Markdown")
        ],
        ids: Annotated[
            list[Id],
            Field(
                min_length=1,
                max_length=SOURCES,
                description="Ids of its sources, in the order of their numbers.",
            ),
        ],
        store: StoreArgument = "",
    ) -> Annotated[CallToolResult, CiteResult]:
        chosen = served.store(store)
        sources = [served.one(chosen, source_id) for source_id in ids]
        cited = citer.cite(answer, sources)
        claims = []
        lines = [cited.text, ""]
        for citation in cited.citations:
            source = sources[citation.position]
            claims.append(_claim(citation, source))
            lines.append(f"[{citation.number}] {numbered_unit(0, source, '').heading}")
            lines.append(quoted(citation.support.unit.text))
        text = "\n".join(lines).strip()
        return _result(text, CiteResult(answer=cited.text, citations=claims))

    server.add_tool(
        cite,
        title="Cite",
        description="Add citations to a finished answer: [n] after each sentence, for the n-th of "
        "its sources, and the sentence of the source that supports it." + IS_DATA,
        annotations=_READING,
        structured_output=True,
    )


def _claim(citation: Citation, source: Unit) -> CitedClaim:
    support = citation.support.unit
    return CitedClaim(
        number=citation.number,
        id=source.id,
        title=source.title,
        claim=citation.claim,
        start=citation.spans[0][0],
        end=citation.spans[-1][1],
        support=support.text,
        support_start=support.start,
        support_end=support.end,
        score=citation.score,
    )


def _add_look_up(server: MCPServer[Any], entities: EntityRetriever) -> None:
    def look_up(
        question: Annotated[
            str,
            Field(
                min_length=1, max_length=QUESTION, description="A name, or a question with names."
            ),
        ],
        k: Annotated[int, Field(ge=1, le=HITS, description="Number of articles.")] = 4,
        words: Annotated[int, Field(ge=1, le=1000, description="Words of each article.")] = 100,
    ) -> Annotated[CallToolResult, SearchResult]:
        _check_question(question)
        hits = entities.retrieve(question, k=k, words=words)
        return _hits_result(numbered_hits(hits), "no article is about a name in the question")

    server.add_tool(
        look_up,
        title="Look up an entity",
        description="Return the beginning of the articles about the entities that a text names."
        + IS_DATA,
        annotations=_READING,
        structured_output=True,
    )


def _add_writing(server: MCPServer[Any], served: Served) -> None:
    def add_document(
        text: Annotated[str, Field(min_length=1, max_length=DOCUMENT)],
        title: Annotated[str, Field(max_length=1000)] = "",
        metadata: dict[str, Any] | None = None,
        store: StoreArgument = "",
    ) -> Annotated[CallToolResult, AddResult]:
        document = Document(text, title, metadata=metadata or {})
        chosen = served.store(store)
        chosen.add_documents([document], progress=False)
        passages = 0
        for unit in chosen.units_of([document.id]):
            passages += unit.granularity is Granularity.PASSAGE
        result = AddResult(document_id=document.id, passages=passages)
        return _result(f"added as {document.id}, {passages} passages", result)

    def delete_document(
        document_id: Id, store: StoreArgument = ""
    ) -> Annotated[CallToolResult, DeleteResult]:
        count = served.store(store).delete(document_ids=[document_id])
        text = "deleted"
        if not count:
            text = f"there is no document with the id {shown(document_id)}"
        return _result(text, DeleteResult(deleted=bool(count)))

    server.add_tool(
        add_document,
        title="Add a document",
        description="Split, index and store a text.",
        annotations=_ADDS,
    )
    server.add_tool(
        delete_document,
        title="Delete a document",
        description="Delete a document with all its passages and facts.",
        annotations=_DELETES,
    )


def _add_resources(server: MCPServer[Any], served: Served) -> None:
    # An id never names a file here.
    security = ResourceSecurity(exempt_params=frozenset({"document_id"}))

    register = server.resource(
        "factoid://{store}/{document_id}",
        name="document",
        title="Document",
        description="The text of a stored document." + IS_DATA,
        mime_type="text/markdown",
        security=security,
    )

    def document(store: str, document_id: str) -> str:
        try:
            unit = served.one(served.store(store), document_id)
        except ToolError as error:
            raise ResourceNotFoundError(str(error)) from None
        except StoreError as error:
            raise ResourceError(str(error)) from error
        if len(unit.text) > RESOURCE:
            raise ResourceError(
                f"the document has {len(unit.text):,} characters: read it with the tool read"
            )
        return unit.text

    register(document)


def _check_question(question: str) -> None:
    if not question.strip():
        raise ToolError("question: it is empty")


# -- Results --


def _hits_result(hits: Sequence[NumberedHit], nothing: str) -> CallToolResult:
    return _result(as_text(hits) or nothing, SearchResult(hits=list(hits)))


def _result(text: str, structured: Any) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=asdict(structured)
    )
