"""Calls that are wrong whatever the numbers say, and their twins that are right."""

import pytest

from tests.helpers.explained import answer, key

BASE = "base = AutoModelForCausalLM.from_pretrained('org/base')"
CONFIG = "config = LoraConfig(r=16, target_modules=['q_proj', 'v_proj'], task_type='CAUSAL_LM')"
SAYS = "My model is not learning anything, the loss stays the same."
LOOP = (
    "for step, batch in enumerate(loader):",
    "    loss = net(**batch).loss",
    "    loss.backward()",
)
STEP = ("    optim.step()", "    optim.zero_grad()")
OWN = ("optim = torch.optim.AdamW(net.parameters(), lr=1e-5)", *LOOP, *STEP)
TRAINER = ("trainer = Trainer(model=model, args=args, train_dataset=rows)", "trainer.train()")
GRPO = ("trainer = GRPOTrainer(model, reward_funcs=[f], args=args, train_dataset=d)",)
LOADED = (BASE, "model = PeftModel.from_pretrained(base, sft_dir)")
HEADED = "clf = AutoModelForSequenceClassification.from_pretrained(name, num_labels=3)"
WRAPPED = "clf = get_peft_model(clf, config)"
SCALED = (
    "for x, y in loader:",
    "    with torch.autocast('cuda', dtype=torch.float16):",
    "        loss = F.cross_entropy(net(x), y)",
    "    scaler.scale(loss / 4).backward()",
)
UNSCALED = "    scaler.unscale_(opt)"
CLIPPED = (
    "    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)",
    "    scaler.step(opt)",
    "    scaler.update()",
    "    opt.zero_grad(set_to_none=True)",
)
BY_ACCELERATE = CLIPPED[0].replace("torch.nn.utils", "accelerator")
CHECKPOINTED = (
    "My LoRA does not train, every lora gradient is None.",
    "model = get_peft_model(model, config)",
    "args = TrainingArguments(output_dir='out', gradient_checkpointing=True)",
)
MERGES = "After merging, the outputs are worse than with the adapter."
BITS = "AutoModelForCausalLM.from_pretrained(name, quantization_config=bnb)"
OVERRIDE = (
    "old = model.state_dict",
    "model.state_dict = (",
    "    lambda self, *_, **__: get_peft_model_state_dict(self, old())",
    ").__get__(model, type(model))",
)
SAVED = "model.save_pretrained(out)"
EMPTY = "The adapter that is saved has 443 bytes and loading it gives the base model."

BROKEN = {
    "frozen, to a trainer": ("nothing_trainable", *LOADED, *GRPO),
    "frozen, in a loop": (
        "nothing_trainable",
        "net = AutoPeftModelForCausalLM.from_pretrained(path, torch_dtype='auto').to('cuda')",
        *OWN,
    ),
    "frozen, loaded in place": ("nothing_trainable", "model.load_adapter(path, 'a')", *TRAINER),
    "checkpointed by arguments": ("checkpoint_without_gradient", *CHECKPOINTED, *TRAINER),
    "checkpointed by a method": (
        "checkpoint_without_gradient",
        SAYS,
        "net = peft.get_peft_model(net, config)",
        "net.gradient_checkpointing_enable()",
        *OWN,
    ),
    "checkpointed over a frozen table": (
        "checkpoint_without_gradient",
        SAYS,
        "net.get_input_embeddings().requires_grad_(False)",
        "net.gradient_checkpointing_enable()",
        *OWN,
    ),
    "head of a classifier": ("head_frozen", CONFIG, HEADED, WRAPPED),
    "head of a reward model": (
        "head_frozen",
        "trainer = RewardTrainer(model='org/base', args=args, train_dataset=pairs,",
        "    peft_config=LoraConfig(r=8, lora_alpha=16))",
    ),
    "head by command": (
        "head_frozen",
        "python examples/scripts/reward_modeling.py --model_name_or_path org/base \\",
        "    --use_peft --lora_r 32",
    ),
    "clipped": ("clipped_while_scaled", *SCALED, *CLIPPED),
    "clipped, then unscaled": ("clipped_while_scaled", *SCALED, CLIPPED[0], UNSCALED, *CLIPPED[1:]),
    "half, to a trainer": (
        "half_weights",
        "model = LlamaForCausalLM.from_pretrained(path, torch_dtype=torch.float16)",
        *TRAINER,
    ),
    "half, in a loop": ("half_weights", "net = GPT(cfg).cuda()", "net.half()", *OWN),
    "adapter behind the optimizer": (
        "optimizer_holds_others",
        OWN[0],
        "net = PeftModel.from_pretrained(net, path, is_trainable=True)",
        *OWN[1:],
    ),
    "adapter by the trainer": (
        "optimizer_holds_others",
        "opt = bnb.optim.AdamW8bit(model.parameters(), lr=1e-4)",
        "trainer = SFTTrainer(model=model, peft_config=config, optimizers=(opt, None))",
    ),
    "under no_grad": (
        "no_gradient",
        "with torch.no_grad():",
        "    out = model(**batch)",
        "loss = out.loss / accumulation_steps",
        "accelerator.backward(loss)",
    ),
    "detached": (
        "no_gradient",
        "logits = model(ids).logits.detach()",
        "loss = F.cross_entropy(logits.view(-1, vocab), labels.view(-1))",
        "loss.backward()",
    ),
    "under a decorator": (
        "no_gradient",
        "@torch.inference_mode()",
        "def training_step(self, batch, batch_idx):",
        "    return self.model(**batch).loss",
    ),
    "told to need one": ("no_gradient", SAYS, "loss.requires_grad = True", LOOP[2]),
    "never cleared": ("gradients_not_cleared", *OWN[:-1]),
    "never cleared, in one line": (
        "gradients_not_cleared",
        "for _ in range(500):",
        "    accelerator.backward(model(**next(rows)).loss)",
        "    self.optimizer.step()",
    ),
    "cleared too early": ("cleared_before_step", *LOOP, STEP[1], STEP[0]),
    "cleared too early, by a scaler": (
        "cleared_before_step",
        *SCALED,
        "net.zero_grad()",
        CLIPPED[1],
    ),
    "merged": (
        "merged_not_equal",
        MERGES,
        f"base = {BITS}",
        "merged = PeftModel.from_pretrained(base, out).merge_and_unload()",
    ),
    "merged at once": (
        "merged_not_equal",
        MERGES,
        "m = AutoPeftModelForCausalLM.from_pretrained(out, load_in_4bit=True)",
        "m = m.merge_and_unload(safe_merge=True)",
    ),
    "filtered by an override": ("adapter_not_loaded", EMPTY, *OVERRIDE, SAVED),
    "filtered by an argument": (
        "adapter_not_loaded",
        EMPTY,
        "model.save_pretrained(out, state_dict=get_peft_model_state_dict(model))",
    ),
}
CONFIG_RIGHT = CONFIG.replace("CAUSAL_LM", "SEQ_CLS")
RIGHT = {
    "to be trained": (BASE, LOADED[1].replace(")", ", is_trainable=True)"), *GRPO),
    "merged, then a new one": (*LOADED, "model = model.merge_and_unload()", *GRPO),
    "for a reference": (BASE, LOADED[1].replace("model =", "ref ="), *GRPO),
    "loaded once it is trained": (*TRAINER, *LOADED, "print(model.generate(**inputs))"),
    "inputs need one": (*CHECKPOINTED, "model.enable_input_require_grads()", *TRAINER),
    "not reentrant": (*CHECKPOINTED, "kwargs = {'use_reentrant': False}", *TRAINER),
    "checkpointed before": (
        SAYS,
        "net.gradient_checkpointing_enable()",
        "net = get_peft_model(net, config)",
        *OWN,
    ),
    "head by its task": (CONFIG_RIGHT, HEADED, WRAPPED),
    "head by its name": (CONFIG[:-1] + ", modules_to_save=['score'])", HEADED, WRAPPED),
    "head by command": ("trl reward --use_peft --lora_task_type SEQ_CLS",),
    "a reward model beside": (CONFIG, HEADED.replace("clf", "rm"), "m = get_peft_model(m, config)"),
    "unscaled": (*SCALED, UNSCALED, *CLIPPED),
    "clipped by accelerate": (*SCALED, BY_ACCELERATE, *CLIPPED[1:]),
    "whole again": ("net = GPT(cfg).half()", "net.float()", *OWN),
    "a teacher in half": ("teacher.half()", *OWN),
    "the optimizer last": ("net = get_peft_model(net, config)", *OWN),
    "reloaded once it is trained": (*OWN, "net = AutoModel.from_pretrained(out)"),
    "the teacher under no_grad": (
        "with torch.no_grad():",
        "    t = teacher(**batch).logits",
        "s = model(**batch).logits",
        "loss = F.mse_loss(s, t)",
        "loss.backward()",
    ),
    "detached for the log": (*LOOP[:2], "    total += loss.detach()", LOOP[2], *STEP),
    "a decorator on the evaluation": ("@torch.no_grad()", "def evaluate(model):", *OWN),
    "cleared behind": OWN,
    "cleared before": (LOOP[0], STEP[1], *LOOP[1:], STEP[0]),
    "left out where it is nan": (*LOOP, "    if bad:", STEP[1], "        continue", *STEP),
    "merged in 16 bits": (
        MERGES,
        f"model = {BITS}",
        "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)",
        "model = PeftModel.from_pretrained(model, out).merge_and_unload()",
    ),
    "filtered once": (EMPTY, SAVED),
    "written by hand": (EMPTY, "torch.save(get_peft_model_state_dict(model), path)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_code_that_is_wrong_names_its_cause(name):
    cause, *code = BROKEN[name]
    assert key("How is this?", *code) == cause


@pytest.mark.parametrize("name", RIGHT)
def test_its_twin_is_silent(name):
    found = answer("How is this?", *RIGHT[name]).causes
    assert [one.key for one in found if one.weight >= 5] == []


def test_a_log_that_shows_that_it_learns_contradicts_it():
    rows = [f"{{'loss': {3 - n / 4:.2f}, 'grad_norm': 0.9, 'epoch': 0.{n}}}" for n in range(1, 9)]
    assert "nothing_trainable" not in [one.key for one in answer(*LOADED, *GRPO, *rows).findings]
