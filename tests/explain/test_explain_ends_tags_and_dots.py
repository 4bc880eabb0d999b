"""Ends that are hidden as padding, added tokens that no adapter trains, and dots that take no
newline."""

import pytest

from tests.helpers.explained import first

LEARNS = [
    f"{{'loss': {2 - n / 10:.4f}, 'grad_norm': 1.{n}, 'learning_rate': 2e-5, 'epoch': 0.{n}}}"
    for n in range(1, 9)
]
IDS = "input_ids: tensor([[51, 90, 17, 64, 7, 7, 7]])"
MASK = "attention_mask: tensor([[1, 1, 1, 1, 1, 0, 0]])"
LABELS = "labels: tensor([[-100, -100, 17, 64, -100, -100, -100]])"


def test_an_end_that_the_mask_counts_and_the_labels_hide():
    one = first(*LEARNS, IDS, MASK, LABELS)
    assert one.key == "pad_is_eos" and "token 7" in one.says and one.weight > 9


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("17, 64, -100, -100, -100", "17, 64, 7, -100, -100"),  # it is learnt
        ("1, 1, 1, 1, 1, 0, 0", "1, 1, 1, 1, 0, 0, 0"),  # the row has no end
        ("64, 7, 7, 7", "64, 7, 0, 0"),  # another token pads
    ],
)
def test_an_end_that_is_learnt_or_missing_is_not_said_to_be_hidden(old, new):
    assert first("\n".join([*LEARNS, IDS, MASK, LABELS]).replace(old, new)) is None


def test_without_a_mask_the_code_must_show_the_end_and_its_padding():
    code = ["tok.pad_token_id = tok.eos_token_id", "text = q + a + tok.eos_token"]
    assert first(*LEARNS, IDS, LABELS) is None
    assert first(*code, *LEARNS, IDS, LABELS).key == "pad_is_eos"


ADDS = ["tok.add_tokens(['[ASK]', '[TELL]'])", "model.resize_token_embeddings(len(tok))"]
LORA = "cfg = LoraConfig(r=8, target_modules='all-linear')"
ASKS = [">>> model.get_output_embeddings().weight.requires_grad", "False"]


def test_added_tokens_whose_tables_are_frozen():
    one = first(*ADDS, LORA, *LEARNS, *ASKS)
    assert one.key == "new_tokens_untrained" and "modules_to_save" in one.fix
    stands = [">>> (emb_now[-2:] - emb_then[-2:]).abs().max()", "0.0"]
    assert first(*ADDS, LORA, *LEARNS, *stands).key == "new_tokens_untrained"
    never = first(
        "finetuning_type: lora", "add_tokens: [ASK],[TELL]", *LEARNS, "It never writes [ASK]"
    )
    assert never.key == "new_tokens_untrained" and never.against


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("target_modules='all-linear'", "modules_to_save=['embed_tokens', 'lm_head']"),
        ("target_modules='all-linear'", "trainable_token_indices=[32000, 32001]"),
        ("add_tokens(['[ASK]', '[TELL]'])", "add_special_tokens({'pad_token': '<pad>'})"),
        ("\nFalse", "\nTrue"),
    ],
)
def test_tables_that_are_trained_or_a_pad_token_are_no_fault(old, new):
    assert first("\n".join([*ADDS, LORA, *LEARNS, *ASKS]).replace(old, new)) is None


CODE = [
    "def tags_reward(completions, **kwargs):",
    '    rx = re.compile(r"<plan>(.+?)</plan>\\s*<result>(.+?)</result>")',
    "    return [1.0 if rx.search(c) else 0.0 for c in completions]",
]
REPLY = ["reply 3:", "<plan>", "first the lamp,", "then the door", "</plan>", "<result>9</result>"]
PAYS = [
    f"{{'loss': 0.01, 'rewards/tags_reward/mean': 0.0, 'rewards/right/mean': 0.{n}, "
    f"'reward': 0.{n}, 'reward_std': 0.3, 'kl': 0.00{n}}}"
    for n in range(1, 8)
]


def test_a_dot_takes_no_newline():
    one = first(*CODE, *PAYS, *REPLY)
    assert one.key == "constant_part" and "DOTALL" in one.fix and "<plan>" in one.says
    assert first(*CODE, *PAYS, r"reply: '<plan>\nthe lamp\n</plan><result>9</result>'") is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('</result>")', '</result>", re.DOTALL)'),
        ('r"<plan>', 'r"(?s)<plan>'),
        ("<plan>\nfirst the lamp,\nthen the door\n</plan>", "<plan>the lamp</plan>"),
        ("tags_reward/mean': 0.0", "tags_reward/mean': 0.4"),
        ("for c in completions", "for c in (x.replace('\\n', ' ') for x in completions)"),
    ],
)
def test_a_dot_that_takes_newlines_or_a_reward_that_pays_is_not_blamed(old, new):
    one = first("\n".join([*CODE, *PAYS, *REPLY]).replace(old, new))
    assert one is None or "newline" not in one.says


UNPAID = [
    f"{{'loss': 0.01, 'rewards/exact/mean': 0.0, 'rewards/form/mean': 0.{n}, 'reward': 0.{n}, "
    f"'reward_std': 0.3, 'kl': 0.00{n}}}"
    for n in range(1, 8)
]
HELPED = [
    "def read_result(text):",
    "    found = re.search(r'<result>(.*?)</result>', text)",
    "    return found.group(1) if found else ''",
    "def exact(completions, gold, **kw):",
    "    return [float(read_result(c) == g) for c, g in zip(completions, gold)]",
]
NAMED = [
    'RESULT = re.compile(r"<result>(.*?)</result>")',
    "def exact(completions, gold, **kw):",
    "    return [bool(m := RESULT.search(c)) and m[1] == g for c, g in zip(completions, gold)]",
]
ON_LINES = ["a reply:", "<plan>two and two</plan>", "<result>", "4", "</result>"]
ON_ONE = [*ON_LINES[:2], "<result>4</result>"]


@pytest.mark.parametrize("code", [HELPED, NAMED])
def test_a_pattern_in_a_helper_or_a_constant_is_that_of_the_reward_that_uses_it(code):
    one = first(*code, *UNPAID, *ON_LINES)
    assert one.key == "constant_part" and "DOTALL" in one.fix and "exact/mean 0" in str(one.for_it)
    assert first(*code, *UNPAID, *ON_ONE) is None or "newline" not in first(*code, *UNPAID).says


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</result>', text", "</result>', text, re.S"),
        ("exact/mean': 0.0", "exact/mean': 0.2"),
        ("read_result(c)", "other(c)"),
        ("read_result(c)", "read_result(c.replace('\\n', ''))"),
    ],
)
def test_a_helper_that_is_not_used_or_takes_newlines_is_not_blamed(old, new):
    one = first("\n".join([*HELPED, *UNPAID, *ON_LINES]).replace(old, new))
    assert one is None or "newline" not in one.says


def test_a_match_begins_at_the_first_sign_of_a_reply():
    code = "\n".join(HELPED).replace("re.search", "re.match").replace("', text", "', text, re.S")
    one = first(code, *UNPAID, *ON_LINES)
    assert one.key == "constant_part" and one.fix.startswith("re.search in place of re.match")
    alone = first(code, *UNPAID, "a reply:", *ON_LINES[2:])
    assert alone is None or "first sign" not in alone.says


def test_code_between_fences_has_newlines_as_well():
    fence = "`" * 3
    code = "\n".join(HELPED).replace("<result>(.*?)</result>", f"{fence}python\\n(.*?){fence}")
    one = first(code, *UNPAID, "a reply:", f"{fence}python", "x = 2", "print(x)", fence)
    assert one.key == "constant_part" and f"{fence}python" in one.says
    assert (
        first(code.replace("', text", "', text, re.S"), *UNPAID, f"{fence}python", "x", fence)
        is None
    )
