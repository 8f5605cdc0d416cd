"""`steno calls`: the tool calls of a run, as they were said, decided and seen."""

from __future__ import annotations

import click

from steno.cli.options import json_option, open_run, run_argument, say_if_told_so_far, store_option
from steno.cli.output import paint, print_json, print_paged, say, terminal_width
from steno.model.documents import calls_json
from steno.views import calls


@click.command(
    "calls",
    epilog="""\b
Verdicts:
  confirmed     the kernel saw what was said
  contradicted  the kernel saw something else; the rule says what
  unobserved    nothing that was seen bears it out or speaks against it
  denied        policy refused it; it has no effects
  ambiguous     what was seen may belong to another call

\b
Columns:
  SAID        which agent told of it; self-reported until something else bears it out
  POLICY      what the proxy decided
  KERNEL SAW  files read and changed, endpoints and sockets tried, programs run, by the call's own processes

\b
Examples:
  steno calls @last
  steno calls @last --call toolu_01
  steno calls @last --json | jq '.calls[] | select(.verdict == "contradicted")'
  steno calls @last --json | jq .unattributed.files.written

docs/calls.md names every rule.""",
)
@run_argument
@click.option("--call", "tool_call_id", metavar="ID", help="Everything about the call with this id.")
@store_option
@json_option
def command(run: str, tool_call_id: str | None, store: str | None, as_json: bool) -> None:
    """List every tool call of a run: who said so, what policy decided, what the kernel saw, and a verdict.

    Below are what happened outside of every call, what may belong to one of several, and what the agent said
    at the end. Of a run that goes on it is what was told and seen so far: a verdict may still change.
    """
    with open_run(run, store) as opened:
        say_if_told_so_far(opened)
        found = opened.told_calls
    if tool_call_id is not None:
        found = found.only(tool_call_id)
    if as_json:
        print_json(calls_json(found))
        return
    if not found.calls and not found.claims:
        say("nobody told of a tool call")
    as_lines = calls.lines if tool_call_id is None else calls.details
    print_paged(as_lines(found, paint(), width=terminal_width()))
