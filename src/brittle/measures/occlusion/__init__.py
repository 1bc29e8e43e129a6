"""Accuracy as more and more of an image is hidden: CutOcclusion and iOcclusion (Marcu & Prügel-Bennett 2022)."""
