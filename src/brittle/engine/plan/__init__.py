"""What a study asks for, what of it is missing, and what to compute next."""
