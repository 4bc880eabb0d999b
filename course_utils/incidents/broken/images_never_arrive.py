"""A collator for text batches the rows of a vision-language model, and leaves out the images."""

import torch
from datasets import Dataset
from torch import nn
from transformers import CLIPVisionConfig, LlavaConfig, LlavaForConditionalGeneration

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer, plain_trainer, reply_row
from course_utils.reproductions.lesson_07.batches import Batch, padded

NUM_STEPS, SIZE, HELD_OUT = 80, 16, 64
NUM_COLOURS, PIXELS, PATCH, NOISE = 8, 16, 8, 0.1
IMAGE = "<image>"
PLACES = IMAGE * (PIXELS // PATCH) ** 2  # as many tokens as the image has patches


def _tokenizer():
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.add_special_tokens({"additional_special_tokens": [IMAGE]})
    return tokenizer


def _model(image_token_id: int) -> nn.Module:
    """The tiny policy as the language model of a LLaVA whose vision tower is new."""
    tiny = zoo.load_policy("tiny", device="cpu")
    tiny.resize_token_embeddings(image_token_id + 1, mean_resizing=False)
    sight = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=PIXELS,
        patch_size=PATCH,
        projection_dim=32,
    )
    config = LlavaConfig(
        vision_config=sight,
        text_config=tiny.config,
        image_token_id=image_token_id,
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    model.model.language_model.load_state_dict(tiny.model.state_dict())
    return model


def _rows(n: int, seed: int, tokenizer) -> list[dict]:
    """Numbers that only the image shows, by its colour."""
    drawn = torch.Generator().manual_seed(seed)
    colours = torch.randn(NUM_COLOURS, 3, generator=torch.Generator().manual_seed(0))
    rows = []
    for _ in range(n):
        shown = int(torch.randint(NUM_COLOURS, (), generator=drawn))
        noise = NOISE * torch.randn(3, PIXELS, PIXELS, generator=drawn)
        chat = [
            {"role": "user", "content": f"{PLACES}="},
            {"role": "assistant", "content": str(shown + 1)},
        ]
        ids, labels = reply_row(chat, tokenizer)
        pixels = colours[shown][:, None, None] + noise
        rows.append({"input_ids": ids, "labels": labels, "pixel_values": pixels.tolist()})
    return rows


def _text(rows: list[dict], pad: int) -> Batch:
    return padded([(row["input_ids"], row["labels"]) for row in rows], pad)


def _with_images(rows: list[dict], pad: int) -> Batch:
    return _text(rows, pad) | {"pixel_values": torch.tensor([row["pixel_values"] for row in rows])}


@torch.no_grad()
def _share_right(model: nn.Module, batch: Batch) -> float:
    """Of the replies, those whose every token is the likeliest one."""
    said, labels = model(**batch).logits[:, :-1].argmax(-1), batch["labels"][:, 1:]
    return ((said == labels) | (labels == -100)).all(1).float().mean().item()


def _build(*, seed: int, has_images: bool) -> Run:
    tokenizer = _tokenizer()
    pad, image = tokenizer.pad_token_id, tokenizer.convert_tokens_to_ids(IMAGE)
    model = _model(image)

    def collate(rows: list[dict]) -> Batch:
        return _with_images(rows, pad) if has_images else _text(rows, pad)

    trainer = plain_trainer(model, [], pad, seed=seed, collate=collate, max_steps=NUM_STEPS)
    trainer.train_dataset = Dataset.from_list(_rows(SIZE * NUM_STEPS, seed, tokenizer))
    held_out = _with_images(_rows(HELD_OUT, seed + 1000, tokenizer), pad)
    return of_trainer(
        trainer, lambda: {"right": _share_right(model.eval(), held_out)}, tokenizer=tokenizer
    )


INCIDENT = Incident(
    name="images_never_arrive",
    title="the collator leaves out the images",
    kind="images",
    says="The loss of the vision-language model falls and then stays at about 1; the answers have "
    "the right form, and nothing to do with the image.",
    cause="The collator was written for text: it batches ids and labels and leaves out "
    "pixel_values, and the model reads the image tokens as ordinary ones.",
    fix="Add pixel_values to the batch.",
    threads=("mlx-vlm#979",),
    make=Variants(_build, broken={"has_images": False}, twin={"has_images": True}),
    shows=lambda run: run.facts()["right"] < 0.5,
    causes=("images_missing",),
    place="pixel_values",
)
