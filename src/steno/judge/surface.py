"""What a run could do and did, as sorted sets of names: its capability surface.

What succeeded, or may have, is told apart from what only ever failed. It holds no time, no order and no
number of a process, so equal runs give equal sets. Memory grows with the number of names, not with that of
calls.
"""

from __future__ import annotations

from steno.evidence.claims import PolicyLine
from steno.evidence.layers import Layers
from steno.judge import surface_names
from steno.judge.claim_layers import claims_of
from steno.judge.doings import CONNECTED, RAN, SENT, Named, Seeing
from steno.judge.effects import DELETED, READ, WRITTEN
from steno.judge.facts import RunFacts
from steno.judge.health import kernel_health
from steno.judge.one_pass import Reading
from steno.judge.types import OwnSurface, Roots, Surface

SCHEMA = "steno.capability-surface.v1"
OWN_SCHEMA = "steno.surface.v1"
_TMP = "/tmp"  # noqa: S108 - what programs take when TMPDIR is not set


def surface(layers: Layers) -> Surface:
    reading = Reading.of(layers)
    facts, seen = reading.once(RunFacts.of), reading.scanned(Seeing).by_label[0]
    decided = reading.once(claims_of).policy
    named = Named.of(seen, facts.run_id)
    internet, names = named.internet, named.names
    paths = named.files.names(READ | WRITTEN | DELETED)
    return Surface(
        schema=SCHEMA,
        run_id=facts.run_id,
        filesystem_prefixes=sorted(set(map(surface_names.directory_of, paths))),
        filesystem_paths=paths,
        network_endpoints=internet.names(CONNECTED | SENT),
        process_execs=named.execs.names(RAN),
        mcp_tools=sorted({_tool(line) for line in decided if _is_let_through(line)}),
        policy_decisions=sorted({f"{line.decision}:{_tool(line)}" for line in decided}),
        steno=OwnSurface(
            schema=OWN_SCHEMA,
            files=names.files,
            endpoints=names.endpoints,
            unix_sockets=names.unix_sockets,
            execs=names.execs,
            names=_names(seen.answers, set(map(surface_names.host_of, internet.done))),
            roots=_roots(facts),
            kernel_layer=kernel_health(facts).layer,
        ),
    )


def _tool(line: PolicyLine) -> str:
    return f"{line.steno.server}.{line.tool}"


def _is_let_through(line: PolicyLine) -> bool:
    """In a dry run nothing is held back, whatever was decided."""
    return line.decision == "allow" or line.steno.dry_run


def _names(answers: set[tuple[bytes, bytes]], hosts: set[str]) -> dict[str, list[str]]:
    """The names that were seen to stand for the addresses of this run, and for no others."""
    found: dict[str, set[str]] = {}
    for name, address in answers:
        host = surface_names.host_name(surface_names.text(address))
        if host in hosts:
            found.setdefault(host, set()).add(surface_names.domain_name(name))
    return {host: sorted(names) for host, names in found.items()}


def _roots(facts: RunFacts) -> Roots:
    environment = facts.start.env
    return Roots(cwd=facts.start.cwd, home=environment.get("HOME"), tmp=environment.get("TMPDIR") or _TMP)
