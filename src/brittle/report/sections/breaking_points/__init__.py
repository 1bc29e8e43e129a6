"""What breaking points show of themselves."""
