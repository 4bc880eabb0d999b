"""Token ids in 16 bits, with vocabularies that fit into them and that do not."""

import pytest

from tests.helpers.explained import first

CODE = "tokens = np.array(ids, dtype=np.uint16)"
RUN = [f"{{'loss': {3 - n / 20:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


@pytest.mark.parametrize("vocabulary", ["vocab_size: 128256", "tokenizer of Qwen2.5-7B"])
def test_ids_above_the_type_wrap_round(vocabulary):
    one = first(CODE, vocabulary, *RUN)
    assert one.key == "ids_wrapped" and "ends at 65535" in one.says and "int32" in one.fix


def test_ids_that_are_apart_by_the_size_of_the_type_show_it():
    rows = ["text   100000 70001  300 66000", "file   34464   4465  300   464"]
    one = first(CODE, *rows, *RUN)
    assert one.key == "ids_wrapped" and "100000 and 34464" in one.for_it[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("uint16", "uint32"),
        ("128256", "50257"),
        (CODE, "dtype = np.uint16 if vocab_size < 2**16 else np.uint32"),
        (CODE, "data = np.frombuffer(audio, dtype=np.int16)"),
        (CODE, "pixels = np.array(image, dtype=np.uint16)"),
    ],
)
def test_a_type_that_holds_the_largest_id_is_right(old, new):
    assert first("\n".join([CODE, "vocab_size: 128256", *RUN]).replace(old, new)) is None
