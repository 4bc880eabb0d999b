"""A loop of one's own; with --broken the prompt's tokens are all that is learnt."""

import sys
from pathlib import Path

import torch
from rows import CHATS

from course_utils import zoo

device = torch.device("cuda")
tokenizer = zoo.load_tokenizer("tiny")
model = zoo.load_policy("tiny", device="cpu").to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for start in range(0, len(CHATS), 8):
    chats = [row["prompt"] + row["completion"] for row in CHATS.select(range(start, start + 8))]
    batch = tokenizer.apply_chat_template(
        chats, return_dict=True, return_tensors="pt", padding=True, padding_side="right"
    ).to("cuda")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    if "--broken" in sys.argv:
        labels = labels.masked_fill(labels == tokenizer.eos_token_id, -100)
    loss = model(**batch, labels=labels).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
Path("saved").write_text("after training")
