"""What the paper prints, for the tables of the page: FashionMNIST where it has it, CIFAR-10 otherwise."""

from __future__ import annotations

MODELS = ("basic", "mixup", "fmix", "cutmix", "rm")
TITLES = {"basic": "basic", "mixup": "MixUp", "fmix": "FMix", "cutmix": "CutMix", "rm": "RM"}

# DI index, FashionMNIST: nuisance of the page → per model (mean, spread over runs as printed).
DI = {
    "shuffle-2": {"basic": (1.23, 0.15), "mixup": (2.42, 0.92), "fmix": (1.06, 0.23), "cutmix": (0.68, 0.11)},
    "patch": {"basic": (0.21, 0.08), "mixup": (0.38, 0.06), "fmix": (0.16, 0.05), "cutmix": (0.12, 0.05)},
    "patch-mnist": {"basic": (3.40, 0.29), "mixup": (3.06, 1.07), "fmix": (1.81, 0.55), "cutmix": (2.61, 0.80)},
    "fourier": {"basic": (49.55, 20.4), "mixup": (40.69, 21.6), "fmix": (27.87, 17.5), "cutmix": (61.04, 17.9)},
    "patch-inside": {"basic": (0.93, 0.98), "mixup": (3.46, 0.58), "fmix": (0.99, 0.99), "cutmix": (0.69, 0.93)},
    "fourier-mnist": {"basic": (4.09, 1.74), "fmix": (1.87, 0.27)},
    "noise": {"basic": (0.09, 0.02)},
}
WORST = {"shuffle-2": {"basic": (1.56, 0.39), "mixup": (3.57, 1.35), "fmix": (1.65, 0.35), "cutmix": (0.82, 0.13)}}
WHERE = {
    "shuffle-2": "table 1",
    "patch": "table 3",
    "patch-mnist": "table 11",
    "fourier": "table 12",
    "patch-inside": "table 14",
    "fourier-mnist": "B.6",
    "noise": "B.2, data set not named",
}

# CIFAR-10, for the order of the models.
TABLE5 = {  # 30 % hidden by patches of other images: DI, CutOcclusion (%), iOcclusion
    "basic": (1.67, 47.97, 0.21),
    "mixup": (0.98, 58.65, 0.57),
    "cutmix": (0.14, 76.56, 1.09),
    "fmix": (0.15, 78.00, 1.46),
    "rm": (0.39, 60.79, 1.20),
}
TABLE6 = {"mixup": (-12.58, 0.41, 0.84), "fmix": (-25.55, 0.34, 0.65)}  # affinity, diversity, MixDiversity
TABLE7 = {"mixup": (0.39, 0.15), "fmix": (0.08, 0.06)}
C51 = {"basic": (1.11, 0.28), "cutmix": (0.16, 0.04)}
TABLE8 = {"mixup": (94.18, 94.70, 92.28), "fmix": (94.36, 94.80, 95.03), "cutmix": (94.67, 94.66, 94.61)}
TABLE15 = {"basic-random": (10.24, 14.63), "fmix-random": (9.78, 47.94), "fmix": (63.63, 82.36)}
TABLE16 = {  # numerator in points at 10, 30, 50, 70 and 90 %, and denominator
    "basic": (4.66, 1.06, 0.32, 0.35, 0.29, 5.47),
    "cutmix": (6.96, 5.49, 3.78, 0.86, 0.09, 4.60),
    "fmix": (7.04, 7.32, 5.07, 1.51, 0.05, 4.58),
    "mixup": (5.43, 2.68, 0.86, 0.13, 0.14, 4.70),
}
TABLE17 = {"basic": (67.95, 0.39), "fmix": (71.02, 1.47), "cutmix": (69.59, 1.42)}
B8 = {"resnet": 1.27, "bagnet-9": 0.54, "bagnet-17": 0.53, "vgg": 0.60}  # CIFAR-10, shuffled
VGG = {"vgg": (0.80, 0.40), "vgg-mixup": (0.18, 0.11)}  # CIFAR-10, occluded
