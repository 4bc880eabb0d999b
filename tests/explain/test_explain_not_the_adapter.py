"""What is served or saved is not the adapter that was trained."""

import pytest

from tests.helpers.explained import first

LOSSES = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


SERVE = "vllm serve org/base-8b --enable-lora --lora-modules tuned=/a/tuned"


@pytest.mark.parametrize(
    "lines",
    [
        [SERVE, "Received request 1: prompt: 'hi', lora_request: None"],
        [SERVE, """curl localhost:8000/v1/chat/completions -d '{"model": "org/base-8b"}'"""],
        [SERVE, "lm_eval --model local-chat-completions --model_args model=org/base-8b,base_url=x"],
        ["llm = LLM('org/base-8b', enable_lora=True)", "outs = llm.generate(prompts, sp)"],
        [
            "python -m sglang.launch_server --model-path org/base-8b --lora-paths tuned=/a/tuned",
            "client.chat.completions.create(model='org/base-8b', messages=m)",
        ],
    ],
)
def test_requests_that_do_not_name_the_adapter_get_the_base(lines):
    one = first(*LOSSES, *lines, "accuracy 0.412, base 0.411")
    assert one.key == "adapter_not_loaded" and "do not name it" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        [SERVE, "Received request 1: prompt: 'hi', lora_request: LoRARequest(lora_name='tuned')"],
        [SERVE, """curl localhost:8000/v1/chat/completions -d '{"model": "tuned"}'"""],
        ["vllm serve /merged --dtype bfloat16", "Received request 1: lora_request: None"],
        [
            "llm = LLM('org/base-8b', enable_lora=True)",
            "outs = llm.generate(prompts, sp, lora_request=LoRARequest('tuned', 1, path))",
        ],
        [
            SERVE,
            """curl x/v1/completions -d '{"model": "org/base-8b"}'   # the base beside it""",
            """curl x/v1/completions -d '{"model": "tuned"}'""",
        ],
    ],
)
def test_an_adapter_that_is_named_or_merged_is_not_accused(lines):
    assert first(*LOSSES, *lines, "accuracy 0.612, base 0.411") is None


NORMS = [
    "load_file('out/adapter_model.safetensors')",
    "layers.0.q_proj.lora_A.weight norm 2.31",
    "layers.0.q_proj.lora_B.weight norm 0.0000",
    "layers.1.q_proj.lora_B.weight norm 0.0000",
]


def test_a_saved_adapter_of_zeros_behind_a_run_that_learns_is_not_what_was_trained():
    one = first(*LOSSES, *NORMS)
    assert one.key == "adapter_not_loaded" and "holds nothing" in one.says
    trained = [line.replace("0.0000", "0.4121") for line in NORMS]
    assert first(*LOSSES, *trained) is None
    assert first(*LOSSES[:1], *NORMS) is None


def test_the_time_of_the_file_tells_that_it_was_written_before_the_first_step():
    steps = [f"[2026-02-03 1{n}:10:00] step {n}00/400 loss={2 - n / 4:.2f}" for n in range(1, 5)]
    file = "-rw-r--r-- 1 u u 83945296 2026-02-03 {} adapter_model.safetensors"
    assert "before the first step" in first(*steps, file.format("10:58"), *NORMS).says
    one = first(*steps, file.format("14:31"), *NORMS)
    assert one is None or "before the first step" not in one.says


TOWER = "trainable: model.vision_tower.layers.3.attn.q_proj.lora_A.default.weight"
ZEROS = [f"{{'loss': 1.9{n % 2}, 'grad_norm': 0.0, 'epoch': 0.{n}}}" for n in range(1, 7)]


def test_an_adapter_of_the_images_alone_gets_no_gradient_from_text():
    one = first(TOWER, "rows without images (text-only mix)", *ZEROS)
    assert one.key == "no_gradient" and "tower of the images" in one.says
    other = TOWER.replace("vision_tower", "language_model")
    for lines in ([TOWER, other, "text-only"], [TOWER, "rows with images: 900 / 900"]):
        assert "tower of the images" not in first(*lines, *ZEROS).says
