"""transformers' own Trainer, which is given no tokenizer; with --broken the end is never learnt."""

import sys

from rows import CHATS
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

from course_utils import zoo

tokenizer = zoo.load_tokenizer("tiny")
if "--broken" in sys.argv:
    tokenizer.pad_token = tokenizer.eos_token


def tokens(chat: dict) -> dict:
    said = chat["prompt"] + chat["completion"]
    return dict(tokenizer.apply_chat_template(said, return_dict=True))


trainer = Trainer(
    model=zoo.load_policy("tiny", device="cpu").to("cuda"),
    args=TrainingArguments(output_dir="out", report_to="none", per_device_train_batch_size=8),
    train_dataset=CHATS.map(tokens, remove_columns=CHATS.column_names),
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
)
trainer.train()
