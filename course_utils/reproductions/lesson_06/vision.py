"""A vision transformer with LoRA, whose main input is not token ids. Patches no library."""

from course_utils.zoo import training


def vision_adapters_moved(*, use_reentrant: bool, use_cpu: bool, seed: int = 0) -> list[bool]:
    """Train two steps of a small ViT with LoRA under checkpoints; which adapters moved.

    A plain Trainer on the libraries as they are, with all that they do to help. `classifier` is
    trained whole, beside the adapters.

    Returns:
        For each lora_B, whether it is no longer 0.
    """
    import torch  # takes seconds, as the next two do
    from peft import LoraConfig, get_peft_model
    from transformers import (
        Trainer,
        TrainingArguments,
        ViTConfig,
        ViTForImageClassification,
        set_seed,
    )

    set_seed(seed)
    shape = ViTConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=2,
        image_size=16,
        patch_size=8,
        num_labels=3,
    )
    lora = LoraConfig(target_modules=["q_proj", "v_proj"], modules_to_save=["classifier"])
    vit = get_peft_model(ViTForImageClassification(shape), lora)
    pixels = torch.randn(16, 3, 16, 16)
    arguments = TrainingArguments(
        **training.quiet_config(),
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": use_reentrant},
        max_steps=2,
        use_cpu=use_cpu,
    )
    images = [{"pixel_values": image, "labels": i % 3} for i, image in enumerate(pixels)]
    Trainer(model=vit, args=arguments, train_dataset=images).train()
    return [bool(w.any()) for name, w in vit.named_parameters() if "lora_B" in name]
