"""Mixed-sample training: how a batch is mixed, and what is then minimised."""
