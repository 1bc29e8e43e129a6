"""Weak points: draws from p(θ | not ℓ(x), x) (Fawzi & Frossard 2016, section 2.3)."""
