"""The report's page: its shell, and what sections use to draw themselves. It knows what a section is, and none by
name."""
