"""What is done to a server once, and judged by several checks; named like the suites that use it."""
