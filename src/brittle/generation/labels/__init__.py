"""What people, or a stated proxy, say of generated images."""
