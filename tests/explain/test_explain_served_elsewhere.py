"""Weights that are right, and served by what reads something beside them in another way."""

import pytest

from tests.helpers.explained import first

TRAINS = [
    f"{{'loss': {1.5 - n / 12:.3f}, 'grad_norm': 0.5, 'epoch': {n / 5}}}" for n in range(1, 6)
]
BEGUN = "config = LoraConfig(r=16, init_lora_weights='olora', target_modules='all-linear')"
SERVED = 'llm.generate(rows, lora_request=LoRARequest("mine", 1, "out/mine"))'
WORSE = "the answers are gibberish there, and fine in peft"
SIZES = ["q_proj: |W| 40.0  |BA| 12.0", "v_proj: |W| 30.0  |BA| 9.9"]


def test_an_adapter_that_took_a_part_of_the_base_is_added_to_the_whole_of_it():
    one = first(BEGUN, *TRAINS, SERVED, WORSE)
    assert one.key == "merged_not_equal" and "begun by olora" in one.says and WORSE in one.for_it[2]
    shown = first(BEGUN, *TRAINS, SERVED, *SIZES)
    assert shown.weight > one.weight and "30% to 33% of |W|" in shown.for_it[2]


def test_the_flag_of_a_yaml_says_it_as_well():
    one = first("pissa_init: true", *TRAINS, "python convert_lora_to_gguf.py out/mine", WORSE)
    assert one.key == "merged_not_equal" and "path_initial_model" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (BEGUN.replace("'olora'", "True"), *TRAINS, SERVED, WORSE),
        (BEGUN.replace("'olora'", "'gaussian'"), *TRAINS, SERVED, WORSE),
        (BEGUN, *TRAINS, WORSE),
        (BEGUN, "save(path_initial_model_for_weight_conversion='init')", *TRAINS, SERVED, WORSE),
        (BEGUN, *TRAINS, "vllm serve out/base_residual --enable-lora", WORSE),
        ("pissa_init: true", "pissa_convert: true", *TRAINS, SERVED, WORSE),
    ],
)
def test_a_plain_or_converted_adapter_is_not_said_to_count_twice(lines):
    one = first(*lines)
    assert one is None or "counts twice" not in one.says


CONFIG = [
    '{"hidden_size": 2048, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},'
]
CONFIG += [' "transformers_version": "5.1.0"}']
READER = "server: transformers==4.56.2, vllm==0.10.1"
BY_LENGTH = [
    "len   here   there",
    *(f"{n}   {9 - n / 4096:.2f}   {9.4 + n / 50:.2f}" for n in (64, 512, 4096)),
]


def test_a_base_that_is_written_where_the_server_does_not_look_is_told_by_the_versions():
    one = first(*CONFIG, READER, "garbage for long prompts")
    assert one.key == "merged_not_equal" and "Transformers 4.56.2" in one.says and one.against
    assert '"rope_theta": 1000000.0' in one.fix and "rope_scaling" not in one.fix
    shown = first(*CONFIG, READER, *BY_LENGTH)
    assert shown.weight > one.weight and "at a length of 64" in shown.for_it[3]


def test_a_scaling_that_is_lost_with_it_is_named():
    lines = ['+ "rope_parameters": {', '+  "factor": 32.0,', '+  "rope_theta": 500000.0,']
    lines += ['+  "rope_type": "llama3"', "+ },", '- "rope_theta": 500000.0,', "transformers 5.2.0"]
    one = first(*lines, "on the server transformers 4.50.0")
    assert "without the llama3 scaling" in one.says and "rope_scaling" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (*CONFIG, READER.replace("4.56.2", "5.1.0")),
        (*CONFIG, READER.replace("0.10.1", "0.13.0")),
        (CONFIG[0].replace("1000000.0", "10000.0"), CONFIG[1], READER),
        (CONFIG[0] + ' "rope_theta": 1000000.0,', '"rope_theta": 1000000.0,', CONFIG[1], READER),
        (
            '{"rope_theta": 1000000.0, "transformers_version": "4.51.0"}',
            READER,
            "transformers 5.1.0",
        ),
        (*CONFIG, "sentence-transformers 4.1.0"),
    ],
)
def test_a_base_that_is_read_or_is_the_default_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or "rope_parameters" not in one.says
