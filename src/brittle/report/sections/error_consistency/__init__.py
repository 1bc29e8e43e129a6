"""What error consistency shows of itself."""
