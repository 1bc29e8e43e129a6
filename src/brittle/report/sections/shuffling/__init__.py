"""What shuffled patches show of themselves."""
