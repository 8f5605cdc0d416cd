"""The hooks of Codex, as 0.166 sends them.

Its shell tool is told as `Bash`, without the exit code. An MCP call that fails begins and never ends.
"""

from steno.hooks.agent import Agent, Event

AGENT = Agent(
    name="codex",
    events={
        "PreToolUse": Event("tool_call_started"),
        "PostToolUse": Event("tool_call_completed", output=("tool_response",)),
        "Stop": Event("run_finished", message=("last_assistant_message",)),
    },
    answer=b"",
    tool_call_id=("tool_use_id",),
    servers=(),
    settings_file="~/.codex/hooks.json, or .codex/hooks.json of a project",
    more_settings={},
)
