"""What noise on layers shows of itself."""
