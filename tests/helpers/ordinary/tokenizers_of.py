"""Tiny tokenizers of each usual kind, trained on the sentences of `texts.py`."""

from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import trainers as fits
from transformers import PreTrainedTokenizerFast

from ordinary import texts

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}<|im_end|>"
    "{% endgeneration %}{% else %}{{ message['content'] }}<|im_end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _fast(core: Tokenizer, **tokens) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(core.to_str()), model_max_length=128, **tokens
    )


@cache
def _wordpiece() -> Tokenizer:
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    core.train_from_iterator(
        texts.corpus(), fits.WordPieceTrainer(vocab_size=600, special_tokens=special)
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, core.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return core


def _byte_level(special: list[str], *, add_prefix_space: bool = False) -> Tokenizer:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        texts.corpus(),
        fits.BpeTrainer(
            vocab_size=600,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return core


@cache
def _gpt2() -> Tokenizer:
    return _byte_level(["<|endoftext|>", "<|pad|>"])


@cache
def _chat() -> Tokenizer:
    return _byte_level(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])


@cache
def _roberta() -> Tokenizer:
    core = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], add_prefix_space=True)
    core.post_processor = processors.RobertaProcessing(
        ("</s>", core.token_to_id("</s>")), ("<s>", core.token_to_id("<s>"))
    )
    return core


@cache
def _unigram() -> Tokenizer:
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.train_from_iterator(
        texts.corpus(),
        fits.UnigramTrainer(
            vocab_size=400, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>"
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>",
        pair="$A </s> $B </s>",
        special_tokens=[("</s>", core.token_to_id("</s>"))],
    )
    return core


@cache
def _xlnet() -> Tokenizer:
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]
    core.train_from_iterator(
        texts.corpus(),
        fits.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>"),
    )
    core.post_processor = processors.TemplateProcessing(
        single="$A <sep> <cls>:2",
        pair="$A <sep> $B:1 <sep>:1 <cls>:2",
        special_tokens=[(token, core.token_to_id(token)) for token in ("<sep>", "<cls>")],
    )
    return core


def bert() -> PreTrainedTokenizerFast:
    return _fast(
        _wordpiece(),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def roberta() -> PreTrainedTokenizerFast:
    return _fast(
        _roberta(),
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        cls_token="<s>",
        sep_token="</s>",
    )


def gpt2(**tokens) -> PreTrainedTokenizerFast:
    """GPT-2's tokenizer has no padding token; `pad_token="<|pad|>"` adds one."""
    return _fast(_gpt2(), bos_token="<|endoftext|>", eos_token="<|endoftext|>", **tokens)


def chat() -> PreTrainedTokenizerFast:
    """Qwen's way: a turn ends with <|im_end|>, and <|endoftext|> pads."""
    tokenizer = _fast(_chat(), eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.chat_template = CHATML
    return tokenizer


def t5() -> PreTrainedTokenizerFast:
    return _fast(_unigram(), pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def xlnet() -> PreTrainedTokenizerFast:
    return _fast(
        _xlnet(),
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<cls>",
        sep_token="<sep>",
        pad_token="<pad>",
        mask_token="<mask>",
        padding_side="left",
    )
