"""A local site over a store: a list of runs, each run's page, a run as it happens, two runs compared."""
