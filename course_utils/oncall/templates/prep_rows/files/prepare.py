"""Raw rows of both sources to rows of ids and labels."""

import json

IGNORED = -100


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def clean(text):
    """A cell of the sheet without its spaces."""
    return "".join(text.split())


def tokenised(row, tokenizer):
    """A question and its answer as one chat, and where the reply begins in it."""
    chat = [{"role": "user", "content": clean(row["question"])}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    reply = clean(row["answer"]) + tokenizer.eos_token
    prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    reply_ids = tokenizer(reply, add_special_tokens=False)["input_ids"]
    return {"id": row["id"], "tokens": prompt_ids + reply_ids, "reply_at": len(prompt_ids)}


def sheet_rows(cfg, tokenizer):
    """Rows of the sheet with a good grade."""
    rows = read_jsonl(cfg["sheet_file"])
    good = [row for row in rows if row["grade"] >= cfg["least_grade"]]
    print(f"sheet: {len(rows)} rows, {len(good)} of them graded well enough")
    return [tokenised(row, tokenizer) for row in good]


def without_repeats(rows):
    """The first row of each id: exports overlap."""
    kept = {}
    for row in rows:
        kept.setdefault(row["id"], row)
    return list(kept.values())


def without_checks(rows, checks):
    """Rows whose question is no check."""
    asked = {tuple(one["tokens"][: one["reply_at"]]) for one in checks}
    return [row for row in rows if tuple(row["tokens"][: row["reply_at"]]) not in asked]


def labelled(row, max_length):
    """Ids of a chat, and its labels: the reply and its end, nothing of the question."""
    ids, start = row["tokens"], row["reply_at"]
    labels = [token if at >= start else IGNORED for at, token in enumerate(ids)]
    return ids[:max_length], labels[:max_length]


def load_rows(cfg, tokenizer):
    """What is trained on, and what the checkpoints are compared by."""
    checks = [tokenised(row, tokenizer) for row in read_jsonl(cfg["checks_file"])]
    desk = read_jsonl(cfg["desk_file"])  # comes tokenised from their own job
    rows = without_repeats(sheet_rows(cfg, tokenizer) + desk)
    rows = without_checks(rows, checks)
    print(f"{len(rows)} rows to train on, {len(checks)} checks")
    length = cfg["max_length"]
    return [labelled(row, length) for row in rows], [labelled(row, length) for row in checks]
