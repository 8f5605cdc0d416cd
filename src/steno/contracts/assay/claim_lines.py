"""What policy decided and what an agent said of itself, as lines of assay-runner's two layers."""

from __future__ import annotations

import msgspec

from steno.evidence import canonical
from steno.evidence.claims import PolicyLine, SdkLine

_POLICY = {"schema": "assay.runner.policy_event.v0", "source_event_type": "assay.tool.decision"}
_SDK = {"schema": "assay.runner.sdk_event.v0"}


def policy_line(line: PolicyLine) -> bytes:
    return canonical.encode_line({**msgspec.to_builtins(line), **_POLICY})


def sdk_line(line: SdkLine) -> bytes:
    return canonical.encode_line({**msgspec.to_builtins(line), **_SDK})
