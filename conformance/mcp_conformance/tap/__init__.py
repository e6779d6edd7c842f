"""Real sessions between a client and a server: passed on unchanged, recorded, and judged on both sides."""
