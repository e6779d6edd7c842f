"""Logging in to a server as a client does: discovery, the exchanges, and the token that is kept."""
