"""The checks: one module per chapter of the specification."""
