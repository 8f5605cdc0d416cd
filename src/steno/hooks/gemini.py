"""The hooks of Gemini CLI, as 0.61 sends them.

They tell no id of a call. What a hook writes on stderr is taken for its answer when stdout is empty, so that
the answer is always an empty object. Where Gemini CLI hides variables from hooks, ours are let through.
"""

from steno.evidence.intake_names import FOLDER, ORIGIN_NS, RUN_ID
from steno.hooks.agent import Agent, Event

AGENT = Agent(
    name="gemini",
    events={
        "BeforeTool": Event("tool_call_started"),
        "AfterTool": Event("tool_call_completed", output=("tool_response",)),
        "AfterAgent": Event("run_finished", message=("prompt_response",)),
    },
    answer=b"{}\n",
    tool_call_id=(),
    servers=(("mcp_context", "server_name"),),
    settings_file="~/.gemini/settings.json, or .gemini/settings.json of a project",
    more_settings={
        "security": {"environmentVariableRedaction": {"allowed": [RUN_ID, FOLDER, ORIGIN_NS]}},
    },
)
