"""What start-up needs of the agents; made by docs/generate_agents.py from NAME.toml."""

# Agents that tell by hooks.
HOOK_AGENTS = ("claude", "cline", "codex", "gemini", "qwen")
# Where an agent's own id of a call is found in `params._meta` of a request to a server.
CALL_ID_KEYS = ("claudecode/toolUseId", "callId")
# Variables that lead to what an agent keeps for itself -> what follows their value.
STATE_VARIABLES = {
    "CLAUDE_CONFIG_DIR": "",
    "CLINE_DATA_DIR": "",
    "CLINE_DIR": "",
    "CODEX_HOME": "",
    "GEMINI_CLI_HOME": ".gemini/",
    "QWEN_HOME": "",
    "QWEN_RUNTIME_DIR": "",
}
