"""Listeners for agent frameworks: they write what the framework says into the log that the run supplies."""
