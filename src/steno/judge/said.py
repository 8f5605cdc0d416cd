"""What an agent said of itself: the lines of its framework first, then those of its hooks in order of time.

A call of which a hook told no id gets one, and it is said to be inferred. What a hook did not understand says
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from steno.evidence.claims import SdkDetail, SdkLine
from steno.evidence.intake import HookTold, SdkTold
from steno.judge.inferred_ids import with_ids


def said(by_sdk: Iterable[SdkTold], by_hooks: Iterable[HookTold]) -> list[SdkLine]:
    """Numbered."""
    lines = chain(map(_of_sdk, by_sdk), _of_hooks(by_hooks))
    return [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(lines)]


def _of_sdk(told: SdkTold) -> SdkLine:
    aside = told.steno
    return SdkLine(
        run_id=told.run_id,
        seq=0,
        event_type=told.event_type,
        source=told.source,
        sdk_name=told.sdk_name,
        sdk_version=told.sdk_version,
        tool_call_id=told.tool_call_id,
        tool=told.tool,
        steno=None
        if aside is None
        else SdkDetail(
            id_from=aside.id_from,
            at_ns=aside.at_ns,
            input=aside.input,
            output=aside.output,
            message=aside.message,
            cut=aside.cut,
        ),
    )


def _interpreted(told: HookTold) -> HookTold | None:
    from steno.agents.hook_payload import interpreted  # late: most runs have no hooks

    return interpreted(told)


def _of_hooks(told: Iterable[HookTold]) -> Iterator[SdkLine]:
    read = map(_interpreted, told)
    understood = (one for one in read if one is not None and one.event_type is not None)
    for one, call in with_ids(sorted(understood, key=lambda one: one.at_ns)):
        if one.event_type is not None:
            yield SdkLine(
                run_id=one.run_id,
                seq=0,
                event_type=one.event_type,
                source=one.agent,
                sdk_name=one.agent,
                sdk_version=one.sdk_version,
                tool_call_id=call,
                tool=one.tool,
                steno=SdkDetail(
                    id_from="hook" if call == one.tool_call_id else "inferred",
                    at_ns=one.at_ns,
                    process=one.process,
                    parent=one.parent,
                    server=one.server,
                    input=one.input,
                    output=one.output,
                    message=one.message,
                    cut=one.cut,
                ),
            )
