"""Image classification, segmentation, masked images, captions, from Transformers' examples."""

import numpy as np
import torch
from datasets import Dataset
from PIL import Image
from transformers import (
    AutoModelForImageClassification,
    CLIPConfig,
    CLIPModel,
    ConvNextConfig,
    ResNetConfig,
    SegformerConfig,
    SegformerForSemanticSegmentation,
    SwinConfig,
    Trainer,
    ViTConfig,
    ViTForMaskedImageModeling,
    ViTMAEConfig,
    ViTMAEForPreTraining,
)
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from ordinary import tokenizers_of as tok
from ordinary.registry import ordinary
from ordinary.usual import accuracy, arguments

CLASSIFY = "transformers examples/pytorch/image-classification/run_image_classification.py"
CLASSIFY_TASK = "transformers docs/source/en/tasks/image_classification.md"
SEGMENT = "transformers examples/pytorch/semantic-segmentation/run_semantic_segmentation.py"
CONTRAST = "transformers examples/pytorch/contrastive-image-text/run_clip.py"
SIZE = 32
COLOURS = {"red": (200, 60, 60), "green": (60, 180, 60), "blue": (60, 60, 200)}
SHAPES = ("square", "bar")
PLACES = ("top", "middle")


def pictures(num: int, seed: int = 0) -> list[dict]:
    """Noisy pictures of a coloured square or bar; the label is the colour."""
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(num):
        label, shape = int(draw.integers(3)), int(draw.integers(2))
        pixels = draw.integers(90, 160, (SIZE, SIZE, 3))
        mask = np.zeros((SIZE, SIZE), dtype=int)
        top, left = draw.integers(0, 12, 2)
        mask[top : top + 14, left : left + (14 if shape == 0 else 6)] = 1
        noise = draw.integers(-30, 30, (SIZE, SIZE, 3))
        colour = np.array(list(COLOURS.values())[label])
        pixels = np.where(mask[..., None] == 1, colour + noise, pixels).clip(0, 255)
        rows.append(
            {
                "image": Image.fromarray(pixels.astype(np.uint8)),
                "label": label,
                "mask": (mask * (label + 1)).tolist(),
                "text": f"a {list(COLOURS)[label]} {SHAPES[shape]} at the {PLACES[top // 6]}",
            }
        )
    return rows


def processor() -> ViTImageProcessorPil:
    return ViTImageProcessorPil(size={"height": SIZE, "width": SIZE})


def image_parts(num: int = 112, num_held_out: int = 16) -> tuple[Dataset, Dataset]:
    look, rows = processor(), pictures(num)

    def transforms(batch):
        batch["pixel_values"] = look(
            [image.convert("RGB") for image in batch["image"]], return_tensors="pt"
        )["pixel_values"]
        del batch["image"]
        return batch

    data = Dataset.from_list([{k: row[k] for k in ("image", "label")} for row in rows])
    held_out, train = (
        data.select(range(num_held_out)),
        data.select(range(num_held_out, num)),
    )
    return train.with_transform(transforms), held_out.with_transform(transforms)


def collate_fn(examples):
    return {
        "pixel_values": torch.stack([example["pixel_values"] for example in examples]),
        "labels": torch.tensor([example["label"] for example in examples]),
    }


def classify_images(folder, config, **changed):
    train, held_out = image_parts()
    config.num_labels = 3
    config.id2label = dict(enumerate(COLOURS))
    config.label2id = {colour: i for i, colour in enumerate(COLOURS)}
    return Trainer(
        model=AutoModelForImageClassification.from_config(config),
        args=arguments(folder, remove_unused_columns=False, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=processor(),
        data_collator=collate_fn,
        compute_metrics=accuracy,
    )


def vit_config(config_class=ViTConfig, **changed):
    return config_class(
        image_size=SIZE,
        patch_size=8,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        **changed,
    )


@ordinary("images_vit", source=CLASSIFY)
def images_vit(folder):
    return classify_images(folder, vit_config())


@ordinary("images_vit_warmup", source=CLASSIFY_TASK)
def images_vit_warmup(folder):
    changed = {"warmup_steps": 0.1, "gradient_accumulation_steps": 2, "bf16": True}
    return classify_images(folder, vit_config(), **changed)


@ordinary("images_resnet_sgd", source="pytorch vision references/classification/train.py")
def images_resnet_sgd(folder):
    config = ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic"
    )
    return classify_images(
        folder,
        config,
        optim="sgd",
        optim_args="momentum=0.9",
        learning_rate=0.05,
        weight_decay=1e-4,
        lr_scheduler_type="cosine",
    )


@ordinary("images_convnext", source=CLASSIFY)
def images_convnext(folder):
    config = ConvNextConfig(
        hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], image_size=SIZE, patch_size=2
    )
    return classify_images(folder, config, learning_rate=2e-3, weight_decay=0.05, warmup_steps=2)


@ordinary("images_swin", source=CLASSIFY)
def images_swin(folder):
    config = SwinConfig(
        image_size=SIZE, patch_size=4, embed_dim=32, depths=[1, 1], num_heads=[2, 4], window_size=4
    )
    return classify_images(folder, config, learning_rate=2e-3, bf16=True)


@ordinary(
    "masked_autoencoder_vit", source="transformers examples/pytorch/image-pretraining/run_mae.py"
)
def masked_autoencoder_vit(folder):
    train, held_out = image_parts()
    config = vit_config(
        ViTMAEConfig,
        decoder_hidden_size=32,
        decoder_num_hidden_layers=1,
        decoder_num_attention_heads=2,
        decoder_intermediate_size=64,
        norm_pix_loss=True,
    )
    return Trainer(
        model=ViTMAEForPreTraining(config),
        args=arguments(
            folder,
            remove_unused_columns=False,
            label_names=["pixel_values"],
            weight_decay=0.05,
            lr_scheduler_type="cosine",
            warmup_steps=0.05,
            max_steps=20,
        ),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=processor(),
        data_collator=lambda rows: {"pixel_values": torch.stack([r["pixel_values"] for r in rows])},
    )


@ordinary("masked_images_vit", source="transformers examples/pytorch/image-pretraining/run_mim.py")
def masked_images_vit(folder):
    train, held_out = image_parts()

    def collate(rows):
        masks = torch.rand(len(rows), 16).argsort(dim=1) < 8
        return {
            "pixel_values": torch.stack([row["pixel_values"] for row in rows]),
            "bool_masked_pos": masks,
        }

    return Trainer(
        model=ViTForMaskedImageModeling(vit_config(encoder_stride=8)),
        args=arguments(
            folder, remove_unused_columns=False, label_names=["bool_masked_pos"], weight_decay=0.05
        ),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=processor(),
        data_collator=collate,
    )


def segmentation(folder, **changed):
    look, rows = processor(), pictures(80)
    config = SegformerConfig(
        num_encoder_blocks=2,
        depths=[1, 1],
        sr_ratios=[2, 1],
        hidden_sizes=[16, 32],
        patch_sizes=[3, 3],
        strides=[2, 2],
        num_attention_heads=[1, 2],
        mlp_ratios=[2, 2],
        decoder_hidden_size=32,
        num_labels=4,
        semantic_loss_ignore_index=255,
    )
    data = Dataset.from_list(
        [
            {
                "pixel_values": look(row["image"], return_tensors="pt")["pixel_values"][0].tolist(),
                "labels": row["mask"],
            }
            for row in rows
        ]
    ).with_format("torch")
    return Trainer(
        model=SegformerForSemanticSegmentation(config),
        args=arguments(folder, remove_unused_columns=False, **changed),
        train_dataset=data.select(range(16, 80)),
        eval_dataset=data.select(range(16)),
        processing_class=look,
    )


@ordinary("segmentation_segformer", source=SEGMENT)
def segmentation_segformer(folder):
    return segmentation(folder, lr_scheduler_type="polynomial")


@ordinary(
    "segmentation_segformer_bf16",
    source="transformers docs/source/en/tasks/semantic_segmentation.md",
)
def segmentation_segformer_bf16(folder):
    return segmentation(folder, bf16=True)


@ordinary("contrastive_clip", source=CONTRAST)
def contrastive_clip(folder):
    tokenizer, look = tok.bert(), processor()
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    small |= {"intermediate_size": 64, "projection_dim": 32}
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    text = {**small, **ids, "vocab_size": len(tokenizer), "max_position_embeddings": 16}
    sight = {**small, "image_size": SIZE, "patch_size": 8}
    config = CLIPConfig(text_config=text, vision_config=sight, projection_dim=32)
    rows = pictures(112)
    words = tokenizer([row["text"] for row in rows], padding="max_length", max_length=16)
    data = Dataset.from_list(
        [
            {
                "pixel_values": look(row["image"], return_tensors="pt")["pixel_values"][0].tolist(),
                "input_ids": words["input_ids"][i],
                "attention_mask": words["attention_mask"][i],
            }
            for i, row in enumerate(rows)
        ]
    ).with_format("torch")

    def collate(examples):
        names = ("pixel_values", "input_ids", "attention_mask")
        return {
            **{name: torch.stack([row[name] for row in examples]) for name in names},
            "return_loss": True,
        }

    return Trainer(
        model=CLIPModel(config),
        args=arguments(
            folder, remove_unused_columns=False, weight_decay=0.1, warmup_steps=2, max_steps=20
        ),
        train_dataset=data.select(range(16, 112)),
        eval_dataset=data.select(range(16)),
        processing_class=look,
        data_collator=collate,
    )
