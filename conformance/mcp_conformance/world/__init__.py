"""What exists behind a server: the values it knows, where they come from, and which arguments work.

A schema says what a value looks like, and not which path, id or name there is.  A server shows these in its
command line, its lists, its descriptions, its answers and its refusals.  Nothing here sends anything: what
explores is given a function that calls a tool.
"""
