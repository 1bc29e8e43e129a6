"""What shape and texture show of themselves."""
