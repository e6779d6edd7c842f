"""Readers of refusals: each reads one kind of sentence that real servers write."""
