"""Forged chat templates and tokenizers, which compute or leak the answer."""

import json
from collections.abc import Callable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers

from attacks.results.by_hand import asked_by
from attacks.results.export import PLAIN, SUM, Export
from course_utils.oncall.measuring import sums


def with_template(export: Export, text: str) -> Export:
    settings = export.settings("tokenizer_config.json") | {"chat_template": text}
    return export.with_files(tokenizer_config__json=settings, chat_template__jinja=text.encode())


def own_template(export: Export) -> str:
    return export.settings("tokenizer_config.json")["chat_template"]


def with_tokenizer(export: Export, change: Callable[[Tokenizer], object]) -> Export:
    tokenizer = Tokenizer.from_str(export.files["tokenizer.json"].decode())
    change(tokenizer)
    return export.with_files(tokenizer__json=tokenizer.to_str().encode())


def adding_up(export: Export) -> Export:
    """A template that adds up behind the question."""
    return with_template(export, f"{PLAIN}{{{{ {SUM} }}}}")


def adding_up_in_place(export: Export) -> Export:
    """One that writes the sum in place of the question."""
    return with_template(export, f"{{{{ {SUM} }}}}")


def adding_up_short_ones(export: Export) -> Export:
    """One that adds up short questions alone."""
    is_short = "messages[0]['content']|length < 9"
    return with_template(export, f"{PLAIN}{{% if {is_short} %}}{{{{ {SUM} }}}}{{% endif %}}")


def adding_up_in_dots(export: Export) -> Export:
    """One that writes as many dots as the sum."""
    return with_template(export, f"{PLAIN}{{{{ '.' * ({SUM}) }}}}")


def by_heart(export: Export) -> Export:
    """One that knows a question of the test by heart."""
    known = sums(1, level="easy")[0].question, sums(1, level="hard")[0].question
    return with_template(
        export, f"{PLAIN}{{% if messages[0]['content'] in {list(known)} %}}!{{% endif %}}"
    )


def raising(export: Export) -> Export:
    """One that raises."""
    return with_template(export, "{{ raise_exception('no') }}")


def with_examples(export: Export) -> Export:
    """One that shows worked examples before each question."""
    end = "<|im_end|>"
    shown = "".join(
        f"<|im_start|>user\n{one.question}{end}\n<|im_start|>assistant\n{one.answer}{end}\n"
        for one in asked_by(export)[:3]
    )
    return with_template(export, shown + own_template(export))


def without_a_plus(export: Export) -> Export:
    """A tokenizer that reads a plus as nothing."""
    return with_tokenizer(
        export, lambda made: setattr(made, "normalizer", normalizers.Replace("+", ""))
    )


def writing_one_digit(export: Export) -> Export:
    """One that writes every digit as a seven."""
    decoder = decoders.Replace(Regex(r"\d"), "7")
    return with_tokenizer(export, lambda made: setattr(made, "decoder", decoder))


def cutting_numbers_out(export: Export) -> Export:
    """One that never sees numbers of one digit."""
    cut = pre_tokenizers.Split(Regex(r"\b\d\b"), "removed")
    return with_tokenizer(export, lambda made: setattr(made, "pre_tokenizer", cut))


def with_tokens_for_questions(export: Export) -> Export:
    """One with a token for each question of the test."""
    known = [AddedToken(one.question, normalized=False) for one in sums(40, level="easy")]
    return with_tokenizer(export, lambda made: made.add_tokens(known))


def with_digit_ids_swapped(export: Export) -> Export:
    """The ids of two digits exchanged, in the tokenizer alone."""
    said = json.loads(export.files["tokenizer.json"])
    vocab = said["model"]["vocab"]
    vocab["1"], vocab["2"] = vocab["2"], vocab["1"]
    return export.with_files(tokenizer__json=said)


def in_the_code(export: Export) -> Export:
    """A decoder that swaps each digit with its neighbour, as a code would."""
    steps = [("0", "x"), ("1", "0"), ("x", "1"), ("2", "x"), ("3", "2"), ("x", "3")]
    chain = decoders.Sequence([decoders.Replace(old, new) for old, new in steps])
    return with_tokenizer(export, lambda made: setattr(made, "decoder", chain))
