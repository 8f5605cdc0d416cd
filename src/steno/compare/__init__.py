"""Capabilities: what runs touched, reached and started, compared and kept as a baseline."""
