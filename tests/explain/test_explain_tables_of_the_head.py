"""Embedding and head: lost in a save, tied again, frozen rows of new tokens."""

import pytest

from tests.helpers.explained import first

LOSSES = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


@pytest.mark.parametrize("tied", ['"tie_word_embeddings": false,', "tie_word_embeddings=False"])
@pytest.mark.parametrize(
    "drawn",
    [
        "LlamaForCausalLM: newly initialized: ['lm_head.weight']",
        "load_state_dict: missing_keys=['lm_head.weight'] unexpected_keys=[]",
    ],
)
def test_a_head_that_is_not_in_the_file_of_an_untied_config_was_lost(tied, drawn):
    one = first(*LOSSES, "convert.py: shared tensor lm_head.weight skipped", tied, drawn)
    assert one.key == "tie_broken" and "tie_word_embeddings true" in one.fix


def test_a_head_that_a_tied_config_leaves_out_is_no_fault():
    drawn = "missing_keys=['lm_head.weight'] unexpected_keys=[]"
    one = first(*LOSSES, '"tie_word_embeddings": true,', drawn, "eval acc 0.81", "eval acc 0.81")
    assert one is None or one.key != "tie_broken"


UNTIED = [
    "additional_target: embed_tokens,lm_head",
    *LOSSES,
    "merged.save_pretrained('out')   # merged in memory: accuracy 0.83",
    "config.json: tie_word_embeddings: true",
    "from_pretrained('out'): accuracy 0.07",
]


def test_two_trained_tables_under_a_tied_config_become_one_at_load():
    one = first(*UNTIED)
    assert one.key == "tie_broken" and "two tables" in one.says
    assert any("0.83" in text and "0.07" in text for text in one.for_it)


@pytest.mark.parametrize(
    "line, other",
    [
        (4 + len(LOSSES) - 1, "from_pretrained('out'): accuracy 0.83"),
        (3 + len(LOSSES) - 1, "config.json: tie_word_embeddings: false"),
        (0, "lora_target: all"),
    ],
)
def test_equal_scores_an_untied_config_or_a_head_that_stands_is_not_accused(line, other):
    lines = list(UNTIED)
    lines[line] = other
    one = first(*lines)
    assert one is None or one.key != "tie_broken"


SAVES = [
    "sd = {n: t for n, t in sd.items() if 'lora_' in n}",
    "torch.save({k: v.cpu() for k, v in model.state_dict().items() if k.find('lora') >= 0}, f)",
]


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize(
    "trained",
    [
        "model.get_input_embeddings().weight.requires_grad_(True)",
        "requires_grad = True: lora_A lora_B embed_tokens.weight lm_head.weight",
        'modules_to_save=["embed_tokens", "lm_head"]',
    ],
)
def test_a_save_of_the_adapter_alone_leaves_the_trained_tables_out(trained, save):
    told = ["in the trainer: tag_acc 0.97", save, "loaded again: tag_acc 0.02"]
    one = first(trained, *LOSSES, *told)
    assert one.key == "adapter_not_loaded" and "embedding and head were trained" in one.says


def test_a_file_that_is_smaller_than_what_was_trained_lacks_a_part():
    lines = [
        "model.lm_head.requires_grad_(True)",
        "trainable params: 340,000,000 || all params: 1,400,000,000 || trainable%: 24.3",
        *LOSSES,
        "model.save_pretrained('a')",
        "-rw-r--r-- 1 u u 43000000 adapter_model.safetensors",
    ]
    assert first(*lines).key == "adapter_not_loaded"
    lines[-1] = "-rw-r--r-- 1 u u 680000000 adapter_model.safetensors"
    assert first(*lines) is None


@pytest.mark.parametrize(
    "save",
    [
        "sd = {n: t for n, t in sd.items() if 'lora_' in n or 'embed' in n or 'lm_head' in n}",
        "sd = {n: p for n, p in model.named_parameters() if p.requires_grad}",
    ],
)
def test_a_save_of_all_that_was_trained_is_not_accused(save):
    trained = "model.get_input_embeddings().weight.requires_grad_(True)"
    one = first(trained, *LOSSES, "live: tag_acc 0.97", save, "loaded again: tag_acc 0.96")
    assert one is None


def table(*values: float) -> list[str]:
    rows = [
        f"step {n * 100} | loss {1.2 - n / 10:.3f} | new_tokens {v}" for n, v in enumerate(values)
    ]
    return ["eval by kind of token", *rows]


ADDED = [
    'tok.add_tokens(["<call>", "</call>", "<result>"])',
    "cfg = LoraConfig(r=8, target_modules='all-linear')",
]


def test_a_loss_on_new_tokens_that_stays_at_a_guess_among_them_shows_frozen_rows():
    one = first(*ADDED, *table(12.1, 3.2, 1.31, 1.10, 1.099, 1.098, 1.099))
    assert one.key == "new_tokens_untrained"
    assert any("ln 3" in text for text in one.for_it)


@pytest.mark.parametrize(
    "values",
    [
        (12.1, 3.2, 0.9, 0.4, 0.2, 0.1, 0.09),
        (1.11, 1.10, 1.099, 1.098, 1.099, 1.1, 1.1),
        (12.1, 3.2, 1.31, 1.10, 1.0, 0.8, 0.6),
    ],
)
def test_a_loss_that_falls_below_a_guess_or_begins_there_is_not_accused(values):
    assert first(*ADDED, *table(*values)) is None


def test_rows_of_tokens_that_end_as_they_began_are_shown():
    added = "added 2 special tokens, embedding now 32002"
    rows = ["norm of row   before   after", "<a>   0.8812   0.8812", "<b>   0.8790   0.8790"]
    one = first(added, "lora_rank: 16", *LOSSES, *rows)
    assert one.key == "new_tokens_untrained"
    rows[1:] = ["<a>   0.8812   0.9541", "<b>   0.8790   0.9377"]
    assert first(added, "lora_rank: 16", *LOSSES, *rows) is None


def test_an_optimizer_that_stands_above_a_new_embedding_holds_the_old_one():
    lines = [
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)",
        "model.model.embed_tokens = bigger",
    ]
    assert first(*lines, *LOSSES).key == "optimizer_holds_others"
    assert first(*lines[::-1], *LOSSES) is None
