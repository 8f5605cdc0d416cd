"""Steno: the court stenographer for AI agents. Runs a command unchanged and writes a record of it."""

__version__ = "0.1.0"
