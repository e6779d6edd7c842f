"""State: sequences of calls, and what holds whatever a tool means.

It is logic without I/O of its own: a `hand.Hand` makes the calls.
"""
