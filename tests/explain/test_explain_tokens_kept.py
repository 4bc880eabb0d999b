"""Tokenized rows that are kept with, and without, the tokenizer in their key."""

import pytest

from tests.helpers.explained import first

CODE = [
    "    digest = hashlib.md5(f'{cfg.data.file}-{cfg.data.max_len}'.encode()).hexdigest()",
    "    kept = os.path.join(root, digest)",
    "    if os.path.exists(kept):",
    "        return load_from_disk(kept)",
    "    rows = raw.map(lambda row: tokenizer(row['text']), num_proc=8)",
]
LOADED = "tokenizer: LlamaTokenizerFast, vocab 128256"
ROW = "ids[0] = [151644, 8948, 198, 2610, 525, 264]"


def run(begin: float):
    return [f"{{'loss': {begin - n / 5:.2f}, 'grad_norm': 3.1, 'epoch': 0.{n}}}" for n in range(9)]


def test_rows_that_begin_as_those_of_another_tokenizer():
    one = first(*CODE, LOADED, ROW, *run(9.8))
    assert one.key == "rows_prepared_before" and "as rows of Qwen do" in one.for_it[2]
    assert "another tokenizer made" in one.says and "decode the first row" in one.fix


def test_a_loss_of_a_guess_behind_a_change_of_the_model_follows_from_it():
    one = first("we switched to another base model and nothing else", *CODE, *run(9.8))
    assert one.key == "rows_prepared_before" and one.weight < 9


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{cfg.data.max_len}", "{cfg.data.max_len}-{tokenizer.name_or_path}"),
        ("f'{cfg.data.file}-{cfg.data.max_len}'", "json.dumps(cfg)"),
        ("[151644, 8948", "[128000, 128006"),
        ("LlamaTokenizerFast", "Qwen2TokenizerFast"),
    ],
)
def test_a_key_with_the_tokenizer_or_rows_of_its_own_are_right(old, new):
    text = "\n".join([*CODE, LOADED, ROW, *run(1.7)]).replace(old, new)
    assert first(text) is None
