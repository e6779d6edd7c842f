"""The catalogue of requirements, and the checks that cite them."""
