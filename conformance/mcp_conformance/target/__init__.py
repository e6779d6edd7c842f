"""The server under test: settings, probe, sessions, and what the checks ask of it."""
