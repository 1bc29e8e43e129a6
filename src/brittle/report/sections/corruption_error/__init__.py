"""What corruption errors show of themselves."""
