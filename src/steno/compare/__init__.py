"""Capabilities: what runs touched, reached and started, compared and kept as a baseline.

In: the surface and the health of sealed bundles, or a lock file. Out: a comparison, a lock, and words for
both.
"""
