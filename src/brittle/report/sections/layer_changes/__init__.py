"""What targeted changes of layers show of themselves."""
