"""Encoders of the classes that people use, CLIP and DINOv2, tiny and with random weights, in folders."""

from __future__ import annotations

from pathlib import Path

import torch

WORDS = "a picture of in goldfish hammerhead heavy snow painting style shirt bag boot fog".split()  # noqa: SIM905


def tiny_clip(folder: Path, side: int = 16) -> Path:
    """A CLIPModel with its image processor and a tokenizer that knows `WORDS`."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    known = {word: place for place, word in enumerate(["<pad>", "<start>", "<end>", "<unknown>", *WORDS])}
    made = Tokenizer(models.WordLevel(known, unk_token="<unknown>"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()
    ends = [("<start>", known["<start>"]), ("<end>", known["<end>"])]
    made.post_processor = processors.TemplateProcessing(single="<start> $A <end>", special_tokens=ends)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<start>", eos_token="<end>", pad_token="<pad>", unk_token="<unknown>",
        model_max_length=16,
    )  # fmt: skip
    text = {"vocab_size": len(known), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    text |= {"num_attention_heads": 2, "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2}
    vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision |= {"image_size": side, "patch_size": 8}
    torch.manual_seed(0)
    config = transformers.CLIPConfig(text_config=text | {"pad_token_id": 0}, vision_config=vision, projection_dim=8)
    model = transformers.CLIPModel(config)
    for each in model.parameters():
        torch.nn.init.normal_(each, std=0.3)  # random enough to tell images and texts apart
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    processor(side, "shortest_edge").save_pretrained(folder)
    return folder


def tiny_dino(folder: Path, side: int = 16) -> Path:
    """A Dinov2Model with its image processor."""
    import transformers

    torch.manual_seed(1)
    config = transformers.Dinov2Config(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=side, patch_size=8, mlp_ratio=2
    )
    model = transformers.Dinov2Model(config)
    for each in model.parameters():
        torch.nn.init.normal_(each, std=0.3)
    model.save_pretrained(folder)
    processor(side, "shortest_edge").save_pretrained(folder)
    return folder


def processor(side: int, edge: str):
    import transformers

    mean, std = [0.48, 0.46, 0.41], [0.27, 0.26, 0.28]
    return transformers.CLIPImageProcessor(
        size={edge: side}, crop_size={"height": side, "width": side}, image_mean=mean, image_std=std
    )
