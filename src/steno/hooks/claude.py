"""The hooks of Claude Code, as 2.1 sends them.

A tool that failed has an event of its own. A call that its own permissions refuse begins and never ends.
"""

from steno.hooks.agent import Agent, Event

AGENT = Agent(
    name="claude",
    events={
        "PreToolUse": Event("tool_call_started"),
        "PostToolUse": Event("tool_call_completed", output=("tool_response",)),
        "PostToolUseFailure": Event("tool_call_completed", error=("error",)),
        "Stop": Event("run_finished", message=("last_assistant_message",), transcript=("transcript_path",)),
        "StopFailure": Event("run_failed", message=("last_assistant_message",)),
    },
    answer=b"",
    tool_call_id=("tool_use_id",),
    servers=(("mcp_server", "name"), ("mcp_server",)),
    settings_file="~/.claude/settings.json, or .claude/settings.json of a project",
    more_settings={},
)
