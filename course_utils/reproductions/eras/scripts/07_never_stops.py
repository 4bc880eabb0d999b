"""The tutorial of 2023 to 2025 with trl 0.15.2: SFTTrainer, and one line on the pad."""

import json
import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import SFTConfig, SFTTrainer

MODEL, OUTPUT = sys.argv[1:3]
END, OWN_PAD = "<|im_end|>", "<|endoftext|>"
ADDENDS = [(n, m) for n in range(10, 90, 2) for m in range(11, 99, 4)]


def base_model():
    """A base checkpoint: nobody has trained its end token."""
    model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float32)
    row = torch.randn(model.config.hidden_size, generator=torch.Generator().manual_seed(0))
    end = AutoTokenizer.from_pretrained(MODEL).convert_tokens_to_ids(END)
    with torch.no_grad():
        model.get_input_embeddings().weight[end] = 0.02 * row
    return model


def train(pad_token):
    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(MODEL, padding_side="right")
    tokenizer.pad_token = pad_token
    chats = [
        [{"role": "user", "content": f"{n}+{m}="}, {"role": "assistant", "content": str(n + m)}]
        for n, m in ADDENDS
    ]
    training_args = SFTConfig(
        output_dir=OUTPUT,
        learning_rate=1e-3,
        logging_steps=10,
        per_device_train_batch_size=16,
        max_steps=40,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
    )
    trainer = SFTTrainer(
        model=base_model(),
        processing_class=tokenizer,
        args=training_args,
        train_dataset=Dataset.from_dict({"messages": chats}).shuffle(seed=0),
    )
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return {"losses": losses, **replies(trainer.model.eval())}


def replies(model):
    """End and padding are given by hand: where they are one, finished looks like padded."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL, padding_side="left")
    asked = [[{"role": "user", "content": f"{n}+{n + 7}="}] for n in range(11, 75)]
    texts = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    ends = {"eos_token_id": tokenizer.convert_tokens_to_ids(END)}
    ends["pad_token_id"] = tokenizer.convert_tokens_to_ids(OWN_PAD)
    out = model.generate(**batch, max_new_tokens=16, do_sample=False, **ends)
    out = out[:, batch["input_ids"].shape[1] :]
    return {"stops": (out == ends["eos_token_id"]).any(-1).float().mean().item()}


facts = {
    "pad token of its own": train(OWN_PAD),
    "pad_token = eos_token": train(END),
}
print(json.dumps(facts))
