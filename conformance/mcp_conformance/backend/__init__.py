"""The network in which this process answers for every host: what a server asks its API, and what it gets."""
