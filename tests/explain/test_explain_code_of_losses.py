"""Code beside a log that gives a loss the wrong thing: probabilities, labels that are moved
already, pairs from the wrong end of an order."""

import pytest

from course_utils.explain import explain

BELOW = [f"step {9 * n} | kd_loss {-0.4 - n / 50:.3f} | lr 2e-05 | grad_norm 0.4" for n in range(8)]
FALLS = [f"step {9 * n} | loss {2.9 - n / 8:.3f} | lr 2e-05 | grad_norm 1.4" for n in range(8)]
HIGH = [f"step {9 * n} | loss {7.4 - n / 3:.3f} | lr 2e-05 | grad_norm 2.1" for n in range(8)]
PAIRS = [
    f"{{'loss': {0.69 - n / 40:.3f}, 'grad_norm': 2.4, 'rewards/chosen': {n / 9:.3f}, "
    f"'rewards/rejected': {-n / 7:.3f}, 'rewards/accuracies': {0.5 + n / 25:.2f}}}"
    for n in range(9)
]
LOADED = "model = AutoModelForCausalLM.from_pretrained(path)"


def first(code: str, rows: list[str], *more: str):
    return next(iter(explain("\n".join([code, *rows, *more, ""])).causes), None)


def key(code: str, rows: list[str], *more: str) -> str:
    one = first(code, rows, *more)
    return one.key if one else ""


def test_a_softmax_is_given_where_kl_div_takes_logarithms():
    one = first(
        "q = student_out.logits.softmax(-1)\np = teacher_out.logits.softmax(-1)\n"
        "loss = F.kl_div(\n    input=q.flatten(0, 1),\n    target=p.flatten(0, 1))",
        BELOW,
    )
    told = " ".join(one.for_it)
    assert one.key == "probabilities_as_logs" and "below 0" in one.says
    assert "line 1 says: q = " in told and "-0.54 at line 13" in told and "log_softmax" in one.fix


@pytest.mark.parametrize(
    "code",
    [
        "kl = nn.KLDivLoss(reduction='batchmean')\nq = nn.Softmax(dim=-1)(a)\nloss = kl(q, b)",
        "loss = nn.KLDivLoss()(torch.softmax(a / T, -1), b)",
        "q = F.log_softmax(a, -1).exp()\nloss = F.kl_div(q + 1e-8, b)",
        "loss = F.kl_div(F.log_softmax(a, -1), F.softmax(b, -1), log_target=True)",
        "p = F.softmax(logits, dim=-1)\nloss = F.nll_loss(p, y)",
        "p = model(x).logits.softmax(-1)\nloss = F.cross_entropy(p.view(-1, V), y.view(-1))",
        "p = torch.sigmoid(score)\nloss = F.binary_cross_entropy_with_logits(p, y)",
    ],
)
def test_each_loss_that_takes_logarithms_or_logits_is_read(code):
    one = first(code, FALLS)
    assert one.key == "probabilities_as_logs" and "below 0, which" not in one.says


def test_a_name_says_probabilities_only_beside_a_kl_below_0():
    code = "loss = F.kl_div(student_probs, teacher_probs, reduction='batchmean')"
    assert key(code, BELOW) == "probabilities_as_logs"
    assert key(code, FALLS) == ""
    assert key(code.replace("student_probs", "student_log_probs"), FALLS) == ""


@pytest.mark.parametrize(
    "code",
    [
        "q = F.log_softmax(a, -1)\np = F.softmax(b, -1)\nloss = F.kl_div(q, p)",
        "q = F.softmax(a, -1)\nq = q.clamp_min(1e-9).log()\nloss = F.kl_div(q, p)",
        "q, p = F.softmax(a, -1), F.softmax(b, -1)\nloss = F.kl_div(torch.log(q), p)",
        "q = F.log_softmax(a, -1)\nloss = F.kl_div(q, F.log_softmax(b, -1), log_target=True)",
        "p = F.softmax(a, -1)\ndef kl(p, t):\n    return F.kl_div(p, t)",
        "loss = F.cross_entropy(student_logits, F.softmax(teacher_logits, -1))",
        "p = torch.sigmoid(score)\nloss = F.binary_cross_entropy(p, y)",
    ],
)
def test_a_loss_that_gets_what_it_takes_is_not_blamed(code):
    assert key(code, FALLS) == ""


def test_labels_that_a_collator_has_moved_are_moved_again_by_the_model():
    one = first(
        f"{LOADED}\ndef gather(batch):\n    a = [torch.tensor(r[:-1]) for r in batch]\n"
        "    b = [torch.tensor(r[1:]) for r in batch]\n"
        "    return pad_sequence(a), pad_sequence(b)\n"
        "for tokens, gold in loader:\n    loss = model(tokens.cuda(), labels=gold.cuda()).loss",
        HIGH,
    )
    told = " ".join(one.for_it)
    assert one.key == "labels_shifted" and "the model, which gets them" in one.says
    assert "line 4 says" in told and "line 7 says" in told and "loss 7.4 at line 8" in told


@pytest.mark.parametrize(
    "code",
    [
        "row = {'input_ids': ids[:-1], 'labels': ids[1:]}\nTrainer(model=model, train_dataset=d)",
        "x = data[i : i + T]\ny = data[i + 1 : i + 1 + T]\nloss = model(x, labels=y).loss",
        "labels = torch.roll(ids, -1, dims=1)\nloss = model(input_ids=ids, labels=labels).loss",
        "new = ids.clone()\nnew[:, :-1] = ids[:, 1:]\nout = model(ids, labels=new)",
        "def row(ids):\n    return {'input_ids': ids, 'labels': ids[1:] + [tok.eos_token_id]}\n"
        "for batch in loader:\n    loss = self.model(**batch).loss",
        "gold = F.pad(ids[:, 1:], (0, 1), value=-100)\nout = model(input_ids=ids, labels=gold)",
    ],
)
def test_each_way_to_move_labels_by_hand_is_read(code):
    assert key(f"{LOADED}\n{code}", HIGH) == "labels_shifted"


MINE = [
    "def compute_loss(self, model, inputs):",
    "    labels = inputs.pop('labels')",
    "    logits = model(**inputs).logits[..., :-1, :]",
    "    return F.cross_entropy(logits.flatten(0, 1), labels[..., 1:].flatten())",
]


def test_a_loss_of_ones_own_moves_what_the_collator_has_moved():
    moved = "row = {'input_ids': ids[:-1], 'labels': ids[1:]}"
    one = first("\n".join([LOADED, moved, *MINE]), HIGH)
    assert one.key == "labels_shifted" and "the loss, which compares" in one.says
    assert key("\n".join([LOADED, *MINE]), HIGH) == ""


@pytest.mark.parametrize(
    "code",
    [
        "logits = model(ids[:, :-1]).logits\nloss = F.cross_entropy(logits[0], ids[0, 1:])",
        "x, y = ids[:, :-1], ids[:, 1:]\nout = model(src, decoder_input_ids=x, labels=y)",
        "ids = ids[1:]\nlabels = labels[1:]\nout = model(input_ids=ids, labels=labels)",
        "said = tok(reply).input_ids[1:]\nids = asked + said\nlabels = [-100] * n + said\n"
        "out = model(input_ids=ids, labels=labels)",
        "class Small(nn.Module):\nx, y = ids[:, :-1], ids[:, 1:]\nout = model(x, labels=y)",
        "x, y = ids[:, :-1], ids[:, 1:]\nout = model(x, labels=y, shift_labels=y)",
        "def logp(ids):\n    x, labels = ids[:, :-1], ids[:, 1:]\n    return score(x, labels)\n"
        "def step(ids, labels):\n    return model(ids, labels=labels).loss",
    ],
)
def test_labels_that_are_moved_once_are_not_blamed(code):
    assert key(f"{LOADED}\n{code}", HIGH) == ""


def test_a_first_loss_that_is_low_refutes_labels_moved_twice():
    code = f"{LOADED}\nlabels = torch.roll(ids, -1, 1)\nloss = model(ids, labels=labels).loss"
    low = [row.replace("loss 7.4", "loss 1.4") for row in HIGH]
    assert key(code, HIGH) == "labels_shifted" and key(code, low) != "labels_shifted"


def test_a_pair_whose_chosen_reply_is_the_worst_by_its_score():
    code = "group = group.sort_values('rm_score')\nchosen, rejected = group.iloc[0], group.iloc[-1]"
    one = first(code, PAIRS, "win rate against the start: 22%")
    assert one.key == "pairs_inverted" and not one.against and "lowest rm_score" in one.says
    assert "line 1 says" in one.for_it[0] and "22%" in one.for_it[-1]
    assert first(code, PAIRS).against


@pytest.mark.parametrize(
    "code",
    [
        "chosen = min(some, key=lambda r: r.reward)\nrejected = max(some, key=lambda r: r.reward)",
        "i, j = np.argmin(scores), np.argmax(scores)\n"
        "row = {'chosen': texts[i], 'rejected': texts[j]}",
        "order = scores.argsort(descending=True)\nrow['rejected'] = texts[order[0]]",
        "rejected = sorted(some, key=itemgetter('score'), reverse=True)[0]['text']",
        "best, *_, worst = sorted(some, key=lambda r: -r['rank'])",
        "some.sort(key=lambda r: r['rating'], reverse=True)\nsome.reverse()\nchosen = some[0]",
        "i = rewards.index(min(rewards))\nchosen = texts[i]",
        "chosen, rejected = (a, b) if reward_a < reward_b else (b, a)",
    ],
)
def test_each_way_to_take_the_wrong_end_is_read(code):
    assert key(code, PAIRS) == "pairs_inverted"


@pytest.mark.parametrize(
    "code",
    [
        "some.sort(key=lambda r: r['score'])\nchosen, rejected = some[-1], some[0]",
        "some.sort(key=lambda r: -r['score'])\nchosen, rejected = some[0], some[-1]",
        "some = sorted(some, key=lambda r: r['score'])[::-1]\nchosen, rejected = some[0], some[-1]",
        "chosen = min(some, key=lambda r: r.rank)\nrejected = max(some, key=lambda r: r.rank)",
        "some.sort(key=lambda r: len(r['text']))\nchosen, rejected = some[0], some[-1]",
        "some.sort(key=lambda r: r['risk_score'])\nchosen, rejected = some[0], some[-1]",
        "some.sort(key=lambda r: r['length'])\nchosen, rejected = some[0], some[-1]",
        "# a higher rank is better here\nsome.sort(key=lambda r: r['rank'])\nchosen = some[-1]",
        "chosen, rejected = (a, b) if reward_a > reward_b else (b, a)",
        "best_run = min(runs, key=lambda r: r['loss'])  # chosen by hand",
    ],
)
def test_the_right_end_or_a_quantity_without_a_sense_is_not_blamed(code):
    assert key(code, PAIRS) == ""
