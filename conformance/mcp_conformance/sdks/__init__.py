"""What official SDKs do wrong in every server built on them, and how an SDK is recognised."""
