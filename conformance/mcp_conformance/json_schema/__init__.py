"""JSON Schema: validation in bounded time, subschemas, compatibility."""
