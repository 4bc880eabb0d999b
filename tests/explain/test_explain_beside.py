"""What stands beside the numbers decides: settings, shapes, sentences, tables; and what may not."""

import pytest
from pasted_logs import PASTED

from course_utils.explain import explain

FALLS = [f"{{'loss': {2 - n / 9:.3f}, 'grad_norm': 0.7, 'step': {n}}}" for n in range(12)]
MISMATCH = (
    "size mismatch for {}: copying a param with shape torch.Size({}) from checkpoint, the shape in "
    "current model is torch.Size({})."
)


def first(*lines: str):
    return explain("\n".join(lines)).findings[0]


SHAPES = {
    ("model.embed_tokens.weight", "[151665, 896]", "[151936, 896]"): "had resized the embedding",
    ("model.embed_tokens.weight", "[32003, 4096]", "[32000, 4096]"): "had added 3 tokens",
    ("lm_head.weight", "[50277, 4096]", "[886, 4096]"): "the vocabularies differ",
    ("layers.0.q_proj.lora_A.weight", "[16, 4096]", "[8, 4096]"): "rank 16",
    ("layers.0.q_proj.lora_B.weight", "[4096, 16]", "[4096, 8]"): "rank 16",
    ("layers.0.q_proj.lora_A.weight", "[16, 3584]", "[16, 4096]"): "another base model",
    ("model.embed_tokens.weight", "[65536000]", "[128000, 2048]"): "1/4 of 128000 x 2048",
}


@pytest.mark.parametrize(("shapes", "why"), SHAPES.items(), ids=SHAPES.values())
def test_two_shapes_decide_what_differs(shapes, why):
    assert why in first(MISMATCH.format(*shapes)).says


def test_shapes_of_a_plain_layer_decide_nothing():
    assert not first(MISMATCH.format("layers.0.norm.weight", "[512]", "[2048]")).why


MASKED = ["{'loss': 0.0, 'grad_norm': 0.0, 'epoch': %.2f}" % (n / 4) for n in range(1, 5)]


def test_a_limit_below_the_prompt_explains_rows_without_labels():
    told = first("max_length=24", *MASKED, "typical row: prompt 27 tokens")
    assert told.key == "labels_masked" and "a prompt has 27 tokens" in told.says
    assert not first("max_length=64", *MASKED, "typical row: prompt 27 tokens").why


def test_a_run_that_differs_in_one_setting_decides():
    runs = ["max_length=64", *FALLS[:4], "max_length=8", *MASKED]
    assert "at max_length 8, and some are at 64" in first(*runs).says
    assert not first(*runs[:4], "warmup=8", *MASKED).why


RATIO = "{'loss': 0.1, 'sampling/importance_sampling_ratio/mean': %s, 'epoch': %s}"


def test_a_temperature_at_which_engines_agree_is_the_cause():
    runs = ["T=1.0", RATIO % (1.0, 0.05), "T=0.6", RATIO % (1.6, 0.05), RATIO % (1.6, 0.1)]
    assert "agree at temperature 1.0 and differ at 0.6" in first(*runs).says
    assert not first(*runs[3:]).why


def test_a_model_of_bfloat16_in_float16_is_the_format():
    nan = ["batch 1 loss=nan", "batch 2 loss=nan"]
    kept, run = 'config.json: "torch_dtype": "bfloat16"', "from_pretrained(torch_dtype=float16)"
    assert "made in bfloat16 is loaded in float16" in first(kept, run, *nan).says
    assert not first(kept, *nan).why and not first(run, *nan).why


FULL = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB."
TABLE_OF = "buf9 = empty_strided_cuda((s10, 1, 76032), (76032, 76032*s10, 1), torch.float32)"


def test_an_allocation_counts_tokens_of_the_vocabulary_that_is_shown():
    told = first(TABLE_OF, FULL.format(58.15), "args: --max-tokens-per-gpu 9216")
    assert "22 times the limit of 9,216" in told.says and "76,032" in " ".join(told.for_it)
    assert not first(TABLE_OF, FULL.format(2.6), "args: --max-tokens-per-gpu 9216").why
    assert len(first(FULL.format(58.15)).for_it) == 1  # no vocabulary is guessed


def test_several_processes_on_one_gpu_are_named():
    told = first((PASTED / "trl-5207.txt").read_text())
    assert "4 processes share this GPU" in told.says


ACCUMULATES = "| {} | {} | {} |"


@pytest.mark.parametrize(("losses", "is_sum"), [((2.1, 8.6, 34), True), ((2.2, 2.4, 2.9), False)])
def test_a_table_of_losses_that_grow_with_accumulation(losses, is_sum):
    head = ACCUMULATES.format("batch", "gradient accumulation", "loss at step 1")
    rows = [ACCUMULATES.format(64 // n, n, x) for n, x in zip((1, 4, 16), losses, strict=True)]
    found = [one.key for one in explain("\n".join([head, *rows])).findings]
    assert found == (["loss_off_by_a_factor"] if is_sum else [])


def test_an_evaluation_that_is_fine_contradicts_a_loss_above_a_guess():
    rows = [f"{{'loss': {138 - n}, 'grad_norm': 600, 'learning_rate': {n}e-6}}" for n in range(4)]
    assert first(*rows).key == "above_uniform"
    found = explain("\n".join([*rows, "{'eval_loss': 0.95}"])).findings
    assert "above_uniform" not in {one.key for one in found}


def test_a_contrast_of_two_programs_clears_the_weights():
    good = "the merged model gives good answers in vLLM with the same prompt"
    bad = "but it is nonsense when I run it with ollama"
    told = first(good, bad)
    assert told.key == "template_differs" and "answer well in vLLM" in told.says
    assert not explain("\n".join([good, "and it works in ollama too"])).findings


KTO = "{'loss': 0.4, 'rewards/margins': %s, 'rewards/chosen': 1.0, 'kl': %s, 'epoch': %s}"


def test_a_kl_of_pairs_that_is_cut_off_at_0_is_no_fault():
    kls = (0.1, 0.06, 0.0, 0.0)
    assert first(*(KTO % (0.7 + n / 9, kl, n) for n, kl in enumerate(kls))).key == "kl_cut_off"
    falls = explain("\n".join(KTO % (0.7 - n / 9, kl, n) for n, kl in enumerate(kls)))
    assert "kl_cut_off" not in {one.key for one in falls.findings}


def test_a_loss_that_ends_at_its_best_does_not_climb():
    losses = (0.3, 4.3, 3.6, 0.1, 2.1, 0.01, 3.9, 0.0, 0.0)
    found = explain("\n".join(f"{{'loss': {x}, 'step': {n}}}" for n, x in enumerate(losses)))
    assert "rate_too_high" not in {one.key for one in found.findings}


def test_code_that_makes_padding_the_end_bears_out_what_is_said():
    code = "tokenizer.pad_token = tokenizer.eos_token"
    told = explain("\n".join([code, "After that the model never stops generating."]))
    assert told.causes[0].key == "pad_is_eos"
    assert not explain(code).findings


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("completions/clipped_ratio is always 1.0", "replies_cut"),
        ("why is clip_ratio always zero?", "clips_nothing"),
        ("completions/clipped_ratio is always 0.0", None),
        ("the learning_rate stays at 0", None),
    ],
)
def test_a_metric_that_is_said_to_stay_is_read(said, key):
    found = explain(said).findings
    assert (found[0].key if found else None) == key


SPOKEN = {
    "My loss turned to nan after 100 steps": "number format",
    "I get an error when the model is saved": "traceback",
    "the rewards go down in GRPO": "reward_std",
    "it runs out of memory at the second step": "what it asked for",
}


@pytest.mark.parametrize(("said", "bring"), SPOKEN.items())
def test_sentences_without_a_log_say_what_to_bring(said, bring):
    answer = explain(said)
    assert (
        not answer.read_nothing and "finds no cause in it" in str(answer) and bring in str(answer)
    )


def test_words_that_speak_of_no_run_are_nothing():
    assert explain("The weather is fine today, and so am I.").read_nothing


@pytest.mark.parametrize("line", ["step, loss\rstep, loss, 0.5", "a, " + "b" * 200_000])
def test_a_line_that_is_no_table_ends_nothing(line):
    said = str(explain([f"{line}\n", *(f"{one}\n" for one in FALLS)]))
    assert f"{len(FALLS)} log entries" in said


def of_lightning(n: int, loss: float | str) -> str:
    return (
        f"Epoch 0 | iter {n:2} step {n:2} | loss train: {loss}, val: n/a | iter time: 7.5 s (step)"
    )


SPACED = "Training Loss Epoch Step Validation Loss", "-" * 40
FORMS = {
    "loss train": ([of_lightning(n, 1.4) for n in range(6)] + [of_lightning(6, "nan")] * 2, "nan"),
    "single spaces": (
        [
            *SPACED,
            *(f"{2 - n / 5:.4f} {n}.0 {291 * n} {1.3 + (n - 3) ** 2 / 30:.4f}" for n in range(9)),
        ],
        "overfits",
    ),
    "keys of another library": (
        ["lora key not loaded: lora_unet_text_model_layers_0_mlp_fc1.lora_down.weight"],
        "adapter_not_loaded",
    ),
    "another forward": (
        [
            "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for "
            "the following tensors have different metadata than during the forward pass."
        ],
        "recomputed_differs",
    ),
    "the first that failed": (
        [
            "  traceback : Signal 15 (SIGTERM) received by PID 7561",
            "Root Cause (first observed failure):",
            "  exitcode  : 1 (pid: 7562)",
        ],
        "python_error",
    ),
    "one accuracy": (
        [
            "| epoch | train loss | val loss | acc |",
            "|---|---|---|---|",
            *(f"| {n} | {0.85 + n % 2 / 1e3} | {0.851 - n % 3 / 1e3} | 0.61 |" for n in range(8)),
        ],
        "one_class",
    ),
    "a rate of 5e-12": (
        [str({"loss": 0.6, "grad_norm": 7e4, "learning_rate": n * 1e-12}) for n in range(6)],
        "rate_too_low",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_in_an_unusual_form_is_read(form):
    lines, key = FORMS[form]
    assert key in first(*lines).key


@pytest.mark.parametrize(("loss", "is_said"), [(1.4, True), (9.0, False)])
def test_lone_spikes_of_the_gradient_are_explained_where_the_loss_stays(loss, is_said):
    norms = [9.8, 7.6, 29.0, 5.2, 7.8, 7.7, 11140.0, 6.9, 8.1]
    losses = [1.5, 1.3, 1.6, 1.4, 1.5, 1.4, loss, 1.4, 1.3]
    pairs = zip(losses, norms, strict=True)
    answer = explain("\n".join(str({"loss": a, "grad_norm": b}) for a, b in pairs))
    assert ("lone_spikes" in [one.key for one in answer.no_faults]) == is_said
    assert not answer.is_healthy
