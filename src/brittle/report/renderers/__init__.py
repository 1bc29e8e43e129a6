"""Renderers: blocks as a page, on the console, as Markdown and as JSON."""
