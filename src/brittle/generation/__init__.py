"""Generated shifts: making them, and telling which images still show their class."""
