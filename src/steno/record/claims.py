"""The layers of claims, made when the command is over: what policy decided, and what an agent said of itself.

In: the logs of the run's intake, the redactor, the shim that was asked for. Out, in the spool:
`policy.ndjson` and `sdk.ndjson`, masked, each written whole under its name; the events that
tell of them, and the gaps. A fault in a log costs what it hides, never the run. Never raises for what the
logs hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import msgspec

from steno.bundle.claims_check import DISTURBED
from steno.bundle.folder import Folder
from steno.bundle.seal import write_file
from steno.evidence import canonical, claims, intake, kinds, layout
from steno.evidence.claims import BadClaimError, FileKey, PolicyLine, ProcessKey, ProxyLog, SdkLine
from steno.evidence.kinds import EventData
from steno.judge.claim_layers import MAX_LAYER
from steno.judge.facts import ANY_SHIM, NO_SHIM
from steno.record import sdk_contract
from steno.record.counted_gaps import counted
from steno.record.hook_fold import HookFold, fold_hooks
from steno.record.intake import TOO_LARGE, IntakeFolder, LogRead
from steno.record.policy_fold import PolicyFold
from steno.record.sdk_contract import Taken
from steno.record.told_lines import MOST_DAMAGED, Damage
from steno.redact.engine import Redactor

POLICY_DAMAGED = "policy_log_damaged"
HOOKS_DAMAGED = "hook_log_damaged"
NOT_UNDERSTOOD = "hook_payload_unreadable"
NOT_WANTED = "shim_none"
# Shims that write to the SDK log; the others tell by hooks.
_WRITES_THE_LOG = frozenset({"openai-agents"})
# What may hold a secret beside the arguments; the other fields are words and numbers of ours.
_POLICY_TEXTS = ("source", "tool_call_id", "tool")
_POLICY_DETAILS = ("connection", "request_id", "id_from", "server", "method", "reason")
_SDK_TEXTS = ("source", "sdk_name", "sdk_version", "tool_call_id", "tool")
_SDK_DETAILS = ("server",)
_POLICY_PLACE, _SDK_PLACE = map(layout.shown, layout.CLAIM_LAYERS)

_MOST_WORDS = 10
MOST_NAMED = 1000  # logs and processes, in one event
_Line = TypeVar("_Line", PolicyLine, SdkLine)


class Told(NamedTuple):
    """How the run's claims are to be read."""

    run_id: str
    shim: str  # as it was asked for
    latest_ns: int  # nothing can have been later
    texts: bool = True  # False: what is secret is not known any more, so that free text is not kept


def keep_claims(spool: Folder, found: IntakeFolder | None, redactor: Redactor, told: Told) -> list[EventData]:
    """Write both layers. The events come in the order in which they are to be written, gaps last."""
    gaps: list[EventData] = []
    if found is None:
        gaps.append(kinds.Gap(DISTURBED, "the folder is gone: what programs of the run told is lost"))
    elif (problem := found.problem()) is not None:
        gaps.append(kinds.Gap(DISTURBED, f"the folder was {problem}"))
    masking = _Masking(redactor, keep_texts=told.texts)
    proxies, connections = _keep_policy(spool, found, masking, told, gaps)
    hook = _log(found, intake.HOOKS)
    hooks = fold_hooks(hook.data, told.run_id, told.latest_ns)
    said, sdk = _keep_sdk(spool, _log(found, intake.SDK), _Hooks(hook, hooks), masking, told, gaps)
    logs = _logs(proxies, hook.file if hook.data else None, hooks.processes - set(map(_process, said)))
    return [*connections, *([logs] if proxies or hook.data else []), *([sdk] if sdk else []), *gaps]


def _log(found: IntakeFolder | None, name: str) -> LogRead:
    return LogRead(b"") if found is None else found.read(name)


def _logs(
    proxies: list[ProxyLog], hooks: FileKey | None, processes: AbstractSet[ProcessKey | None]
) -> kinds.IntakeLogs:
    policy = sorted(proxies, key=lambda log: (log.process.start_ticks, log.process.pid))
    others = sorted((key for key in processes if key), key=lambda key: (key.start_ticks, key.pid))
    return kinds.IntakeLogs(
        policy=policy[:MOST_NAMED],
        policy_left_off=max(0, len(policy) - MOST_NAMED),
        hooks=hooks,
        hook_processes=others[:MOST_NAMED],
        hook_processes_left_off=max(0, len(others) - MOST_NAMED),
    )


def _process(line: SdkLine) -> ProcessKey | None:
    return None if line.steno is None else line.steno.process


def _keep_policy(
    spool: Folder, found: IntakeFolder | None, masking: _Masking, told: Told, gaps: list[EventData]
) -> tuple[list[ProxyLog], list[EventData]]:
    fold = PolicyFold(told.run_id, told.latest_ns)
    proxies: list[ProxyLog] = []
    problems: Counter[str] = Counter()
    damage = Damage()
    for log in () if found is None else found.policy_logs():
        damage += fold.take(log.read.data, log.owner)
        proxies.append(ProxyLog(log.owner, log.read.file))
        problems.update([log.read.problem] if log.read.problem else [])
    decisions = fold.decisions()
    kept = _write(spool, layout.POLICY_LINES, decisions, masking.policy, claims.policy_line)
    damage += Damage(len(decisions) - len(kept))
    if problems:
        gaps.append(kinds.Gap(POLICY_DAMAGED, f"logs of proxies: {_says(problems)}"))
    gaps += _damage_gaps(POLICY_DAMAGED, "logs of proxies", damage)
    calls = Counter(line.steno.connection for line in kept)
    return proxies, [connection.event(calls[connection.name]) for connection in fold.connections]


class _Hooks(NamedTuple):
    log: LogRead
    fold: HookFold


def _keep_sdk(
    spool: Folder, sdk: LogRead, hooks: _Hooks, masking: _Masking, told: Told, gaps: list[EventData]
) -> tuple[list[SdkLine], EventData | None]:
    taken, said_by_hooks = _taken(sdk, told), hooks.fold.lines
    came = bool(sdk.data or hooks.log.data or taken.refused)
    if told.shim == NO_SHIM:
        taken, said_by_hooks = Taken([], NOT_WANTED if came else None), []
    lines = [*taken.lines, *said_by_hooks]
    kept = _write(spool, layout.SDK_LINES, lines, masking.sdk, claims.sdk_line)
    said = sum(map(_is_of_log, kept))
    if hooks.log.problem is not None:
        gaps.append(kinds.Gap(HOOKS_DAMAGED, f"{intake.HOOKS}: {hooks.log.problem}"))
    gaps += _damage_gaps(HOOKS_DAMAGED, intake.HOOKS, hooks.fold.damage + Damage(len(lines) - len(kept)))
    if hooks.fold.problems:
        gaps.append(kinds.Gap(NOT_UNDERSTOOD, _says(hooks.fold.problems)))
    if not came and told.shim in {ANY_SHIM, NO_SHIM}:
        return kept, None
    return kept, kinds.SdkIntake(
        shim=_shim(told.shim, lines),
        lines=said,
        hooks=len(kept) - said,
        refused=taken.refused,
        refused_line=taken.refused_line,
    )


def _taken(log: LogRead, told: Told) -> Taken:
    taken = sdk_contract.take(log.data, told.run_id)
    if log.problem is not None and (taken.refused is None or log.problem == TOO_LARGE):
        return Taken(taken.lines, log.problem)
    if told.shim in _WRITES_THE_LOG and not taken.lines and taken.refused is None:
        return Taken([], sdk_contract.EMPTY)
    return taken


def _says(problems: Counter[str]) -> str:
    return ", ".join(f"{count} of {word}" for word, count in problems.most_common(_MOST_WORDS))


def _is_of_log(line: SdkLine) -> bool:
    return line.steno is None or line.steno.process is None


def _shim(asked: str, lines: list[SdkLine]) -> str:
    if asked != ANY_SHIM:
        return asked
    return lines[0].source if lines else NO_SHIM


def _damage_gaps(reason: str, name: str, damage: Damage) -> Iterator[kinds.Gap]:
    if damage.lines:
        yield kinds.Gap(reason, f"{name}: {counted(damage.lines, 'line', 'lines', 'could not be taken')}")
    if damage.unread:
        said = counted(damage.unread, "byte", "bytes", f"after {MOST_DAMAGED} such lines not read")
        yield kinds.Gap(reason, f"{name}: {said}")


def _write(
    spool: Folder,
    path: str,
    lines: Iterable[_Line],
    mask: Callable[[_Line], dict[str, Any]],
    parse: Callable[[bytes], _Line],
) -> list[_Line]:
    """The lines as they were, each with its number. One that cannot be read again is left out."""
    kept: list[_Line] = []

    def written() -> Iterator[bytes]:
        size = 0
        for line in lines:
            try:
                raw = canonical.encode_line({**mask(line), "seq": len(kept)})
                parse(raw)
            except (BadClaimError, canonical.NotCanonicalError):
                continue
            size += len(raw)
            if size > MAX_LAYER:
                return
            kept.append(msgspec.structs.replace(line, seq=len(kept)))
            yield raw

    with suppress(FileNotFoundError):
        spool.remove_tree(path)
    write_file(spool, path, written(), sync=True)
    return kept


class _Masking:
    """Lines as plain data without secrets. Ids are read like any text: what is no secret stays a join key."""

    def __init__(self, redactor: Redactor, *, keep_texts: bool) -> None:
        self._redactor = redactor
        self._keep_texts = keep_texts

    def policy(self, line: PolicyLine) -> dict[str, Any]:
        raw = self._texts(line, _POLICY_TEXTS, _POLICY_PLACE)
        raw["steno"] = self._texts(line.steno, _POLICY_DETAILS, _POLICY_PLACE)
        return self._foreign(raw, ("arguments",), "arguments_cut", _POLICY_PLACE)

    def sdk(self, line: SdkLine) -> dict[str, Any]:
        raw = self._texts(line, _SDK_TEXTS, _SDK_PLACE)
        if line.steno is None:
            return raw
        raw["steno"] = self._texts(line.steno, _SDK_DETAILS, _SDK_PLACE)
        return self._foreign(raw, ("input", "output", "message"), "cut", _SDK_PLACE)

    def _texts(self, line: msgspec.Struct, names: tuple[str, ...], where: str) -> dict[str, Any]:
        raw: dict[str, Any] = msgspec.to_builtins(line)
        texts = {name: raw[name] for name in names if raw[name]}
        if self._redactor.is_clean("\n".join(texts.values()).encode()):  # most are, and together it is quick
            return raw
        return raw | {name: self._redactor.text(text, f"{where}.{name}") for name, text in texts.items()}

    def _foreign(self, raw: dict[str, Any], names: tuple[str, ...], cut: str, where: str) -> dict[str, Any]:
        detail = raw["steno"]
        for name in names:
            if detail[name] is None:
                continue
            detail[name] = self._kept(detail[name], f"{where}.{name}")
            detail[cut] = detail[cut] or detail[name] is None
        return raw

    def _kept(self, value: Any, where: str) -> Any:
        """None for what is too much, or cannot be written."""
        try:
            if not self._keep_texts or len(canonical.encode(value)) > intake.MAX_TOLD:
                return None
            masked = self._redactor.foreign(value, where)
            canonical.encode(masked)
        except (ValueError, RecursionError):
            return None
        return masked
