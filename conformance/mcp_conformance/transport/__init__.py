"""One server process: pipes, process tree, throwaway folder."""
