"""Shape against texture on cue-conflict stimuli (Geirhos et al. 2019)."""
