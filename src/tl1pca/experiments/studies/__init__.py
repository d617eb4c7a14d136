"""The studies of the paper: a spec and a measure each, and what is said of the result."""
