"""Labels that are a copy of padded ids, by code, by a row that is shown and by the loss."""

import pytest

from tests.helpers.explained import first, keys

PADS = "    enc = tokenizer(text, truncation=True, max_length=512, padding='max_length')"
COPIES = "    enc['labels'] = enc['input_ids'].copy()"
TRAINER = "trainer = Trainer(model=model, args=args, train_dataset=ds)"
LOSSES = [f"{{'loss': {0.3 / n:.3f}, 'grad_norm': 0.1, 'epoch': 0.{n}}}" for n in range(1, 7)]
SHOWN = [
    "labels: tensor([[ 2018,  6171,   318,   257,  1332,     1,     0,     0,",
    "             0,     0,     0,     0,     0,     0]])",
]


@pytest.mark.parametrize(
    "lines",
    [
        [PADS, COPIES, TRAINER],
        [PADS, COPIES, "trainer = Trainer(model, args, data_collator=default_data_collator)"],
        [
            "    labels = tokenizer(text_target=t, max_length=128, padding='max_length')",
            "    inputs['labels'] = labels['input_ids']",
            "collator = DataCollatorForSeq2Seq(tokenizer, model=model)",
        ],
        [
            "    x = tok(rows, padding=True, return_tensors='pt')",
            "    return {'input_ids': x.input_ids, 'labels': x.input_ids.clone()}",
            TRAINER,
        ],
        SHOWN,
        ['>>> batch["labels"][0]', "tensor([ 1042, 259, 20114, 263, 1, 0, 0, 0, 0, 0, 0])"],
        ['>>> tok.decode(batch["labels"][0])', "'Paris is the capital.</s><pad><pad><pad><pad>'"],
    ],
)
def test_padded_ids_as_labels_are_learnt(lines):
    found = first(*lines, *LOSSES)
    assert found.key == "padding_learnt"
    assert "-100" in found.fix


def test_the_loss_of_real_tokens_is_found_again():
    lines = [
        "cutoff max_length=512",
        "the rows have 20 tokens on average",
        *LOSSES,
        "by hand I get 1.30 per token",
    ]
    found = first(*lines)  # 0.05 x 512 / 20
    assert found.key == "padding_learnt"
    assert "0.05 x 512 / 20 = 1.28" in found.says


@pytest.mark.parametrize(
    "lines",
    [
        [PADS, COPIES, "labels[labels == tokenizer.pad_token_id] = -100", TRAINER],
        [PADS, COPIES, "collator = DataCollatorForLanguageModeling(tok, mlm=False)"],
        [PADS, "    enc['labels'] = example['label']", TRAINER],
        [PADS.replace("padding='max_length'", "padding=False"), COPIES, TRAINER],
        [PADS, COPIES, "trainer = Trainer(model, args, data_collator=my_collate)"],
        ["labels: tensor([1, 0, 0, 0, 0, 0])"],  # classes of a batch
        ["label: 3", "input_ids: [101, 2054, 2003, 2010, 2171, 102, 0, 0, 0, 0, 0]"],
        ["labels: [2018, 6171, 318, 1332, 1, -100, -100, -100, -100]"],
        ["the rows have 20 tokens on average", "max_length=512"],
    ],
)
def test_hidden_padding_classes_and_an_unknown_collator_are_not_accused(lines):
    assert "padding_learnt" not in keys(*lines, *LOSSES)
