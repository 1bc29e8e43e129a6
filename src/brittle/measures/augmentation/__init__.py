"""Affinity and diversity of augmentations (Gontijo-Lopes et al. 2020; Marcu & Prügel-Bennett 2022, table 6)."""
