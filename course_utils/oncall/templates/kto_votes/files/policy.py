"""The desk's model: read before training, written after it."""

from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig


def read_policy(path):
    model = AutoModelForCausalLM.from_pretrained(path, dtype="float32")
    return model, AutoTokenizer.from_pretrained(path)


def write_policy(model, tokenizer, path):
    model.generation_config = GenerationConfig(
        max_new_tokens=12,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
