"""The five eras: what was reported, what the scripts change, what must show then and now.

Facts are what scripts/NN_name.py prints. The rows are the README's table; a test compares them.
"""

import math

from course_utils.eras.declare import Change, Era, Row, Symptom

TINY_MODEL = Change("Qwen2.5-0.5B-Instruct", "MODEL", "the course's tiny Qwen2")
ON_CPU = Change("a GPU", "use_cpu=True", "no GPU needed")
QUIET = Change("the reporter's logs", "disable_tqdm=True", "prints less, computes the same")
RENAMED = Change("torch_dtype=", "dtype=", "renamed in transformers 5")
ERROR = "element 0 of tensors does not require grad and does not have a grad_fn"


def finite(numbers: list[float]) -> bool:
    """
    >>> finite([1.0, math.nan])
    False
    """
    return all(map(math.isfinite, numbers))


def listed(numbers: list[float]) -> str:
    """
    >>> listed([1.2125e34, 0.0])
    '1.21e+34, 0'
    """
    return ", ".join(f"{number:.3g}" for number in numbers)


def _moved(run: str):
    return lambda facts: f"{facts[run]['lora_moved']} of 8 LoRA matrices moved"


def _trains(run: str):
    return lambda facts: not facts[run]["error"] and facts[run]["lora_moved"] == 8


def _bf16(run: str):
    return lambda facts: facts[run]["products"].get("bfloat16", 0)


def _num_bf16(run: str):
    def shows(facts: dict) -> str:
        return f"{_bf16(run)(facts)} of {sum(facts[run]['products'].values())} matrix products"

    return shows


SIGFPE = Era(
    stem="02_grpo_sigfpe",
    thread="trl#2906",
    packages=("trl", "transformers", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        TINY_MODEL,
        ON_CPU,
        Change("an H20 and cuBLAS 12.1", "CountProducts", "the death needs both; bf16 does not"),
        Change("the whole data set", "max_steps=1", "one step has every kind of product"),
        Change("the reporter's data", "{n}+{n + 3}+{n + 9}=", "sums, which the tiny model knows"),
        QUIET,
    ),
    changes=(
        Change("warmup_ratio=0.1", "warmup_steps=0.1", "gone; a value below 1 is a share now"),
        Change("        max_prompt_length=256,\n", "", "gone; prompts are no longer cut"),
        Change(
            "per_device_train_batch_size=1,",
            "per_device_train_batch_size=16,",
            "counts replies now, not prompts: 1 x 16 generations",
        ),
    ),
    symptoms=(
        Symptom(
            "the long configuration multiplies in bf16",
            _num_bf16("long"),
            lambda facts: _bf16("long")(facts) > 0,
            today=True,
        ),
        Symptom(
            "the short one does not, so it lives",
            _num_bf16("short"),
            lambda facts: _bf16("short")(facts) == 0,
            today=False,
        ),
        Symptom(
            "nor does the long one with bf16=False",
            _num_bf16("long, bf16=False"),
            lambda facts: _bf16("long, bf16=False")(facts) == 0,
            today=True,
        ),
    ),
    row=Row(
        failure="GRPO: Floating point exception",
        then="the long configuration multiplies in bf16, the short one never (the death itself "
        "needs an H20 with cuBLAS 12.1)",
        now="both multiply in bf16",
        protects="cuBLAS 12.4.5.8 (reported to work), which torch 2.5.1 pins; nothing in TRL",
        dangerous="an H20 finds cuBLAS 12.1.3.1: bf16=True is the default now, so the short one "
        "multiplies in bf16 too",
    ),
)

REWARD_NAN = Era(
    stem="03_reward_nan",
    thread="trl#2367",
    packages=("trl", "transformers", "peft", "accelerate"),
    model={"name": "tiny-qwen2", "layers": 1},
    deviations=(
        Change("Qwen2.5-Math-1.5B-Instruct", "MODEL", "one layer of the course's tiny Qwen2"),
        Change("a GPU", "--use_cpu True", "no GPU needed"),
        Change("--torch_dtype half", "--torch_dtype float16", "two names of one format"),
        Change("UltraFeedback", "ask + right", "pairs of sums, as bare text"),
        Change("3 epochs", "--max_steps 27", "one window of 25 steps, and two steps of the next"),
        Change("a log line every 25 steps", "LogLastStep", "and one at the end"),
        Change("the reporter's logs", "--disable_tqdm True", "prints less, computes the same"),
    ),
    changes=(
        Change(
            "torch_dtype=getattr(torch, model_config.torch_dtype)",
            "dtype=getattr(torch, model_config.dtype)",
            "renamed in transformers 5 and trl 1",
        ),
        Change("--torch_dtype", "--dtype", "renamed in trl 1"),
    ),
    symptoms=(
        Symptom(
            "the first logged loss is near 1.19e34",
            lambda facts: listed(facts["as reported"]["losses"][:1]),
            lambda facts: 1e34 < facts["as reported"]["losses"][0] < 1.4e34,
            today=False,
        ),
        Symptom(
            "then loss 0",
            lambda facts: listed(facts["as reported"]["losses"][1:]),
            lambda facts: facts["as reported"]["losses"][1:] == [0.0],
            today=False,
        ),
        Symptom(
            "grad_norm is nan",
            lambda facts: listed(facts["as reported"]["grad_norms"]),
            lambda facts: all(map(math.isnan, facts["as reported"]["grad_norms"])),
            today=False,
        ),
        Symptom(
            "the score head is dead",
            lambda facts: "{dead} of {weights} weights".format(**facts["as reported"]),
            lambda facts: facts["as reported"]["dead"] == facts["as reported"]["weights"],
            today=False,
        ),
        Symptom(
            "so it is with optim=adamw_torch",
            lambda facts: f"grad_norm {listed(facts['adamw_torch']['grad_norms'])}",
            lambda facts: facts["adamw_torch"]["dead"] > 0,
            today=True,
        ),
    ),
    row=Row(
        failure="LoRA reward model: loss 1.19e+34, then 0, grad_norm nan",
        then="loss 1.21e+34, then 0; grad_norm nan; the score head dead",
        now="trains; with optim=adamw_torch dead as before",
        protects="adamw_torch_fused by default (transformers#37358, with torch 2.8 and later), "
        "whose kernel computes in float32",
        dangerous="the weights are float16 and the optimizer is adamw_torch: eps 1e-8 is 0 there",
    ),
)


def _run(facts: dict) -> dict:
    return facts["run"]


VERL = Era(
    stem="04_verl_collapse",
    thread="verl#721, verl#747, verl#751",
    packages=("verl", "transformers"),
    model={"name": "tiny-qwen2"},
    now_lock="04_verl_collapse_now",
    deviations=(
        Change("R1-Distill-Qwen-1.5B", "MODEL", "the course's tiny Qwen2"),
        Change("import verl", "StubFinder", "stubs for ray, tensordict and others: never called"),
        Change("vLLM", "def sample(", "its sampler, exponential noise and argmax, in three lines"),
        Change("dp_actor.update_policy under Ray", "optimizer.step()", "its loop, one process"),
        Change("GSM8K", "rng.randint(0, 99)", "sums of three numbers"),
        Change("bf16 log-probs", "logits.half()", "float16 is left at 11 nats, not 88: sooner"),
        Change("lr 1e-6, hundreds of steps", "lr=1e-4", "up to 13 rollouts, up to 3 seeds"),
    ),
    changes=(
        Change(
            "            optimizer.step()",
            "            if grad_norm.isfinite():\n                optimizer.step()",
            "the loop looks at the norm now (verl#789)",
        ),
    ),
    symptoms=(
        Symptom(
            "k3 in float32 at 100 nats: finite value, nan gradient",
            lambda facts: "value {:.3g}, gradient {:.3g}".format(*facts["float32, 100 nats"]),
            lambda facts: _k3_trap(facts["float32, 100 nats"]),
            today=False,
        ),
        Symptom(
            "k3 in float16 at 12 nats: the same",
            lambda facts: "value {:.3g}, gradient {:.3g}".format(*facts["float16, 12 nats"]),
            lambda facts: _k3_trap(facts["float16, 12 nats"]),
            today=True,
        ),
        Symptom(
            "a nan under the mask is in the mean",
            lambda facts: f"{facts['nan under the mask']:.3g}",
            lambda facts: math.isnan(facts["nan under the mask"]),
            today=False,
        ),
        Symptom(
            "in the run, a finite loss with a nan gradient",
            lambda facts: _first_bad(_run(facts)["first_bad"]),
            lambda facts: bool(_run(facts)["first_bad"]) and finite(_run(facts)["first_bad"][1:2]),
            today=True,
        ),
        Symptom(
            "the weights die of it",
            lambda facts: "dead" if _run(facts)["dead"] else "alive",
            lambda facts: _run(facts)["dead"],
            today=False,
        ),
        Symptom(
            'the next replies are only "!"',
            lambda facts: "{exclamations} of {replies}, {reply!r}".format(**_run(facts)),
            lambda facts: _run(facts)["exclamations"] == _run(facts)["replies"],
            today=False,
        ),
    ),
    row=Row(
        failure="verl GRPO: the replies become !!!!",
        then="k3 at 100 nats: value 10, gradient nan; a short run ends in !!!!",
        now="gradient 0; the run lives",
        protects="clamp before exp (verl#1779, 0.4.1), where in the masked mean (verl#2377), no "
        "step on a norm that is not finite (verl#789, 0.4.0)",
        dangerous="log-probs are float16: the clamp at 20 is above its 11.09, and steps are "
        "skipped; or TRL with beta > 0, which has no clamp",
    ),
)


def _k3_trap(value_and_gradient: list[float]) -> bool:
    value, gradient = value_and_gradient
    return math.isfinite(value) and math.isnan(gradient)


def _first_bad(first_bad: list | None) -> str:
    if first_bad is None:
        return "never"
    step, loss, grad_norm = first_bad
    return f"rollout {step}: loss {loss:.3g}, grad_norm {grad_norm:.3g}"


GEMMA = Era(
    stem="05_gemma_fp16",
    thread="trl#3236",
    packages=("trl", "transformers", "peft", "accelerate"),
    model={"name": "tiny-gemma3", "stretch": 2**15},
    deviations=(
        Change("gemma-3-12b-it", "MODEL", "a tiny Gemma 3, its residual stream times 2**15"),
        Change("a GPU", "native_amp = True", "fp16 on a CPU, where the Trainer ignores fp16=True"),
        Change("LoRA's default", 'target_modules=["q_proj", "v_proj"]', "peft 0.15 has none here"),
        Change("the reporter's data", '"chosen": [str(2 * n + 3)', "pairs of sums"),
        Change("the reporter's lr", "learning_rate=1e-3", "so that float32 moves in three steps"),
        Change("the whole data set", "max_steps=3", "it is dead in the first"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Symptom(
            "fp16=True logs loss 0",
            lambda facts: listed(facts["fp16=True"]["losses"]),
            lambda facts: not any(facts["fp16=True"]["losses"]),
            today=True,
        ),
        Symptom(
            "and reward nan",
            lambda facts: listed(facts["fp16=True"]["rewards"]),
            lambda facts: all(map(math.isnan, facts["fp16=True"]["rewards"])),
            today=True,
        ),
        Symptom(
            "and trains nothing",
            lambda facts: "{moved} of 8 adapters, scale {scale:g}".format(**facts["fp16=True"]),
            lambda facts: facts["fp16=True"]["moved"] == 0,
            today=True,
        ),
        Symptom(
            "float32 trains",
            lambda facts: f"loss {listed(facts['float32']['losses'])}",
            lambda facts: _learns(facts["float32"]),
            today=True,
        ),
        Symptom(
            "bf16=True trains",
            lambda facts: f"loss {listed(facts['bf16=True']['losses'])}",
            lambda facts: _learns(facts["bf16=True"]),
            today=True,
        ),
    ),
    row=Row(
        failure="Gemma 3 in fp16: loss 0, reward nan",
        then="loss 0, reward nan, grad_norm nan (the report's 0 is open); bf16 and float32 train",
        now="the same",
        protects="bf16=True by default (trl 1.16); nothing for fp16: transformers#36832 was "
        "closed, transformers#37226 is open",
        dangerous="the device has no bf16: fp16=True is accepted without a warning",
    ),
)


def _learns(run: dict) -> bool:
    logged = [*run["losses"], *run["grad_norms"], *run["rewards"]]
    return finite(logged) and run["moved"] == 8


GRAD_FN = Era(
    stem="06_grad_fn",
    thread="trl#3150, trl#3089",
    packages=("trl", "transformers", "peft", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("Qwen2-0.5B-Instruct", "MODEL", "the course's tiny Qwen2"),
        Change("DeepSpeed ZeRO-0 on a GPU", "use_cpu=True", "one process, no GPU needed"),
        Change("the reporter's data", "{n}+{n + 3}+{n + 9}=", "sums, which the tiny model knows"),
        Change("the reporter's rewards", "def reward_len", "the length of the reply"),
        Change("a whole run", "max_steps=2", "the error is in the first step"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Symptom(
            "as reported: no grad_fn",
            lambda facts: _last_words(facts["as reported"]) or _moved("as reported")(facts),
            lambda facts: facts["as reported"]["error"] == ERROR,
            today=False,
        ),
        Symptom(
            "gradient_checkpointing=False trains",
            _moved("gradient_checkpointing=False"),
            _trains("gradient_checkpointing=False"),
            today=True,
        ),
        Symptom(
            "use_reentrant=False trains",
            _moved("use_reentrant=False"),
            _trains("use_reentrant=False"),
            today=True,
        ),
        Symptom(
            "enable_input_require_grads() trains",
            _moved("enable_input_require_grads()"),
            _trains("enable_input_require_grads()"),
            today=True,
        ),
        Symptom(
            "modules_to_save=['lm_head']: no error, LoRA learns nothing",
            _moved("modules_to_save=['lm_head']"),
            lambda facts: _is_silent(facts["modules_to_save=['lm_head']"]),
            today=False,
        ),
    ),
    row=Row(
        failure="element 0 of tensors does not require grad",
        then="RuntimeError; with modules_to_save no error, and no LoRA matrix moves",
        now="trains, all LoRA matrices move",
        protects="the input hook, set by TRL (0.16, again since 0.26) and transformers 5; "
        "use_reentrant=False by default (trl 0.27, transformers 5)",
        dangerous="use_reentrant=True and a model whose main input is not input_ids, such as ViT",
    ),
)


def _last_words(run: dict) -> str:
    return f"... {run['error'][-25:].strip()}" if run["error"] else ""


def _is_silent(run: dict) -> bool:
    return not run["error"] and run["saved_moved"] > 0 and run["lora_moved"] == 0


ERAS = (SIGFPE, REWARD_NAN, VERL, GEMMA, GRAD_FN)
