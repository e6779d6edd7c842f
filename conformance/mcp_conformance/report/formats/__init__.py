"""One module for each format of a report: a function from `Report` to text."""
