"""The trainer's tokens are those of the reply's text, encoded again."""

from course_utils.oncall.declare import Case, Edit, Fault

CASE = Case(
    id="read_back_from_its_text",
    level=2,
    template="rl_loop",
    ticket="Since the engine got its own process, it learns nothing. The replies in the log are "
    "sound, the scores are theirs, I recomputed a hundred by hand. All that the two processes "
    "share is what was said, which is as it should be. Is the score too coarse for so few "
    "rollouts?",
    faults=(
        Fault(
            title="replies tokenized again for the trainer",
            kind="retokenised",
            plant=(
                Edit(
                    "rollout.py",
                    '        replies = ids[:, -cfg["response_length"] :]\n'
                    "        said = tokenizer.batch_decode(replies, skip_special_tokens=True)\n",
                    '        said = tokenizer.batch_decode(ids[:, -cfg["response_length"] :], '
                    "skip_special_tokens=True)\n"
                    "        again = tokenizer(\n"
                    "            said,\n"
                    '            padding="max_length",\n'
                    '            max_length=cfg["response_length"],\n'
                    "            truncation=True,\n"
                    '            return_tensors="pt",\n'
                    "        )\n"
                    '        replies = again["input_ids"]\n'
                    '        ids = torch.cat([asked["input_ids"], replies], 1)\n'
                    '        mask = torch.cat([asked["attention_mask"], '
                    'again["attention_mask"]], 1)\n',
                ),
            ),
            cause="The replies are decoded and encoded again: their ends are gone, and the "
            "tokenizer fills them up on the left, so the trainer scores other tokens than those "
            "whose log-probs were kept.",
            fix="Give the trainer the ids that were sampled.",
            threads=("trl#5224", "verl#6501", "verl#3960"),
            also_kinds=("padding_side", "logp_mismatch"),
            also_places=("train.py score",),
        ),
    ),
    non_fixes={
        "wider clip": (Edit("config.yaml", "clip_high: 0.28 ", "clip_high: 0.50 "),),
        "another estimate": (Edit("config.yaml", "kl_kind: k3", "kl_kind: k2"),),
    },
)
