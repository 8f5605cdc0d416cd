"""Model servers on loopback that follow a script, so that a real agent can be a fixture without a network.

In: a script, a `Use` for each call that the model makes and a last `Say`. Out: an address that an agent is
pointed at, which speaks the API of Messages (Claude Code, opencode), of Responses (Codex) or of Gemini, each
streamed, and the requests that came. Which turn it is follows from the request alone, from the answers
that it holds: an agent that asks twice gets the same twice.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

Event = dict[str, Any]


class Use(NamedTuple):
    """The model asks for a tool."""

    id: str
    name: str
    input: dict[str, Any]
    namespace: str | None = None  # where the tools of an MCP server are, for Codex


class Say(NamedTuple):
    """The model's last words."""

    text: str


Turn = Use | Say


class ScriptedModel:
    """A server for the time of a `with`; `url` is what the agent gets as the base of the API."""

    path: ClassVar[str]  # how the address of a request ends

    def __init__(self, script: Sequence[Turn]) -> None:
        self._script = script
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: dict[str, Any]) -> Iterator[Event]:
        """The events of the turn that this request has come to."""
        self.requests.append(request)
        answered = self.answered(request)
        for turn in self._script:
            if isinstance(turn, Say) or turn.id not in answered:
                return self.events(turn)
        raise AssertionError("the script ends without a word")

    def results(self) -> dict[str, str]:
        """What the model was told of each of its calls, as the text that it gets to read."""
        return {call: text for request in self.requests for call, text in self.answered(request).items()}

    def answered(self, request: dict[str, Any]) -> dict[str, str]:
        raise NotImplementedError

    def events(self, turn: Turn) -> Iterator[Event]:
        raise NotImplementedError


class MessagesModel(ScriptedModel):
    """The Messages API: `ANTHROPIC_BASE_URL` is its `url`."""

    path = "/v1/messages"

    def answered(self, request: dict[str, Any]) -> dict[str, str]:
        blocks = [
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return {
            block["tool_use_id"]: _text(block.get("content"))
            for block in blocks
            if block["type"] == "tool_result"
        }

    def events(self, turn: Turn) -> Iterator[Event]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted"}
        beginning: Event = {**message, "content": [], "stop_reason": None, "usage": usage}
        yield {"type": "message_start", "message": beginning}
        block: Event
        if isinstance(turn, Say):
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": turn.text}
        else:
            block = {"type": "tool_use", "id": turn.id, "name": turn.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.input)}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = "end_turn" if isinstance(turn, Say) else "tool_use"
        yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
        yield {"type": "message_stop"}


class ResponsesModel(ScriptedModel):
    """The Responses API: `base_url` of a model provider is its `url` and `/v1`."""

    path = "/v1/responses"

    def answered(self, request: dict[str, Any]) -> dict[str, str]:
        return {
            item["call_id"]: _text(item["output"])
            for item in request["input"]
            if item.get("type") in {"function_call_output", "custom_tool_call_output"}
        }

    def events(self, turn: Turn) -> Iterator[Event]:
        response = {"id": "resp_1", "object": "response", "output": []}
        yield {"type": "response.created", "response": response}
        item: dict[str, Any]
        if isinstance(turn, Say):
            content = [{"type": "output_text", "text": turn.text, "annotations": []}]
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
        else:
            arguments = json.dumps(turn.input)
            item = {"type": "function_call", "id": "fc_1", "call_id": turn.id, "name": turn.name}
            item |= {"arguments": arguments} | ({"namespace": turn.namespace} if turn.namespace else {})
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield {"type": "response.completed", "response": {**response, "usage": usage}}


class ChatModel(ScriptedModel):
    """The API of Chat Completions, which most other providers speak: the base URL is its `url` and `/v1`."""

    path = "/v1/chat/completions"

    def answered(self, request: dict[str, Any]) -> dict[str, str]:
        return {
            message["tool_call_id"]: _text(message["content"])
            for message in request["messages"]
            if message["role"] == "tool"
        }

    def events(self, turn: Turn) -> Iterator[Event]:
        delta: dict[str, Any]
        if isinstance(turn, Say):
            delta, reason = {"role": "assistant", "content": turn.text}, "stop"
        else:
            function = {"name": turn.name, "arguments": json.dumps(turn.input)}
            call = {"index": 0, "id": turn.id, "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        yield {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        yield {**chunk, "choices": [], "usage": usage}


class GeminiModel(ScriptedModel):
    """The Gemini API: `GOOGLE_GEMINI_BASE_URL` is its `url`. Its last words come in two pieces."""

    path = ":streamGenerateContent"

    def answered(self, request: dict[str, Any]) -> dict[str, str]:
        """The CLI sends no ids of calls, so an answer is known by its place among the others."""
        parts = [part for content in request["contents"] for part in content.get("parts", ())]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        calls = [turn for turn in self._script if isinstance(turn, Use)]
        return {
            call.id: json.dumps(answer.get("response")) for call, answer in zip(calls, answers, strict=False)
        }

    def events(self, turn: Turn) -> Iterator[Event]:
        if isinstance(turn, Say):
            half = len(turn.text) // 2
            yield _piece({"text": turn.text[:half]})
            yield _piece({"text": turn.text[half:]}, finishReason="STOP")
        else:
            call = {"id": turn.id, "name": turn.name, "args": turn.input}
            yield _piece({"functionCall": call}, finishReason="STOP")


def _piece(part: dict[str, Any], **end: str) -> Event:
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, **end}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "scripted",
    }


def _text(content: Any) -> str:
    """Text and lists of parts alike; a part that is no text counts for nothing."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content)


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if not self.path.partition("?")[0].endswith(model.path):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for event in model.answer(json.loads(body)):
                name = f"event: {event['type']}\n" if "type" in event else ""
                self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

        def do_GET(self) -> None:
            self.send_error(404)

        def do_HEAD(self) -> None:
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            """Nothing: the tests look at `requests`."""

    return Handler
