"""Words learned as a measure's rows: one for every class."""
