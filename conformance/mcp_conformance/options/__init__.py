"""The options of a run: their table, what the user chose, and the settings made of it, without pytest."""
