"""What interference shows of itself."""
