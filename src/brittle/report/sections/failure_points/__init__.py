"""What failure points show of themselves."""
