"""Right and wrong answers of exercise 07.8."""

from transformers import BatchEncoding, GenerationConfig

from course_utils.exercises.lesson_07 import unseen
from course_utils.reproductions.lesson_07 import unseen_parts
from course_utils.reproductions.lesson_07.unseen_parts import encode
from tests.answers.forms import mends_of

room = mends_of(unseen.ROOM)
server_ends = mends_of(unseen.SERVER_ENDS)
server_prompt = mends_of(unseen.SERVER_PROMPT)
pairs = mends_of(unseen.PAIRS)


def _parts(question, answer, tokenizer) -> tuple[list[int], list[int]]:
    row = encode(question, answer, tokenizer)
    learnt = [label for label in row["labels"] if label != -100]
    return row["input_ids"][: -len(learnt)], learnt


def _row(prompt: list[int], reply: list[int], labels: list[int] | None = None) -> dict:
    labels = reply if labels is None else labels
    return {"input_ids": prompt + reply, "labels": [-100] * len(prompt) + labels}


@room.right
def encodes_with_more_room(question, answer, tokenizer):
    prompt, reply = _parts(question, answer, tokenizer)
    return _row(prompt, reply[:32])


@room.right
def encodes_by_the_template(question, answer, tokenizer):
    chat = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    whole = tokenizer.apply_chat_template(chat, tokenize=False).removesuffix("\n")
    asked = tokenizer.apply_chat_template(chat[:1], add_generation_prompt=True, tokenize=False)
    ids, begins = tokenizer(whole)["input_ids"], len(tokenizer(asked)["input_ids"])
    return {"input_ids": ids, "labels": [-100] * begins + ids[begins:]}


@room.right_in_capitals
def encodes_as_an_encoding(question, answer, tokenizer):
    """What tokenizers return: a mapping that is no dict."""
    prompt, reply = _parts(question, answer, tokenizer)
    return BatchEncoding(_row(prompt, reply))


@room.wrong(caught_by=unseen.nothing_else_changes)
def encodes_with_room_for_three_digits(question, answer, tokenizer):
    """One more than the longest answer of the data needs; other answers are still cut."""
    prompt, reply = _parts(question, answer, tokenizer)
    return _row(prompt, reply[:4])


@room.wrong(caught_by=unseen.nothing_else_changes)
def encodes_with_room_for_seven_digits(question, answer, tokenizer):
    prompt, reply = _parts(question, answer, tokenizer)
    return _row(prompt, reply[:8])


@room.wrong(caught_by=unseen.nothing_else_changes)
def encodes_rows_of_forty_tokens(question, answer, tokenizer):
    """Long questions lose the end of their reply."""
    return {key: value[:40] for key, value in encode(question, answer, tokenizer).items()}


@room.wrong(caught_by=unseen.run_gets_better)
def encodes_unlearnt_end(question, answer, tokenizer):
    prompt, reply = _parts(question, answer, tokenizer)
    return _row(prompt, reply, [*reply[:-1], -100])


@room.wrong(caught_by=unseen.run_gets_better)
def encodes_end_for_the_last_digit(question, answer, tokenizer):
    prompt, reply = _parts(question, answer, tokenizer)
    return _row(prompt, [*reply[:2], tokenizer.eos_token_id])


@room.wrong(caught_by=unseen.nothing_else_changes)
def encodes_other_prompts(question, answer, tokenizer):
    """The rows of the data stay; other questions lose the first token of their prompt."""
    prompt, reply = _parts(question, answer, tokenizer)
    return _row(prompt[1:] if len(answer) != 3 else prompt, reply[:4])


@pairs.wrong(caught_by=unseen.nothing_else_changes)
def encodes_other_prompts_once(question, answer, tokenizer):
    return encodes_other_prompts(question, answer.removesuffix(tokenizer.eos_token), tokenizer)


@pairs.right
def encodes_with_an_end_where_none_is(question, answer, tokenizer):
    prompt, reply = _parts(question, answer, tokenizer)
    if reply[-2:] == [tokenizer.eos_token_id] * 2:
        reply = reply[:-1]
    return _row(prompt, reply)


@pairs.right_in_capitals
def encodes_by_the_template_once(question, answer, tokenizer):
    return encodes_by_the_template(question, answer.split("<|im_end|>")[0], tokenizer)


@pairs.wrong(caught_by=unseen.run_gets_better)
def encodes_without_ends(question, answer, tokenizer):
    """Both sides alike, and neither of them stops."""
    prompt, reply = _parts(question, answer.removesuffix(tokenizer.eos_token), tokenizer)
    return _row(prompt, reply[:-1])


@pairs.wrong(caught_by=unseen.run_gets_better)
def encodes_ends_of_the_base(question, answer, tokenizer):
    """The typed replies end as a base's text does, and the sampled ones with the template's end."""
    prompt, reply = _parts(question, answer, tokenizer)
    if reply[-2:] == [tokenizer.eos_token_id] * 2:
        return _row(prompt, reply[:-1])
    return _row(prompt, [*reply[:-1], tokenizer.pad_token_id])


def _generate(model, tokenizer, asked, limit, side="left", **options):
    batch = tokenizer(asked, padding=True, padding_side=side, return_tensors="pt")
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    settings = {"max_new_tokens": limit, "do_sample": False} | ends | options
    whole = model.generate(**batch, **settings)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


def _asked(tokenizer, questions, **options):
    chats = [[{"role": "user", "content": question}] for question in questions]
    options = {"add_generation_prompt": True} | options
    return tokenizer.apply_chat_template(chats, tokenize=False, **options)


@server_ends.right
def answers_with_both_ends(model, tokenizer, questions, limit):
    both = [tokenizer.eos_token_id, tokenizer.pad_token_id]
    return _generate(model, tokenizer, _asked(tokenizer, questions), limit, eos_token_id=both)


@server_ends.right_in_capitals
@server_prompt.right_in_capitals
def answers_with_a_config(model, tokenizer, questions, limit):
    asked = _asked(tokenizer, questions)
    batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
    config = GenerationConfig(
        max_new_tokens=limit,
        do_sample=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    whole = model.generate(**batch, generation_config=config)
    return whole[:, batch["input_ids"].shape[1] :].tolist()


@server_prompt.right
def answers_by_hand_with_its_line_end(model, tokenizer, questions, limit):
    asked = [f"<|im_start|>user\n{q}<|im_end|>\n<|im_start|>assistant\n" for q in questions]
    return _generate(model, tokenizer, asked, limit)


@server_ends.wrong(caught_by=unseen.run_gets_better)
def answers_shortly(model, tokenizer, questions, limit):
    of_the_base = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    asked = _asked(tokenizer, questions)
    return _generate(model, tokenizer, asked, 3, eos_token_id=of_the_base)


@server_ends.wrong(caught_by=unseen.nothing_else_changes)
@server_prompt.wrong(caught_by=unseen.nothing_else_changes)
def answers_with_padding_on_the_right(model, tokenizer, questions, limit):
    return _generate(model, tokenizer, _asked(tokenizer, questions), limit, side="right")


@server_ends.wrong(caught_by=unseen.nothing_else_changes)
@server_prompt.wrong(caught_by=unseen.nothing_else_changes)
def answers_four_tokens(model, tokenizer, questions, limit):
    return _generate(model, tokenizer, _asked(tokenizer, questions), 4)


@server_ends.wrong(caught_by=unseen.nothing_else_changes)
def answers_digits_only(model, tokenizer, questions, limit):
    """Cut by hand behind the digits, with an end put there."""
    replies = _generate(model, tokenizer, _asked(tokenizer, questions), limit)
    digits = set(tokenizer("0123456789")["input_ids"])
    end, cut = tokenizer.eos_token_id, []
    for ids in replies:
        stop = next((at for at, token in enumerate(ids) if token not in digits), len(ids))
        cut.append([*ids[:stop], end])
    return cut


@server_ends.right
def answers_one_by_one(model, tokenizer, questions, limit):
    asked = _asked(tokenizer, questions)
    return [reply for one in asked for reply in _generate(model, tokenizer, [one], limit)]


@server_ends.wrong(caught_by=unseen.nothing_else_changes)
def answers_with_a_penalty(model, tokenizer, questions, limit):
    asked = _asked(tokenizer, questions)
    return _generate(model, tokenizer, asked, limit, repetition_penalty=1.3)


@server_ends.wrong(caught_by=unseen.run_gets_better)
def answers_cut_behind_the_end(model, tokenizer, questions, limit):
    """A stop string of one's own: all tokens are still generated."""
    end, asked = tokenizer.eos_token_id, _asked(tokenizer, questions)
    replies = _generate(model, tokenizer, asked, limit, eos_token_id=tokenizer.pad_token_id)
    return [ids[: ids.index(end) + 1] if end in ids else ids for ids in replies]


@server_prompt.wrong(caught_by=unseen.run_gets_better)
def answers_with_a_system_message(model, tokenizer, questions, limit):
    asked = [f"<|im_start|>system\nAdd.<|im_end|>\n{a}" for a in _asked(tokenizer, questions)]
    return _generate(model, tokenizer, asked, limit)


@server_prompt.wrong(caught_by=unseen.run_gets_better)
def answers_without_a_header(model, tokenizer, questions, limit):
    asked = _asked(tokenizer, questions, add_generation_prompt=False)
    return _generate(model, tokenizer, asked, limit)


room.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "answer", "fix": unseen_parts.answer}
)
server_ends.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "encode", "fix": unseen_parts.encode}
)
server_prompt.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "collate", "fix": unseen_parts.collate}
)
pairs.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "answer", "fix": unseen_parts.answer}
)
