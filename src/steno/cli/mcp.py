"""`steno mcp`: a policy between an MCP client and a server: wrap, proxy, pin, check."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click

from steno.errors import BadRequestError
from steno.text.safe import visible

MAX_LABEL = 100

# Programs that start a server which their arguments name.
_STARTER = re.compile(
    r"(?:python|pypy|node|ruby|perl|php)[0-9.]*|nodejs|npx|npm|pnpm|pnpx|yarn|bun|bunx|deno|uv|uvx|pipx"
    r"|java|dotnet|docker|podman|env|sudo|(?:ba|da|z|)sh"
)
_STARTER_WORDS = frozenset({"run", "exec", "dlx", "x", "tool", "start"})
_policy_option = click.option(
    "--policy", "policy_path", required=True, metavar="FILE", help="The policy file (docs/policy.md)."
)
_label_option = click.option(
    "--label",
    metavar="L",
    help="The server's name in the policy and in the record (default: its program or script, or its host).",
)
_log_option = click.option(
    "--log",
    "log_path",
    metavar="FILE",
    help="Append every decision to FILE, masked. Inside of `steno run` decisions are recorded without it.",
)
_log_optional_option = click.option(
    "--log-optional",
    is_flag=True,
    help="Let calls through also when a decision cannot be written down (default: refuse them).",
)
# What `steno.cli.options` has besides would cost a server a third of its start.
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_server_argument = click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- SERVER [ARG]...")


@click.group(
    "mcp",
    epilog="""\b
Examples:
  steno mcp wrap --policy policy.yaml -- npx -y @modelcontextprotocol/server-filesystem .
  steno mcp proxy --policy policy.yaml --listen 127.0.0.1:8400 --upstream http://127.0.0.1:9000/mcp
  steno mcp pin --policy policy.yaml --label files -- npx -y @modelcontextprotocol/server-filesystem .
  steno mcp check --policy policy.yaml

docs/policy.md describes the policy file, docs/mcp.md what is passed, refused and recorded.""",
)
def command() -> None:
    """Stand between an MCP client and a server, with a policy.

    Every call of a tool is decided on and told before the server gets it. What is let through arrives byte
    for byte. A refused call is answered so that the model can read why.
    """


@command.command(
    "wrap",
    short_help="Start a server on stdin and stdout, with a policy before it.",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
In the configuration of a client, put this in the place of the server's own command:
  "files": {
    "command": "steno",
    "args": ["mcp", "wrap", "--policy", "policy.yaml", "--label", "files", "--",
             "npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
  }

\b
Examples:
  steno mcp wrap --policy policy.yaml -- python server.py
  steno mcp wrap --policy policy.yaml --log decisions.ndjson -- ./server --verbose
  steno run -- claude -p "…" --mcp-config wrapped.json

\b
Exit codes:
  the server's own (128+n when signal n ended it)
  2    the policy cannot be used: every problem is named with its line
  125  the decision log cannot be opened
  126, 127  the server cannot be executed, or is not found""",
)
@_policy_option
@_label_option
@_log_option
@_log_optional_option
@_server_argument
def wrap(
    policy_path: str, label: str | None, log_path: str | None, log_optional: bool, words: tuple[str, ...]
) -> int:
    """Start SERVER and speak with it on stdin and stdout, as a client would.

    Both eras of the protocol pass, with everything in them: notifications, requests of the server, progress,
    cancellation. Messages that servers may read in different ways are refused: batches, keys that come twice,
    text that is not UTF-8. The server's stderr is ours. When the client goes, the server is ended; when the
    server goes, every open request gets an error.
    """
    from steno.capture.host import original_environment
    from steno.mcp.decision_log import DecisionLog
    from steno.mcp.policy import loader
    from steno.mcp.stdio import wrap as wrapping

    _require_server(words, "wrap")
    name = _checked_label(label or default_label(words))
    policy = loader.load(Path(policy_path))
    log = DecisionLog.open(os.environ, log_path, optional=log_optional)
    return wrapping.run(policy, words, label=name, log=log, environ=original_environment())


@command.command(
    "proxy",
    short_help="Stand before a server that speaks streamable HTTP.",
    epilog="""\b
Examples:
  steno mcp proxy --policy policy.yaml --listen 127.0.0.1:8400 --upstream http://127.0.0.1:9000/mcp
  steno mcp proxy --policy policy.yaml --listen 127.0.0.1:0 --upstream http://127.0.0.1:9000/mcp --json

Give clients the address that is printed. It listens on loopback only. SIGTERM or Control-C ends it.

\b
Exit codes:
  0    it was told to end
  2    the policy or an address cannot be used
  125  the decision log cannot be opened""",
)
@_policy_option
@click.option("--listen", required=True, metavar="ADDR", help="HOST:PORT on loopback; port 0: any free one.")
@click.option("--upstream", required=True, metavar="URL", help="The server's endpoint.")
@_label_option
@_log_option
@_log_optional_option
@_json_option
def proxy(
    policy_path: str,
    listen: str,
    upstream: str,
    label: str | None,
    log_path: str | None,
    log_optional: bool,
    as_json: bool,
) -> int:
    """Stand before a server that speaks streamable HTTP.

    The same policy and the same record as for `wrap`. Headers that do not fit the body of a request are an
    error, because a server may go by either.
    """
    from steno.mcp.decision_log import DecisionLog
    from steno.mcp.http import proxy as proxying
    from steno.mcp.policy import loader

    name = _checked_label(label or _host(upstream))
    policy = loader.load(Path(policy_path))
    log = DecisionLog.open(os.environ, log_path, optional=log_optional)
    return proxying.run(policy, listen, upstream, name, log, as_json=as_json)


@command.command(
    "pin",
    short_help="Write down how the tools of a server are defined now.",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  steno mcp pin --policy policy.yaml -- python server.py
  steno mcp pin --policy policy.yaml --label files --json -- ./server | jq .changes

The policy names the pin file (`pins:`). Pins of other servers in it stay as they are.

\b
Exit codes:
  0  the pins are written
  2  the policy cannot be used or names no pin file, or the server does not list its tools""",
)
@_policy_option
@_label_option
@_json_option
@_server_argument
def pin(policy_path: str, label: str | None, as_json: bool, words: tuple[str, ...]) -> None:
    """Write down how the tools of SERVER are defined now, so that later changes are noticed.

    SERVER is started, asked for its tools, and ended. No tool is called. What changed against the pins that
    were there is printed.
    """
    from steno.cli.output import print_json, print_lines, say
    from steno.mcp import pin_command

    _require_server(words, "pin")
    name = _checked_label(label or default_label(words))
    pinned = pin_command.pin(Path(policy_path), list(words), name, is_default=label is None)
    if as_json:
        print_json(pinned.plain())
        return
    print_lines(
        visible(f"{change.what:8}{change.tool}{f' ({change.parts})' if change.parts else ''}")
        for change in pinned.changes
    )
    say(f"{pinned.tools} tools of {pinned.label} are pinned in {pinned.path}")


@command.command(
    "check",
    short_help="Say what a policy file says, or what is wrong with it.",
    epilog="""\b
Examples:
  steno mcp check --policy policy.yaml
  steno mcp check --policy policy.yaml --json | jq .warnings

\b
Exit codes:
  0  the policy can be used
  2  it cannot: every problem is named with its line and column""",
)
@_policy_option
@_json_option
def check(policy_path: str, as_json: bool) -> None:
    """Say what a policy file says, or what is wrong with it. Nothing is started."""
    from steno.cli.output import print_json, print_lines
    from steno.mcp.policy.summary import summary, text

    told = summary(Path(policy_path))
    if as_json:
        print_json(told)
    else:
        print_lines(visible(line) for line in text(told).splitlines())


def _require_server(words: tuple[str, ...], name: str) -> None:
    if not words:
        raise BadRequestError(
            "there is no server to start",
            hint=f"put its command after --, as in `steno mcp {name} --policy FILE -- python server.py`",
        )


def _host(upstream: str) -> str:
    try:
        return urlsplit(upstream).hostname or upstream
    except ValueError:  # no URL: whoever connects will say so
        return upstream


def default_label(words: Sequence[str]) -> str:
    """The server's program, or what a program such as python3 or npx is told to start."""
    name = Path(words[0]).name
    if not _STARTER.fullmatch(name):
        return name
    found = (word for word in words[1:] if not word.startswith("-") and word not in _STARTER_WORDS)
    started = Path(next(found, name)).name
    is_name = started.isprintable() and " " not in started and 0 < len(started) <= MAX_LABEL  # and no code
    return started if is_name else name


def _checked_label(label: str) -> str:
    if not label.isprintable() or not 0 < len(label) <= MAX_LABEL:
        raise BadRequestError(
            f"{label[:MAX_LABEL]!r} cannot be the label of a server",
            hint=f"use 1 to {MAX_LABEL} printable characters, as in `--label files`",
        )
    return label
