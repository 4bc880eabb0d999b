"""The byte-level BPE tokenizer that both tiny models share. It never trains a model.

Built the way Qwen's is: GPT-2's byte alphabet first, so that id 0 is "!", then a few merges, then
the special tokens. Digits stay single tokens, so that sums can be learned digit by digit.
"""

from typing import TYPE_CHECKING

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

# Qwen2's split rule (its tokenizer.json): words keep their leading space, a digit stands alone.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# ChatML as in Qwen2, without its default system message.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# Merges are learned from these words: the roles of the chat and plain words about sums.
CORPUS = (
    "system\nuser\nassistant\nuser\nassistant\n",
    "You are a helpful assistant that adds numbers.",
    "What is the sum of these numbers? The sum is the answer.",
    "Please add the numbers and answer with the sum. The answer is a number.",
)
NUM_BYTES, NUM_MERGES = 256, 61


def train_bpe() -> Tokenizer:
    """Learn the merges, and return the bare tokenizer: 256 bytes, 61 merges, 3 special tokens.

    >>> bpe = train_bpe()
    >>> bpe.id_to_token(0), bpe.get_vocab_size(), bpe.encode("17+25=").tokens
    ('!', 320, ['1', '7', '+', '2', '5', '='])
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=NUM_BYTES + NUM_MERGES,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    bpe.add_special_tokens([PAD, IM_START, IM_END])  # last, so that id 0 stays "!"
    return bpe


def build_tokenizer() -> "PreTrainedTokenizerFast":
    """Wrap the BPE for Transformers: chat template, left padding, `<|im_end|>` ends an answer.

    >>> tokenizer = build_tokenizer()
    >>> tokenizer.decode([0]), tokenizer.eos_token, tokenizer.padding_side
    ('!', '<|im_end|>', 'left')
    """
    from transformers import PreTrainedTokenizerFast  # takes seconds; only building needs it

    return PreTrainedTokenizerFast(
        tokenizer_object=train_bpe(),
        pad_token=PAD,
        eos_token=IM_END,
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],  # as Qwen's; 4.x adds token types else
        clean_up_tokenization_spaces=False,
    )
