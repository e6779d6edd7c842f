"""The reports on a run of several servers."""
