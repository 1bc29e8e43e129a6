"""A small text-to-image pipeline in diffusers' own format: 32×32 grey pictures, 4.2 M parameters, a few dozen words.

It is a StableDiffusionPipeline that plain diffusers loads. That class denoises latents of an autoencoder; here the
latents are the pixels themselves, and the autoencoder returns what it is given. No layer of diffusers does just that:
the decoder of AutoencoderTiny begins with 3 · tanh(x / 3), which its first convolution undoes, one straight piece after
another, to within 1e-4 for values in [−1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from brittle.diffusion.pipeline import EXTRA, TextToImage
from brittle.libraries import library
from brittle.registry import option

SIDE = 32
LONGEST = 16  # tokens of a prompt
PIECES = 96  # of which the decoder's inverse of tanh is made
START, END, PAD, UNKNOWN = "<start>", "<end>", "<pad>", "<unknown>"
PLAIN = ("a", "picture", "of", "in")


@dataclass(frozen=True, kw_only=True)
class SmallShape:
    """How large the networks are."""

    channels: tuple[int, ...] = option((32, 64, 128), "channels of the U-Net's blocks, from outside in")
    width: int = option(64, "numbers per word", least=8)
    heads: int = option(4, "attention heads of the text encoder", least=1)


def small_pipeline(words: Sequence[str], shape: SmallShape | None = None, seed: int = 0) -> TextToImage:
    """An untrained pipeline that knows the words of the templates and these."""
    shape = shape or SmallShape()
    diffusers, transformers = library("diffusers", EXTRA, "a pipeline"), library("transformers", EXTRA, "a pipeline")
    tokenizer = word_tokenizer(words, transformers)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        text = transformers.CLIPTextModel(
            transformers.CLIPTextConfig(
                vocab_size=len(tokenizer),
                hidden_size=shape.width,
                intermediate_size=4 * shape.width,
                num_hidden_layers=1,
                num_attention_heads=shape.heads,
                max_position_embeddings=LONGEST,
                projection_dim=shape.width,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
        unet = diffusers.UNet2DConditionModel(
            sample_size=SIDE,
            in_channels=1,
            out_channels=1,
            block_out_channels=tuple(shape.channels),
            down_block_types=("DownBlock2D", *["CrossAttnDownBlock2D"] * (len(shape.channels) - 1)),
            up_block_types=(*["CrossAttnUpBlock2D"] * (len(shape.channels) - 1), "UpBlock2D"),
            layers_per_block=1,
            cross_attention_dim=shape.width,
            attention_head_dim=8,
            norm_num_groups=8,
        )
    parts = diffusers.StableDiffusionPipeline(
        vae=_pixels(diffusers),
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=diffusers.DDIMScheduler(
            num_train_timesteps=1000,
            beta_schedule="squaredcos_cap_v2",
            clip_sample=False,  # StableDiffusionPipeline allows no other; thresholds of 1 clip in the same way
            thresholding=True,
            sample_max_value=1.0,
            steps_offset=1,
        ),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    parts.set_progress_bar_config(disable=True)
    for part in (parts.unet, parts.text_encoder, parts.vae):
        part.eval().requires_grad_(False)
    return TextToImage("small", parts)


def word_tokenizer(words: Sequence[str], transformers: Any) -> Any:
    """One token per word, in plain files."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    special = (PAD, START, END, UNKNOWN)
    known = dict.fromkeys((*special, *PLAIN, *(part for word in words for part in word.lower().split())))
    numbers = {word: place for place, word in enumerate(known)}
    made = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}", special_tokens=[(START, numbers[START]), (END, numbers[END])]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token=START,
        eos_token=END,
        pad_token=PAD,
        unk_token=UNKNOWN,
        model_max_length=LONGEST,
    )


def _pixels(diffusers: Any) -> Any:
    """An autoencoder whose latents are the pixels, in [−1, 1]."""
    vae = diffusers.AutoencoderTiny(
        in_channels=1,
        out_channels=1,
        latent_channels=1,
        encoder_block_out_channels=(1,),
        decoder_block_out_channels=(PIECES,),
        num_encoder_blocks=(0,),
        num_decoder_blocks=(0,),
    )
    with torch.no_grad():
        for each in vae.parameters():
            each.zero_()
        first, last = vae.encoder.layers  # of (x + 1) / 2
        first.weight[:, :, 1, 1], last.weight[:, :, 1, 1], last.bias[:] = 1.0, 2.0, -1.0
        bends, slopes = _inverse_tanh(PIECES)
        first, _, last = vae.decoder.layers  # what comes of them is doubled, less 1
        first.weight[:, 0, 1, 1], first.bias[:] = 1.0, -bends
        last.weight[0, :, 1, 1], last.bias[:] = slopes / 2, 0.5 + _undone(bends[:1]) / 2
    return vae


def _inverse_tanh(pieces: int) -> tuple[Tensor, Tensor]:
    """Where straight pieces that undo 3 · tanh(x / 3) begin, and how much steeper each is than the one before."""
    ends = torch.linspace(-1.25, 1.25, pieces + 1, dtype=torch.float64)  # of x
    bends = 3 * torch.tanh(ends / 3)
    steep = ends.diff() / bends.diff()
    return bends[:-1].float(), torch.cat([steep[:1], steep.diff()]).float()


def _undone(values: Tensor) -> Tensor:
    return 3 * torch.atanh(values.double() / 3).float()


def parameters_of(pipeline: TextToImage) -> int:
    """How many numbers are trained."""
    networks = (pipeline.parts.unet, pipeline.parts.text_encoder)
    return sum(math.prod(each.shape) for network in networks for each in network.parameters())
