"""What an agent's own hooks tell: each is a short-lived program that appends one line to the run's intake.

A hook is started for every call of a tool, so that nothing here imports more than it needs.
"""

AGENTS = ("claude", "codex", "gemini")  # each is described by the module of its name
