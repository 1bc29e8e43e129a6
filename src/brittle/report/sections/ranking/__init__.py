"""What rankings show of themselves."""
