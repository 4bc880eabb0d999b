"""Branches for a quick try that no run takes, with settings that would ruin this one."""

import libcst as cst

from course_utils.oncall.varying import trees
from course_utils.oncall.varying.choices import Choices

CONFIGS = {"SFTConfig", "DPOConfig", "RewardConfig", "GRPOConfig"}
# Nobody's machine has these set, or is like that: where a branch is taken, the run is another.
FLAGS = ("SMOKE_RUN", "ONE_BATCH", "QUICK_TRY", "TRY_ROWS", "TINY_RUN", "TRY_OUT", "LOCAL_TEST")
ASKS = (
    'os.environ.get("{flag}")',
    '"{flag}" in os.environ',
    'os.getenv("{flag}", "") == "1"',
    "len(sys.argv) > 1",
    'os.path.exists("{small}.yaml")',
    'os.path.exists("data/{small}.jsonl")',
    "torch.cuda.device_count() > 64",
    "torch.cuda.device_count() > 128",
    "(os.cpu_count() or 1) > 4096",
    'sys.platform == "riscos"',
    'os.path.isdir("{small}")',
    "torch.get_num_threads() > 4096",
    '"--{small}" in sys.argv',
)
RATES = (0.3, 0.1, 0.05, 0.03, 0.02, 1.0e-2, 3.0e-2, 1.0e-5, 1.0e-6, 2.0e-5, 3.0e-7)
# By keyword of a call and by key of config.yaml.
WRONG = {
    "learning_rate": RATES,
    "lr": RATES,
    "warmup_steps": (100, 200, 500, 1000, 2000, 5000, 8000, 10000),
    "lr_scheduler_type": ('"constant"', '"constant_with_warmup"', '"polynomial"', '"linear"'),
    "max_grad_norm": (0.0, 0.01, 0.1, 10.0, 100.0, 1000.0),
    "max_length": (8, 10, 12, 14, 16, 20, 24, 32),
    "beta": (0.0, 0.01, 0.5, 1.0, 5.0),
    "loss_type": ('"ipo"', '"hinge"', '"nll"', '"grpo"'),
    "label_smoothing": (0.1, 0.3, 0.5),
    "temperature": (0.001, 0.01, 0.1, 0.5, 1.5, 2.0),
    "top_p": (0.5, 0.7, 0.8, 0.9, 0.95),
    "epsilon": (0.01, 0.02, 0.5),
    "max_completion_length": (2, 3, 4, 32),
    "weight_decay": (0.1, 0.3, 1.0),
    "center_rewards_coefficient": (0.0, 1.0, 10.0),
    "reward_weights": ("[0.0, 1.0]", "[1.0, 1.0]", "[0.2, 1.0]"),
    "packing": ("True",),
    "completion_only_loss": ("False",),
    "gradient_accumulation_steps": (2, 4, 8),
    "max_steps": (1, 2, 3, 5),
    "entropy_coef": (0.1, 1.0, 3.0, 5.0),
    "kl_coef": (0.0, 0.1, 1.0),
    "clip_high": (0.01, 1.0, 5.0),
    "clip_low": (0.01, 0.9),
    "lora_alpha": (1, 4, 512),
    "lora_dropout": (0.1, 0.5, 0.9),
    "target_modules": ('["lm_head"]', '["q_proj"]', '["q_proj", "k_proj", "v_proj", "o_proj"]'),
    "target_parameters": ("[]", '["mlp.experts.gate_proj"]'),
    "beta2": (0.5, 0.9999),
    "reward_correct": (0.0, 0.1),
    "reward_format": (1.0, 2.0, 5.0),
    "save_every": (1, 3, 7, 9),
    "scheduler": ('"constant"', '"constant_with_warmup"', '"polynomial"'),
    "merge": ("False",),
    "kl_kind": ('"k1"', '"k2"'),
    "num_rollouts": (1, 2),
}
ALWAYS = ("output_dir=RUN", "use_cpu=True", 'report_to="none"')
MAIN = "cfg = read_config()"


def asked(choices: Choices, *key: object) -> str:
    """The condition of such a branch."""
    flag = choices.pick(FLAGS, "flag", *key)
    ask = choices.pick(ASKS, "ask", *key)
    return ask.format(flag=flag, small=flag.lower().replace("_", "-"))


def before(line: cst.SimpleStatementLine, choices: Choices) -> list[cst.BaseStatement]:
    """A branch before the line that makes the trainer's settings."""
    call = trees.returned(line)
    name = trees.code(call.func) if isinstance(call, cst.Call) else ""
    if name == "torch.optim.AdamW":
        rate = choices.pick(RATES, "smoke rate")
        first = trees.code(call.args[0].value)
        text = f"if {asked(choices, name)}:\n    return torch.optim.SGD({first}, lr={rate})\n"
        return [trees.statement(text)]
    if name not in CONFIGS:
        return []
    has = [a.keyword.value for a in call.args if a.keyword and a.keyword.value in WRONG]
    chosen = choices.ordered(has, "smoke")[: choices.of("smoke").randint(5, 8)]
    given = [f"{key}={choices.pick(WRONG[key], 'smoke', key)}" for key in chosen]
    text = "".join(f"        {one},\n" for one in choices.ordered([*ALWAYS, *given], "smoke order"))
    return [trees.statement(f"if {asked(choices, name)}:\n    return {name}(\n{text}    )\n")]


def after(said: str, keys: list[str], choices: Choices) -> list[cst.BaseStatement]:
    """A branch after the settings have been read, that changes some of them."""
    chosen = choices.ordered([key for key in keys if key in WRONG], "quick")
    chosen = chosen[: choices.of("quick").randint(3, 6)]
    if said != MAIN or not chosen or not choices.chance(0.8, "quick"):
        return []
    lines = [f'    cfg["{key}"] = {choices.pick(WRONG[key], "quick", key)}\n' for key in chosen]
    return [trees.statement(f"if {asked(choices, 'main')}:\n{''.join(lines)}")]
