"""An optimizer above, and below, the line that puts new weights into the model."""

import pytest

from tests.helpers.explained import first

RUN = [f"{{'loss': {2 - n / 20:.2f}, 'grad_norm': 0.9, 'epoch': 0.{n}}}" for n in range(1, 9)]
GROWS = [row.replace("0.9", f"{2**n}.5") for n, row in enumerate(RUN)]
OPTIMIZER = "    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)"
RESIZE = "    model.resize_token_embeddings(len(tokenizer))"


def test_a_table_that_is_resized_behind_the_optimizer_is_never_stepped():
    one = first(OPTIMIZER, RESIZE, "    optimizer.zero_grad()", *GROWS)
    assert one.key == "optimizer_holds_others" and "resized embedding" in one.says
    assert "gathers from step to step" in one.says and "grad_norm grows" in one.for_it[-1]


@pytest.mark.parametrize(
    ("later", "what"),
    [
        ("model = get_peft_model(model, config)", "of the adapter"),
        ("model.score = nn.Linear(1024, 1)", "the new head"),
        ("model = copy.deepcopy(model)", "of the copy"),
    ],
)
def test_other_things_that_put_in_new_weights(later, what):
    assert what in first(OPTIMIZER, later, *RUN).says


@pytest.mark.parametrize(
    "code",
    [
        (RESIZE, OPTIMIZER),
        (OPTIMIZER, RESIZE, OPTIMIZER),
        (OPTIMIZER, RESIZE, "    optimizer.add_param_group({'params': rows})"),
        ("def build(model):", OPTIMIZER, "    return optimizer", "def main():", RESIZE),
        (OPTIMIZER, "    # " + RESIZE),
        (OPTIMIZER, RESIZE.replace("model", "ref_model")),
        ("    model, opt, dl = acc.prepare(model, opt, dl)", RESIZE),
    ],
)
def test_an_optimizer_that_is_made_last_is_right(code):
    assert first(*code, *RUN) is None
