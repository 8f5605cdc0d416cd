"""A local site over a store: a list of runs, each run's page, a run as it happens, two runs compared.

In: a store, and requests from this machine that know the token. Out: pages and files, never a change: nothing
here writes to the store. Everything that a record says is escaped or sent as data.
"""
