"""What the server will say: it loads the exported folder and nothing else."""

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

QUESTIONS = ("12+30=", "47+25=", "8+64=")


@torch.no_grad()
def ask(folder):
    """Print a few replies, so that somebody sees them before the upload."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    chats = [[{"role": "user", "content": question}] for question in QUESTIONS]
    texts = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(texts, padding=True, add_special_tokens=False, return_tensors="pt")
    ids = model.generate(**batch, do_sample=False)[:, batch["input_ids"].shape[1] :]
    for question, reply in zip(QUESTIONS, tokenizer.batch_decode(ids, skip_special_tokens=True)):
        print(f"served: {question} {reply}")
