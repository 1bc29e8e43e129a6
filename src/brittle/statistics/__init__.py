"""Statistics that hold: intervals valid at any stopping time, families of them. Knows numbers only."""
