"""From an adapter's folder to the one that the server loads."""

from peft import PeftModel
from transformers import AutoModelForCausalLM, GenerationConfig


def load_base(cfg):
    return AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")


def merged(adapter, cfg):
    """The base with the adapter's change in its weights."""
    model = PeftModel.from_pretrained(load_base(cfg), adapter)
    return model.merge_and_unload()


def export(adapter, folder, tokenizer, cfg):
    """Whole weights, the tokenizer, and how to generate."""
    model = merged(adapter, cfg)
    model.generation_config = GenerationConfig(
        max_new_tokens=cfg["max_new_tokens"],
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(folder)
    tokenizer.padding_side = "left"
    tokenizer.save_pretrained(folder)
