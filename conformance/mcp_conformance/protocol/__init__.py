"""Facts of the protocol: messages, methods, revisions, schemas. No I/O."""
