"""Made-up values and conversations; failures are reproduced and reduced."""
