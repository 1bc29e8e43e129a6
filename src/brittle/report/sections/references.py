"""Papers that sections cite."""

from __future__ import annotations

FAWZI_2016 = "A. Fawzi and P. Frossard, “Measuring the effect of nuisance variables on classifiers”, BMVC 2016."
FIELLER_1954 = "E. C. Fieller, “Some problems in interval estimation”, JRSS B, 1954."
HOWARD_2021 = (
    "S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, “Time-uniform, nonparametric, nonasymptotic confidence "
    "sequences”, Annals of Statistics, 2021."
)
WAUDBY_SMITH_2023 = (
    "I. Waudby-Smith and A. Ramdas, “Estimating means of bounded random variables by betting”, JRSS B, 2023."
)
VEHTARI_2021 = (
    "A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, “Rank-normalization, folding, and "
    "localization: an improved R̂”, Bayesian Analysis, 2021."
)
VEHTARI_2024 = (
    "A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry, “Pareto smoothed importance sampling”, JMLR, 2024."
)
UREM = (
    "UREM: uncertainty and robustness estimation methods for deep neural networks, with bubble spaces and "
    "perturbation matrices."
)
CLOPPER_PEARSON_1934 = (
    "C. J. Clopper and E. S. Pearson, “The use of confidence or fiducial limits illustrated in the case of the "
    "binomial”, Biometrika 26, 1934."
)
MARCU_2022 = "A. Marcu and A. Prügel-Bennett, “On the effects of artificial data modification”, ICML 2022."
CNS_BENCH_2025 = (
    "O. Dünkel, A. Jesslen, J. Xie, C. Theobalt, C. Rupprecht and A. Kortylewski, “CNS-Bench: Benchmarking image "
    "classifier robustness under continuous nuisance shifts”, 2025."
)
HENDRYCKS_2019 = (
    "D. Hendrycks and T. Dietterich, “Benchmarking neural network robustness to common corruptions and perturbations”, "
    "ICLR 2019."
)
GEIRHOS_2019 = (
    "R. Geirhos, P. Rubisch, C. Michaelis, M. Bethge, F. A. Wichmann and W. Brendel, “ImageNet-trained CNNs are biased "
    "towards texture”, ICLR 2019."
)
GEIRHOS_2020 = (
    "R. Geirhos, K. Meding and F. A. Wichmann, “Beyond accuracy: quantifying trial-by-trial behaviour of CNNs and "
    "humans by measuring error consistency”, NeurIPS 2020."
)
OWEN_2007 = "A. B. Owen, “The pigeonhole bootstrap”, Annals of Applied Statistics, 2007."
MILLER_2021 = (
    "J. Miller, R. Taori, A. Raghunathan, S. Sagawa, P. W. Koh, V. Shankar, P. Liang, Y. Carmon and L. Schmidt, "
    "“Accuracy on the line”, ICML 2021."
)
TAORI_2020 = (
    "R. Taori, A. Dave, V. Shankar, N. Carlini, B. Recht and L. Schmidt, “Measuring robustness to natural distribution "
    "shifts in image classification”, NeurIPS 2020."
)
MCNEMAR_1947 = "Q. McNemar, “Note on the sampling error of the difference between correlated proportions”, 1947."
HOLM_1979 = (
    "S. Holm, “A simple sequentially rejective multiple test procedure”, Scandinavian Journal of Statistics, 1979."
)
GONTIJO_LOPES_2020 = (
    "R. Gontijo-Lopes, S. J. Smullin, E. D. Cubuk and E. Dyer, “Affinity and diversity: quantifying mechanisms of data "
    "augmentation”, arXiv:2002.08973, 2020."
)
