"""The pages of a survey, each a function from figures to HTML."""
