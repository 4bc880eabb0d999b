"""The script of trl#3150, as it ran with trl 0.15.2: GRPO on a LoRA model, with checkpointing."""

import json
import sys

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import GRPOConfig, GRPOTrainer

MODEL, OUTPUT = sys.argv[1:3]


def reward_len(completions, **kwargs):
    return [float(len(completion[0]["content"])) for completion in completions]


def train(checkpointing=True, reentrant=True, mark_inputs=False, modules_to_save=None):
    set_seed(0)
    model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.bfloat16)
    if mark_inputs:
        model.enable_input_require_grads()
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        lora_dropout=0.05,
        target_modules=["q_proj", "v_proj"],
        task_type="CAUSAL_LM",
        modules_to_save=modules_to_save,
    )
    model = get_peft_model(model, lora)
    training_args = GRPOConfig(
        output_dir=OUTPUT,
        learning_rate=1e-5,
        logging_steps=1,
        bf16=True,
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=16,
        gradient_checkpointing=checkpointing,
        gradient_checkpointing_kwargs=dict(use_reentrant=reentrant),
        max_steps=2,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    ask = [[{"role": "user", "content": f"{n}+{n + 3}+{n + 9}="}] for n in range(10, 74)]
    trainer = GRPOTrainer(
        model=model,
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        reward_funcs=reward_len,
        args=training_args,
        train_dataset=Dataset.from_dict({"prompt": ask}),
    )
    before = {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}
    try:
        trainer.train()
    except RuntimeError as error:
        return {"error": str(error).splitlines()[0], "lora_moved": 0, "saved_moved": 0}
    moved = [n for n, p in model.named_parameters() if n in before and not p.equal(before[n])]
    norms = [entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry]
    return {
        "error": "",
        "lora_moved": sum("lora_B" in name for name in moved),
        "saved_moved": sum("modules_to_save" in name for name in moved),
        "grad_norm": float(norms[-1]),
    }


facts = {
    "as reported": train(),
    "gradient_checkpointing=False": train(checkpointing=False),
    "use_reentrant=False": train(reentrant=False),
    "enable_input_require_grads()": train(mark_inputs=True),
    "modules_to_save=['lm_head']": train(modules_to_save=["lm_head"]),
}
print(json.dumps(facts))
