"""Shows what was generated, and what was trained for it."""
