"""A survey: the suite over many servers, on a cluster; one immutable file for each server."""
