"""HTTP/1.1 and event streams: exact requests, and responses as they were received."""
