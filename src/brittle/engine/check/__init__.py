"""What is tried before work begins, and how somebody else's code is dealt with."""
