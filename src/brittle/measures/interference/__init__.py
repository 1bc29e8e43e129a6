"""What a distortion itself adds: the data interference (DI) index of Marcu & Prügel-Bennett 2022."""
