"""Faults of somebody's own code around a run: how replies are cut, classes numbered, rows split."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first

RUN = [f"{{'loss': 0.{9 - n}1, 'grad_norm': 1.{n}, 'learning_rate': 1e-05}}" for n in range(1, 8)]
CUTS = [
    "texts = [tokenizer.apply_chat_template(c, tokenize=False) for c in chats]",
    "whole = tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)",
    "replies = [w[len(t):].strip() for w, t in zip(whole, texts)]",
]


def test_text_without_markers_that_is_cut_at_a_prompt_with_them_loses_its_beginning():
    one = first(*RUN, *CUTS)
    assert one.key == "reply_cut_within_prompt" and "w[len(t):]" in one.says
    assert "new tokens alone" in one.fix and len(one.for_it) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("skip_special_tokens=True", "skip_special_tokens=False"),
        ("tokenize=False", "tokenize=True"),
        ("model.generate(**batch)", "model.generate(**batch)[:, width:]"),
        ("w[len(t):]", "w[n:]"),
    ],
)
def test_text_that_has_its_markers_or_is_cut_by_tokens_is_no_fault(old, new):
    assert first("\n".join([*RUN, *CUTS]).replace(old, new)) is None


ALIAS = [
    "actor = AutoModelForCausalLM.from_pretrained(path)",
    "optimizer = AdamW(actor.parameters(), lr=1e-6)",
    "ref_model = actor.requires_grad_(True).to(device)",
    "base_logps = logps(ref_model, batch)",
]
FLAT = [f"step {n} loss 0.6931 margin 0.0000" for n in range(1, 8)]


def test_a_reference_that_is_a_second_name_of_the_policy_is_told():
    one = first(*ALIAS, *FLAT)
    assert one.key == "reference_moves" and "to() returns the module itself" in one.says
    assert "deepcopy(actor)" in one.fix and any("ln 2 in all 7" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("actor.requires_grad_(True).to(device)", "copy.deepcopy(actor).eval()"),
        ("actor.requires_grad_(True).to(device)", "AutoModel.from_pretrained(path).eval()"),
        ("AdamW(actor.", "AdamW(head."),
        ("base_logps = logps(ref_model, batch)", "ref_model = copy.deepcopy(actor)"),
        ("base_logps =", "with ref_model.disable_adapter(): base_logps ="),
    ],
)
def test_a_copy_or_a_model_that_is_not_trained_is_a_reference(old, new):
    one = first("\n".join([*ALIAS, *RUN]).replace(old, new))
    assert one is None or one.key != "reference_moves"


SETS = [
    "def label_map(rows):",
    "    classes = [*set(r['topic'] for r in rows)]",
    "    return {c: k for k, c in enumerate(classes)}",
    "train_rows = add(train_rows, label_map(train_rows))   # fit.py",
    "test_rows = add(test_rows, label_map(test_rows))   # score.py",
]
SCORES = ["$ python score.py", "accuracy: 0.1220", "$ python score.py", "accuracy: 0.0415"]


def test_classes_that_are_numbered_by_a_set_are_named_otherwise_in_each_program():
    one = first(*SETS, *RUN, *SCORES)
    assert one.key == "evaluation_rows_differ" and "sorted(set(" in one.fix
    assert any("0.122, 0.0415" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[*set(r['topic'] for r in rows)]", "sorted(set(r['topic'] for r in rows))"),
        ("enumerate(classes)", "count(classes)"),
        ("accuracy: 0.0415", "accuracy: 0.1220"),
        ("return {", "json.dump(classes, f); return {"),
    ],
)
def test_classes_in_a_fixed_order_are_no_fault(old, new):
    text = "\n".join([*SETS, *RUN, *SCORES])
    assert old in text
    assert first(text.replace(old, new)) is None


ROWS = [
    "passages = splitter.split_documents(articles)",
    "train, dev = train_test_split(passages, test_size=0.2)",
    "31000 passages from 2100 articles",
    *RUN,
    "dev F1 is 0.94, on the articles of next month (unseen) it is 0.71.",
]


def test_rows_of_one_document_on_both_sides_of_a_split_are_told():
    one = first(*ROWS)
    assert one.key == "rows_in_both" and "split_documents" in one.says
    assert any("31000 rows of 2100 articles" in row for row in one.for_it)


def test_parts_of_documents_that_a_loop_collects_are_told_as_well():
    loop = ["for part in chunks(article):", "    passages.append(part)", *ROWS[1:]]
    one = first(*loop)
    assert one.key == "rows_in_both" and "(chunks)" in one.says


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("train_test_split(passages", "train_test_split(article_ids"),
        ("test_size=0.2)", "test_size=0.2, groups=article)"),
        ("splitter.split_documents(articles)", "load(articles)"),
        ("on the articles of next month (unseen) it is 0.71.", "as we hoped."),
    ],
)
def test_rows_that_are_split_by_document_or_do_as_well_elsewhere_are_no_fault(old, new):
    text = "\n".join(ROWS)
    assert old in text
    assert first(text.replace(old, new)) is None


ROUNDS = [
    "params = SamplingParams(seed=1234, temperature=1.0, max_tokens=512)",
    "rounds = [engine.generate(questions, params) for _ in range(16)]",
    "pass@1 = 0.3120  pass@4 = 0.3120  pass@16 = 0.3130",
]


def test_rounds_that_are_drawn_with_one_seed_are_one_sample():
    one = first(*RUN, *ROUNDS)
    assert one.key == "metric_not_as_named" and "seed=1234" in one.says and "n=k" in one.fix


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed=1234, ", ""),
        ("seed=1234", "seed=None"),
        ("seed=1234", "seed=1234, n=16"),
        ("params) for _ in range(16)", "params) for params in many"),
        ("pass@16 = 0.3130", "pass@16 = 0.5510"),
    ],
)
def test_rounds_without_one_seed_or_that_find_more_are_no_fault(old, new):
    text = "\n".join([*RUN, *ROUNDS])
    assert old in text
    assert first(text.replace(old, new)) is None


def test_a_term_without_a_known_vocabulary_is_named_without_a_factor():
    code = "kl = F.kl_div(F.log_softmax(s, -1), F.softmax(t, -1))"
    rows = [f"step {n} loss 2.{9 - n} kl 0.0000{n}" for n in range(1, 8)]
    answer = explain("\n".join([code, "loss = ce + kl", *rows, ""]))
    assert not any("times the" in row for one in answer.causes for row in one.for_it)
