"""Where results go: experiment trackers and model cards."""
