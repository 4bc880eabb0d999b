"""What is measured comes out of the training: forged templates, tokenizers and weights are refused.

Nothing is trained here: each forgery is the base itself, exported with one thing changed.
"""

import json

import pytest
import torch
from safetensors.torch import load, save
from tokenizers import Regex, Tokenizer, decoders, normalizers

from course_utils.oncall import templates
from course_utils.oncall.measuring import served, sums
from course_utils.oncall.result import MODEL, NothingMade, Result

BASE = templates.load("rl_loop").base(0)
TESTS = sums(8, level="easy")
PLAIN = "{{ messages[0]['content'] }}"
SUM = "messages[0]['content'][:-1].split('+')|map('int')|sum"


def exported(**changed: bytes) -> Result:
    """The base as a run would export it, with some of its files changed."""
    files = {"generation_config.json": b'{"eos_token_id": 319}', **BASE, **changed}
    return Result({f"{MODEL}/{name}": data for name, data in files.items()}, BASE)


def with_template(text: str) -> Result:
    settings = json.loads(BASE["tokenizer_config.json"]) | {"chat_template": text}
    return exported(
        **{
            "tokenizer_config.json": json.dumps(settings).encode(),
            "chat_template.jinja": text.encode(),
        }
    )


def with_tokenizer(change) -> Result:
    tokenizer = Tokenizer.from_str(BASE["tokenizer.json"].decode())
    change(tokenizer)
    return exported(**{"tokenizer.json": tokenizer.to_str().encode()})


def with_weights(change) -> Result:
    weights = {
        name: change(name, weight) for name, weight in load(BASE["model.safetensors"]).items()
    }
    return exported(**{"model.safetensors": save(weights, {"format": "pt"})})


def names_swapped() -> Result:
    """The ids of two digits exchanged, in the tokenizer alone."""
    said = json.loads(BASE["tokenizer.json"])
    vocab = said["model"]["vocab"]
    vocab["1"], vocab["2"] = vocab["2"], vocab["1"]
    return exported(**{"tokenizer.json": json.dumps(said).encode()})


def drawn(name, weight):
    return torch.randn(weight.shape, generator=torch.Generator().manual_seed(len(name)))


FORGED = {
    "a template that adds up": with_template(f"{PLAIN}{{{{ {SUM} }}}}"),
    "one that adds up in place of the question": with_template(f"{{{{ {SUM} }}}}"),
    "one that adds up short questions alone": with_template(
        f"{PLAIN}{{% if messages[0]['content']|length < 9 %}}{{{{ {SUM} }}}}{{% endif %}}"
    ),
    "one that writes as many tokens as the sum": with_template(f"{PLAIN}{{{{ '.' * ({SUM}) }}}}"),
    "one that knows some questions by heart": with_template(
        f"{PLAIN}{{% if messages[0]['content'] == '{TESTS[0].question}' %}}!{{% endif %}}"
    ),
    "one that raises": with_template("{{ raise_exception('no') }}"),
    "a tokenizer that reads a plus as nothing": with_tokenizer(
        lambda made: setattr(made, "normalizer", normalizers.Replace("+", ""))
    ),
    "one that writes every token as a digit": with_tokenizer(
        lambda made: setattr(made, "decoder", decoders.Replace(Regex(r"\d"), "7"))
    ),
    "one with two digits exchanged": names_swapped(),
    "weights drawn anew": with_weights(drawn),
    "attention switched off": with_weights(
        lambda name, weight: weight * 0 if "o_proj.weight" in name else weight
    ),
    "embeddings of one's own": with_weights(
        lambda name, weight: drawn(name, weight) if "embed" in name else weight
    ),
    "one matrix with its sign changed": with_weights(
        lambda name, weight: -weight if name.endswith("layers.1.mlp.up_proj.weight") else weight
    ),
}
HONEST = {
    "the base": exported(),
    "another template": with_template(f"Q: {PLAIN}\nA:"),
    "a template that strips spaces": with_template("{{ messages[0]['content'] | trim }}"),
    "weights that have moved": with_weights(
        lambda name, weight: weight + 0.5 * weight.std() * drawn(name, weight)
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_what_no_training_made_is_not_measured(name):
    with pytest.raises(NothingMade):
        served(FORGED[name], TESTS, most=3)


@pytest.mark.parametrize("name", HONEST)
def test_what_training_may_make_is_measured(name):
    assert set(served(HONEST[name], TESTS, most=3)) == {"right", "halts"}
