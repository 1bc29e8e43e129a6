"""A run as a static site: tables, galleries and blocks as files, and live classifiers in the reader's browser."""
