"""One server process: pipes, process tree, sandbox."""
