"""The confinement of a server that is not trusted: what it may read, write, connect to and use up."""
