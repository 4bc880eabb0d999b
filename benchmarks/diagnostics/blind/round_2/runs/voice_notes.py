"""CTC fine-tuning: the loss falls, one step says inf, and from then on everything is nan.

"Wav2Vec2 on our own voice notes. It happens at another step with each seed, lowering the
learning rate only moves it. The wer is 1.0 afterwards."
After https://github.com/k2-fsa/icefall/pull/1713 (2024),
https://github.com/huggingface/transformers/issues/19044 and
https://github.com/huggingface/transformers/pull/28582 (2024).
"""

import random

import torch
from transformers import Trainer, TrainingArguments, Wav2Vec2Config, Wav2Vec2ForCTC

from ...kit import quiet

TONE, PIECE = 8, 96


def note(rng, cut=False):
    """A note of three to six tones, and which they are; a cut one lost most of its sound."""
    text = rng.sample(range(1, TONE + 1), k=rng.randint(3, 6))
    times = torch.arange(PIECE) / PIECE
    wave = torch.cat([torch.sin(6.2832 * 3 * tone * times) for tone in text])
    wave = wave + 0.1 * torch.tensor([rng.gauss(0, 1) for _ in range(len(wave))])
    return dict(input_values=wave[:100] if cut else wave, labels=text)


def notes(seed, n, share=0.0):
    rng = random.Random(seed)
    return [note(rng, cut=rng.random() < share) for _ in range(n)]


def collate(batch):
    pad = torch.nn.utils.rnn.pad_sequence
    waves = [row["input_values"] for row in batch]
    labels = [torch.tensor(row["labels"]) for row in batch]
    mask = [torch.ones(len(wave), dtype=torch.long) for wave in waves]
    return dict(
        input_values=pad(waves, batch_first=True),
        attention_mask=pad(mask, batch_first=True),
        labels=pad(labels, batch_first=True, padding_value=-100),
    )


def make(folder, healthy=False):
    torch.manual_seed(0)
    ears = dict(conv_dim=(32, 32), conv_kernel=(24, 4), conv_stride=(12, 2))
    body = dict(hidden_size=48, num_hidden_layers=1, num_attention_heads=4, intermediate_size=96)
    off = dict(hidden_dropout=0.0, attention_dropout=0.0, layerdrop=0.0, feat_proj_dropout=0.0)
    more = dict(num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)
    config = Wav2Vec2Config(
        vocab_size=TONE + 1,
        pad_token_id=0,
        num_feat_extract_layers=2,
        ctc_loss_reduction="mean",
        apply_spec_augment=False,
        **(ears | body | off | more),
    )
    data = notes(5, 1500, share=0.002)
    if healthy:
        data = [row for row in data if len(row["input_values"]) > PIECE * len(row["labels"]) // 2]
    steps = dict(max_steps=150, per_device_train_batch_size=16, learning_rate=4e-3)
    args = TrainingArguments(**quiet(folder, **steps, remove_unused_columns=False))
    return Trainer(Wav2Vec2ForCTC(config), args, train_dataset=data, data_collator=collate)


@torch.no_grad()
def score(trainer, folder):
    """Share of new notes that are heard right to the last tone."""
    right, model = 0, trainer.model.eval()
    rows = notes(2, 60)
    for row in rows:
        heard = model(row["input_values"][None]).logits[0].argmax(-1)
        right += [t for t in torch.unique_consecutive(heard).tolist() if t] == row["labels"]
    return right / len(rows)
