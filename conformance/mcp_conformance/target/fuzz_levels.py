"""How much is fuzzed."""

FUZZ_EXAMPLES = {"none": 0, "quick": 50, "thorough": 500}
"""How many values Hypothesis makes for each target, by the value of ``--fuzz``; with 0, nothing is fuzzed."""
