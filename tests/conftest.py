"""Set-up of all tests."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell makes what it starts in the background ignore Ctrl-C, and so would every process of the tests."""
