"""What accuracy on the line shows of itself."""
