"""Prompts with images whose length is counted with the processor, or on the text alone."""

import pytest

from tests.helpers.explained import first

CODE = [
    "batch = processor(text=texts, images=images, padding=True, return_tensors='pt')",
    "labels = batch['input_ids'].clone()",
    "prompt_len = len(processor.tokenizer(prompt_text)['input_ids'])",
    "labels[i, :prompt_len] = -100",
]
RUN = [f"{{'loss': {2 / 2**n:.3f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


def test_a_prompt_counted_on_its_text_leaves_the_image_in_the_loss():
    one = first(*CODE, "label tokens: [840, 911, 790]", *RUN)
    assert one.key == "prompt_in_loss" and "processor has put in" in one.says
    assert "840, 911, 790 tokens" in one.for_it[-1]


@pytest.mark.parametrize(
    "code",
    [
        [CODE[0], CODE[1], "labels[i, : len(tokenizer.encode(prompts[i]))] = -100"],
        ["batch = self.processor(", "text=texts,", "images=images,", ")", *CODE[1:]],
        [
            *CODE[:2],
            "n = self.tokenizer(prompt, return_tensors='pt').input_ids.shape[1]",
            "labels[0, :n] = IGNORE_INDEX",
        ],
    ],
)
def test_the_same_is_written_in_other_forms(code):
    assert first(*code, *RUN).key == "prompt_in_loss"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("len(processor.tokenizer(prompt_text)['input_ids'])", "find_header(batch['input_ids'])"),
        ("len(processor.tokenizer(", "len(processor(images=images[i], text="),
        ("images=images, ", ""),
        ("prompt_len =", "prompt_text = prompt_text.replace(IMG, IMG * n_image)\nprompt_len ="),
        ("labels[i, :prompt_len] = -100", "labels[labels == pad] = -100"),
        ("labels[i, :prompt_len] = -100", "labels[i, :prompt_len] = -100\nloss tokens: [11, 9]"),
    ],
)
def test_a_prompt_counted_with_its_images_or_without_any_is_right(old, new):
    assert first(*"\n".join(CODE).replace(old, new).split("\n"), *RUN) is None
