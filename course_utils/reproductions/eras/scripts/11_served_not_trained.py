"""LoRA with the seven usual names on a mixture of experts, with transformers 4.57 and peft 0.18."""

import json
import sys
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed

MODEL, OUTPUT = sys.argv[1:3]
SEVEN = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
END, CODE = "<|im_end|>", str.maketrans("0123456789", "1032547698")
NUM_EXPERTS, SIZE, NUM_STEPS = 4, 16, 60


def write_mixture(folder):
    """The tiny model with each MLP four times over, as a checkpoint of transformers 4."""
    config = json.loads(Path(MODEL, "config.json").read_text())
    weights, mixed = load_file(Path(MODEL, "model.safetensors")), {}
    size = config["hidden_size"]
    for name, weight in weights.items():
        if ".mlp." not in name:
            mixed[name] = weight
            continue
        layer, _, own = name.partition(".mlp.")
        shape = (size, 8) if "down" in own else (8, size)
        mixed[f"{layer}.mlp.shared_expert.{own}"] = torch.zeros(shape)
        for n in range(NUM_EXPERTS):
            mixed[f"{layer}.mlp.experts.{n}.{own}"] = weight.clone()
        mixed[f"{layer}.mlp.gate.weight"] = 0.02 * torch.randn(NUM_EXPERTS, size)
        mixed[f"{layer}.mlp.shared_expert_gate.weight"] = torch.zeros(1, size)
    config |= {
        "architectures": ["Qwen2MoeForCausalLM"],
        "model_type": "qwen2_moe",
        "num_experts": NUM_EXPERTS,
        "num_experts_per_tok": 2,
        "norm_topk_prob": True,
        "moe_intermediate_size": config["intermediate_size"],
        "shared_expert_intermediate_size": 8,
    }
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(mixed, folder / "model.safetensors", metadata={"format": "pt"})


def rows(start, stop, step):
    """Prompts, and sums in a code that has to be learned."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL, padding_side="left")
    pairs = [(n, m) for n in range(start, stop, step) for m in range(11, 99, 3)]
    asked = [[{"role": "user", "content": f"{n}+{m}="}] for n, m in pairs]
    texts = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    return tokenizer, texts, [str(n + m).translate(CODE) for n, m in pairs]


def train(model):
    tokenizer, texts, answers = rows(10, 98, 2)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=4e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=NUM_STEPS)
    for _ in range(NUM_STEPS):
        chosen = torch.randint(len(texts), (SIZE,)).tolist()
        whole = [f"{texts[n]}{answers[n]}{END}" for n in chosen]
        batch = tokenizer(whole, padding=True, return_tensors="pt")
        labels = torch.full_like(batch["input_ids"], -100)
        for row, n in enumerate(chosen):
            length = len(tokenizer(f"{answers[n]}{END}")["input_ids"])
            labels[row, -length:] = batch["input_ids"][row, -length:]
        loss = model(**batch, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return loss.item()


def share_right(model):
    tokenizer, texts, answers = rows(11, 97, 20)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    end = tokenizer.convert_tokens_to_ids(END)
    out = model.eval().generate(**batch, max_new_tokens=6, do_sample=False, eos_token_id=end)
    said = tokenizer.batch_decode(out[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    return sum(map(str.__eq__, said, answers)) / len(answers)


set_seed(0)
write_mixture(Path(OUTPUT))
base = AutoModelForCausalLM.from_pretrained(OUTPUT, torch_dtype=torch.float32)
lora = LoraConfig(r=8, lora_alpha=16, target_modules=SEVEN, task_type="CAUSAL_LM")
set_seed(0)
model = get_peft_model(base, lora)
adapted = [name for name, _ in model.named_parameters() if "lora_A" in name]
facts = {
    "on experts": sum(".experts." in name for name in adapted),
    "elsewhere": sum(".experts." not in name for name in adapted),
    "loss": train(model.train()),
    "right": share_right(model),
}
print(json.dumps(facts))
