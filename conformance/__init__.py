"""Conformance suite and fuzzer for MCP servers over stdio."""
