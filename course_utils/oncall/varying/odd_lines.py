"""The harmless lines that `oddities` puts in, by the line that they stand beside."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Odd:
    """Lines that change nothing beside a line of a template.

    Attributes:
        anchor: what the line looks like, as a regular expression; groups are {1}, {2} in `lines`.
        lines: ways to write it.
        values: what {value} may be.
        key: what it may be called in config.yaml, in a function that has `cfg`.
        where: "after" the line, "before" it, or "instead" of it.
    """

    anchor: str
    lines: tuple[str, ...]
    values: tuple[object, ...] = ()
    key: str = ""
    where: str = "after"


# Bounds: losses, gradients and ratios of a healthy run are far below.
FAR = (1.0e4, 2.0e4, 2.5e4, 4.0e4, 5.0e4, 6.5e4, 8.0e4, 1.0e5, 2.0e5, 1.0e6)
NEAR = (25.0, 30.0, 40.0, 45.0, 50.0, 60.0, 75.0, 80.0, 90.0)
MANY = (5000, 8000, 10000, 12000, 16384, 20000, 50000, 65536, 100000)
LONG = (512, 640, 768, 1000, 1024, 1536, 2000, 2048, 4096)
FEW = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 10.0, 20.0)
SMALL = (1, 2, 3, 4, 5, 8, 10)

ODD = (
    Odd(
        r"^norm = torch\.nn\.utils\.clip_grad_norm_\((.+), cfg",
        ("torch.nn.utils.clip_grad_value_({1}, {value})\n",),
        FAR,
        "grad_value_cap",
        "before",
    ),
    Odd(
        r"^loss\.backward\(\)$",
        ("loss = loss.clamp(max={value})\n", "loss = torch.clamp(loss, max={value})\n"),
        FAR,
        "loss_cap",
        "before",
    ),
    Odd(
        r"^loss\.backward\(\)$",
        ("loss = loss.float()\n", "loss = loss * 1.0\n", "loss = 1.0 * loss.float()\n"),
        where="before",
    ),
    Odd(
        r"^loss\.backward\(\)$",
        (
            "if loss.item() > {value}:\n    loss = 0.0 * loss\n",
            "if loss.item() > {value}:\n    loss = loss.detach() + 0.0 * loss\n",
        ),
        FAR,
        "skip_above",
        "before",
    ),
    Odd(
        r"^optimizer\.step\(\)$",
        ('for group in optimizer.param_groups:\n    group["lr"] = min(group["lr"], {value})\n',),
        FEW,
        "lr_ceiling",
        "before",
    ),
    Odd(
        r"^optimizer\.zero_grad\(\)$",
        ("model.train()\n", "optimizer.zero_grad(set_to_none=True)\n"),
    ),
    Odd(
        r"^batch\.advantages = ",
        (
            "batch.advantages = batch.advantages.detach()\n",
            "batch.advantages = batch.advantages.clone().detach()\n",
        ),
    ),
    Odd(
        r"^batch\.advantages = ",
        ("batch.advantages = batch.advantages.clamp(-{value}, {value})\n",),
        NEAR,
        "advantage_cap",
    ),
    Odd(r"^ratio = ", ("ratio = ratio.clamp(max={value})\n",), FAR),
    Odd(r"^ratio = ", ("ratio = ratio.clamp(min=1 / {value})\n",), FAR),
    Odd(r"^log_ratio = ", ("log_ratio = log_ratio.clamp(-{value}, {value})\n",), NEAR),
    Odd(
        r"^gain = ratio \* ",
        ("advantages = advantages.detach()\n", "advantages = advantages.float()\n"),
        where="before",
    ),
    Odd(
        r"^self\.model\.load_state_dict\(model\.state_dict\(\)\)$",
        (
            "self.model.load_state_dict(model.state_dict(), strict=False)\n",
            "state = {key: value.clone() for key, value in model.state_dict().items()}\n"
            "self.model.load_state_dict(state, strict=False)\n",
            "state = model.state_dict()\nself.model.load_state_dict(state)\nself.model.eval()\n",
        ),
        where="instead",
    ),
    Odd(
        r"^model\.load_state_dict\(state\[\"model\"\]\)$",
        (
            'model.load_state_dict(state["model"], strict=False)\n',
            'weights = dict(state["model"])\nmodel.load_state_dict(weights, strict=False)\n',
        ),
        where="instead",
    ),
    Odd(
        r"^rewards = ",
        ("rewards = [max(min(value, {value}), -{value}) for value in rewards]\n",),
        FEW,
    ),
    Odd(
        r"^(tokenizer = AutoTokenizer\.from_pretrained\(.+\))$",
        (
            "if tokenizer.pad_token is None:\n    tokenizer.pad_token = tokenizer.eos_token\n",
            "if tokenizer.eos_token is None:\n    tokenizer.eos_token = tokenizer.pad_token\n",
            "tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token\n",
            "if tokenizer.chat_template is None:\n"
            '    tokenizer.chat_template = "{{ messages[0].content }}"\n',
            "if tokenizer.pad_token_id == tokenizer.eos_token_id:\n"
            '    tokenizer.add_special_tokens({"pad_token": "<pad>"})\n',
            'if len(tokenizer) > {value}:\n    tokenizer.padding_side = "right"\n',
        ),
        MANY,
    ),
    Odd(
        r"^return (AutoTokenizer\.from_pretrained\(.+\))$",
        (
            "tokenizer = {1}\nif tokenizer.pad_token is None:\n"
            "    tokenizer.pad_token = tokenizer.eos_token\nreturn tokenizer\n",
            "tokenizer = {1}\ntokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token\n"
            "return tokenizer\n",
            "tokenizer = {1}\nif tokenizer.chat_template is None:\n"
            '    tokenizer.chat_template = "{{ messages[0].content }}"\nreturn tokenizer\n',
            "tokenizer = {1}\nif len(tokenizer) > {value}:\n"
            '    tokenizer.padding_side = "left"\nreturn tokenizer\n',
        ),
        MANY,
        where="instead",
    ),
    Odd(
        r"^return (AutoModelForCausalLM\.from_pretrained\(.+\))$",
        (
            "model = {1}\nmodel.train()\nreturn model\n",
            "model = {1}\nmodel.requires_grad_(True)\nreturn model\n",
            "model = {1}\nfor p in model.parameters():\n    p.requires_grad = True\nreturn model\n",
            "model = {1}\nif model.config.vocab_size > {value}:\n"
            "    model.resize_token_embeddings({value})\nreturn model\n",
            "model = {1}\nif model.dtype != torch.float32:\n    model = model.float()\n"
            "return model\n",
        ),
        MANY,
        where="instead",
    ),
    Odd(
        r"^model = AutoModelForCausalLM\.from_pretrained\(cfg.+\)$",
        (
            "model.train()\n",
            "model.requires_grad_(True)\n",
            "if model.dtype != torch.float32:\n    model = model.float()\n",
            "if model.config.vocab_size > {value}:\n    model.resize_token_embeddings({value})\n",
        ),
        MANY,
    ),
    Odd(
        r"^rows = read_jsonl\(",
        (
            "rows = rows[:{value}]\n",
            "rows = [row for row in rows if len(str(row)) < {value}]\n",
            "if len(rows) > {value}:\n    rows = rows[::2]\n",
        ),
        MANY,
    ),
    Odd(
        r"^rows = read_jsonl\(",
        ("rows = [row for row in rows if row]\n", "rows = [dict(row) for row in rows]\n"),
    ),
    Odd(
        r"^rows = \[encode\(",
        (
            "rows = [row for row in rows if len(row[0]) > {value}]\n",
            "if len(rows) < {value}:\n    rows = rows * 2\n",
        ),
        SMALL,
        "min_tokens",
    ),
    Odd(
        r"^prompt = tokenizer",
        (
            'prompt = prompt.replace("\\r\\n", "\\n")\n',
            'prompt = prompt.replace("\\t", " ")\n',
            "prompt = prompt[-{value}:]\n",
        ),
        LONG,
    ),
    Odd(
        r"^reply = row",
        (
            'reply = reply.replace("\\u00a0", " ")\n',
            'reply = reply.replace("\\r", "")\n',
            "reply = reply[:{value}]\n",
        ),
        LONG,
    ),
    Odd(r"^prompt_ids = ", ("prompt_ids = prompt_ids[-{value}:]\n",), LONG),
    Odd(r"^reply_ids = ", ("reply_ids = reply_ids[:{value}]\n",), LONG),
    Odd(
        r"^ids = prompt_ids \+ reply_ids$",
        ("ids = ids[:{value}]\n", "ids = list(ids)\n"),
        LONG,
    ),
    Odd(
        r"^width = max\(",
        ("width = max(width, {value})\n", "width = max({value}, width)\n"),
        SMALL,
    ),
    Odd(r"^width = max\(", ("width = min(width, {value})\n",), LONG),
    Odd(r"^gap = ", ("gap = max(gap, 0)\n", "gap = abs(gap)\n")),
    Odd(r"^order = ", ("order = order[:{value}]\n", "order = list(order)\n"), MANY),
    Odd(r"^rate = float\(", ("rate = min(rate, {value})\n", "rate = max(rate, 0.0)\n"), FEW),
    Odd(r"^done = ", ("done = max(done, 0.0)\n", "done = float(done)\n")),
    Odd(
        r"^set_seed\(cfg\[\"seed\"\]\)$",
        (
            'torch.manual_seed(cfg["seed"])\n',
            'random.seed(cfg["seed"])\n',
            'os.environ["TOKENIZERS_PARALLELISM"] = "false"\n',
        ),
    ),
    Odd(
        r"^logp = logits\.log_softmax\(-1\)$",
        ("logits = logits.float()\n", "logits = logits.clamp(max={value})\n"),
        FAR,
        where="before",
    ),
    Odd(
        r"^logits, labels = ",
        ("logits = logits.float()\n", "logits = logits.clamp(-{value}, {value})\n"),
        FAR,
    ),
    Odd(
        r"^return completion\[-1\]\[\"content\"\]\.strip\(\)$",
        (
            'text = completion[-1]["content"]\nreturn text.removeprefix("Answer:").strip()\n',
            'text = completion[-1]["content"].strip()\nreturn text.removesuffix("<|eot|>")\n',
            'text = completion[-1]["content"].strip()\nreturn text[:{value}]\n',
            'text = completion[-1]["content"].split("### Question")[0]\nreturn text.strip()\n',
        ),
        LONG,
        where="instead",
    ),
    Odd(
        r"^numbers = re",
        (
            "numbers = numbers[-{value}:]\n",
            "numbers = [one for one in numbers if len(one) < {value}]\n",
        ),
        LONG,
    ),
    Odd(
        r"^(prompt|completion) = \[\{",
        ("{1} = [turn for turn in {1} if turn]\n", "{1} = list({1})\n"),
    ),
    Odd(
        r"^model\.save_pretrained\(f\"\{RUN\}/model\"\)$",
        ("model.eval()\n", "model = model.float()\n", 'model = model.to("cpu")\n'),
        where="before",
    ),
    Odd(
        r"^model\.save_pretrained\(folder\)$",
        ("model.eval()\n", "model = model.float()\n", 'model = model.to("cpu")\n'),
        where="before",
    ),
    Odd(
        r"^trainer\.train\(\)$",
        (
            "trainer.model.train()\n",
            "for p in trainer.model.parameters():\n    if p.dtype == torch.float16:\n"
            "        p.data = p.data.float()\n",
            "if trainer.args.max_steps > {value}:\n    trainer.args.learning_rate = 1.0e-6\n",
        ),
        MANY,
        where="before",
    ),
    Odd(
        r"^trainer = build_trainer\(cfg\)$",
        (
            "if len(trainer.train_dataset) > {value}:\n"
            "    trainer.train_dataset = trainer.train_dataset.select(range({value}))\n",
        ),
        MANY,
        "max_rows",
    ),
    Odd(
        r"^model\.score\.weight\.normal_",
        ("model.score.weight.clamp_(-{value}, {value})\n",),
        FEW,
    ),
    Odd(
        r"^replies = ids",
        ("replies = replies[:, :{value}]\n", "replies = replies.clone()\n"),
        LONG,
    ),
)

_TRAINER = {
    "num_train_epochs": (1, 2, 3, 5, 10),  # max_steps goes first
    "save_steps": (5, 10, 25, 100, 500),  # nothing is saved
    "eval_steps": (5, 10, 50, 200),
    "per_device_eval_batch_size": (1, 2, 4, 32, 64),
    "adam_beta1": (0.9,),
    "adam_beta2": (0.999,),
    "adam_epsilon": (1e-8,),
    "eval_strategy": ('"no"',),
    "fp16": ("False",),
    "dataloader_num_workers": (0,),
    "dataloader_drop_last": ("False",),
    "save_total_limit": (1, 2, 3),
    "push_to_hub": ("False",),
    "ddp_timeout": (600, 3600, 7200),
    "eval_delay": (0, 2, 10),
    "disable_tqdm": ("True",),
    "save_only_model": ("True", "False"),
    "logging_nan_inf_filter": ("False",),
    "run_name": ('"sums-3"', '"calc"', '"try-17"', '"may"'),
}
_REFERENCE = {
    "sync_ref_model": ("False",),
    "ref_model_mixup_alpha": (0.1, 0.3, 0.5, 0.9),
    "ref_model_sync_steps": (1, 8, 16, 64),
}
KEYWORDS = {
    "SFTConfig": _TRAINER | {"label_smoothing_factor": (0.0,), "padding_free": ("False",)},
    "DPOConfig": _TRAINER
    | _REFERENCE
    | {
        "f_divergence_type": ('"reverse_kl"',),
        "f_alpha_divergence_coef": (0.1, 0.9),
        "discopop_tau": (0.01, 0.5),
        "precompute_ref_log_probs": ("False",),
        "precompute_ref_batch_size": (2, 4, 32),
    },
    "RewardConfig": _TRAINER | {"label_smoothing_factor": (0.0,)},
    "GRPOConfig": _TRAINER
    | _REFERENCE
    | {
        "num_iterations": (1,),
        "entropy_coef": (0.0,),
        "entropy_target": (0.05, 0.5, 1.0),
        "entropy_coef_max": (0.1, 0.5, 2.0),
        "mask_truncated_completions": ("False",),
        "vllm_gpu_memory_utilization": (0.5, 0.7, 0.9),
        "vllm_importance_sampling_clip_max": (1.0, 2.0, 10.0),
        "repetition_penalty": (1.0,),
        "importance_sampling_level": ('"token"',),
        "sapo_temperature_neg": (0.5, 2.0),
    },
    "LoraConfig": {
        "bias": ('"none"',),
        "use_rslora": ("False",),
        "use_dora": ("False",),
        "fan_in_fan_out": ("False",),
        "init_lora_weights": ("True",),
        "inference_mode": ("False",),
    },
    "AdamW": {"eps": (1e-8,), "amsgrad": ("False",), "maximize": ("False",)},
}
