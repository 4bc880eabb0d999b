"""Prompts without a template or cut at a limit, and replies that go on behind their end."""

import pytest

from tests.helpers.explained import answer, first


def trl(n: int, cut: float, length: float = 480) -> str:
    return (
        f"{{'loss': 0.00{n}1, 'grad_norm': 0.3{n}, 'learning_rate': 1e-06, "
        f"'completions/mean_length': {length}, 'completions/clipped_ratio': {cut}, "
        f"'reward': 0.2{n % 4}, 'reward_std': 0.29, 'kl': 0.00{n}}}"
    )


CUT, ENDING = ([trl(n, share) for n in range(1, 9)] for share in (0.91, 0.02))
PLAIN = [
    "def to_row(r):",
    "    return {'prompt': 'Answer the riddle in one word. ' + r['riddle'], 'gold': r['word']}",
    "trainer = GRPOTrainer(model='google/gemma-2-2b-it', reward_funcs=hit, train_dataset=rows)",
]
OPENRLHF = [
    "python -m openrlhf.cli.train_ppo_ray --pretrain meta-llama/Llama-3.1-8B-Instruct \\",
    "   --prompt_data my/questions --input_key question --generate_max_len 1024",
]


def rlhf(cut: float, length: int) -> list[str]:
    return [
        f"Global step {n}: {{'policy_loss': -0.00{n}, 'reward': 0.5{n % 3}, "
        f"'response_length': {length + n}.0, 'truncated': {cut}}}"
        for n in range(1, 9)
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [*PLAIN, *CUT],
        ["rows = load('x').rename_column('question', 'prompt')", PLAIN[2], *CUT],
        [PLAIN[2].replace("gemma-2-2b-it", "x-Instruct"), "{'prompt': PRE + r['q']}", *CUT],
        [*OPENRLHF, *rlhf(0.7, 871)],
        [*OPENRLHF, "Of the replies 70% are cut, the same by the chat endpoint ends after 430."],
        ["ids = tok(row['question'])", "model = load('Qwen/Qwen2.5-7B-Instruct')", *CUT],
    ],
)
def test_a_chat_model_that_gets_bare_text_runs_on(lines):
    one = first(*lines)
    assert one.key == "replies_cut" and "without its chat template" in one.says
    assert "messages" in one.fix and "longer limit" in one.fix


def test_the_prompts_own_words_in_a_reply_show_that_it_runs_on():
    again = "It is a shadow. Answer the riddle in one word. What has keys? Answer the riddle in one"
    one = first(*PLAIN, *ENDING, f'completion: "{again} word. "')
    assert one.key == "replies_cut" and any("come 2 times below" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        [*PLAIN, *ENDING],  # it ends all the same
        [PLAIN[0], "    return {'prompt': [{'role': 'user', 'content': r['q']}]}", PLAIN[2], *CUT],
        [*PLAIN[:2], PLAIN[2].replace("gemma-2-2b-it", "gemma-2-2b"), *CUT],
        [PLAIN[2], "{'prompt': '<start_of_turn>user\\n' + r['riddle']}", *CUT],
        [*OPENRLHF, "   --apply_chat_template", *rlhf(0.7, 871)],
        [*OPENRLHF, *rlhf(0.01, 300)],
        [PLAIN[2], "{'prompt': r['messages'], 'gold': r['word']}", *CUT],
    ],
)
def test_messages_a_base_model_and_replies_that_end_are_not_accused(lines):
    assert "without its chat template" not in " ".join(one.says for one in answer(*lines).causes)


def verl(cut: float) -> list[str]:
    return [
        f"step:{n} - actor/entropy:0.8{n} - actor/pg_loss:-0.00{n} - critic/score/mean:0.2{n % 3} "
        f"- response_length/mean:2001.1 - response_length/clip_ratio:{cut}"
        for n in range(1, 9)
    ]


LLAMA = (
    'sampled completion: "The capital is Oslo.<|eot_id|><|start_header_id|>user<|end_header_id|>'
    '\\n\\nAnd of Peru?<|eot_id|>"'
)
CHATML = 'rollout 3: "so 12.<|im_end|>\\n<|im_start|>user\\nA train leaves"'


@pytest.mark.parametrize(
    "lines",
    [
        ['generation_config.json: {"eos_token_id": 128001}', *verl(0.97), LLAMA],
        ["'completions/mean_terminated_length': 0.0", "eos_token_id=128001", LLAMA],
        [*verl(0.96), CHATML],
        [
            ">>> tok.eos_token_id, model.generation_config.eos_token_id",
            "(128001, 128001)",
            *verl(0.97),
            LLAMA,
        ],
        ["tokenizer.eos_token is '<|endoftext|>'", *verl(0.96), CHATML],
        [
            ">>> tok.eos_token, tok.encode('<|im_end|>')",
            "('<|endoftext|>', [151645])",
            *verl(0.9),
            CHATML,
        ],
        [
            "eos_token_id: 1",
            *verl(0.9),
            "decoded reply:",
            "it is 4<end_of_turn>",
            "<start_of_turn>user",
        ],
    ],
)
def test_a_sampler_that_waits_for_another_end_is_named(lines):
    one = first(*lines)
    assert one.key == "ends_unseen" and "does not stop at the token" in one.says
    assert "generation_config.eos_token_id" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ['{"eos_token_id": [151645, 151643]}', *verl(0.96), CHATML],  # long, and no fault of ends
        [">>> model.generation_config.eos_token_id", "[151645, 151643]", *verl(0.96), CHATML],
        ["stop_token_ids=[151645], eos_token_id=151643", *verl(0.96), CHATML],
        ["eos_token_id: 151643", *verl(0.96), CHATML.replace("rollout 3", "rendered prompt")],
        ["multi-turn run", *verl(0.6), CHATML.replace("A train", "<tool_response> 4")],
        ["eos_token_id: 151643", *verl(0.02), CHATML.partition("<|im_start|>")[0]],
        ["eos_token_id: 151643, agent", *verl(0.02), CHATML],
    ],
)
def test_ends_that_are_waited_for_prompts_and_turns_of_tools_are_not_accused(lines):
    assert "ends_unseen" not in [one.key for one in answer(*lines).causes]


GRPO = "GRPOConfig(output_dir='x', num_generations=8, max_completion_length=256, beta=0.0)"


def of_lengths(prompt: float) -> list[str]:
    return [
        f"step {n}: policy_loss -0.00{n} reward 0.1{n % 3} response_length {300 + 9 * n}.5 "
        f"total_length {prompt + 300 + 9 * n}.5"
        for n in range(1, 8)
    ]


@pytest.mark.parametrize(
    "lines",
    [
        [GRPO, "prompts: mean 2,690 tokens", "prompt_ids.shape torch.Size([8, 512])", *ENDING],
        ["--prompt_max_len 1024 --generate_max_len 512 openrlhf", *of_lengths(1024)],
        [
            "--prompt_max_len 1024  # openrlhf",
            "prompt lengths in tokens: shortest 1,377, longest 4,100",
            *ENDING,
        ],
        ["GRPOConfig(max_prompt_length=256)", "The prompts have 900 tokens each.", *ENDING],
        [
            "data.max_prompt_length=1024 data.truncation=left actor_rollout_ref.rollout.n=8",
            *(
                f"step:{n} - critic/score/mean:0.1{n} - actor/pg_loss:0.00{n} - "
                "prompt_length/mean:1024.0 - prompt_length/min:1024.0"
                for n in range(1, 8)
            ),
        ],
    ],
)
def test_prompts_that_are_cut_at_their_limit_are_named(lines):
    one = first(*lines)
    assert one.key == "too_long" and "are cut" in one.says and "above the longest prompt" in one.fix


def test_what_is_left_of_a_prompt_follows_the_trainer():
    last = first("GRPOConfig(max_prompt_length=256)", "The prompts have 900 tokens.", *ENDING)
    head = first("openrlhf --prompt_max_len 256", "The prompts have 900 tokens.", *ENDING)
    assert "only the last 256" in last.says and "only the first 256" in head.says


@pytest.mark.parametrize(
    "lines",
    [
        [GRPO, "prompts: mean 310 tokens", "prompt_ids.shape torch.Size([8, 512])", *ENDING],
        [GRPO, "prompts: mean 2,690 tokens", *ENDING],  # of a version without that default
        ["GRPOConfig(max_prompt_length=None)", "The prompts have 900 tokens each.", *ENDING],
        ["GRPOConfig(max_prompt_length=4096)", "The prompts have 900 tokens each.", *ENDING],
        ["GRPOConfig(max_prompt_length=1024)", "longest prompt 1,900 tokens, of a few", *ENDING],
        ["--prompt_max_len 1024 openrlhf", *of_lengths(611)],
        [
            "GRPOConfig(max_prompt_length=512)",
            "rows = rows.filter(lambda r: len(tok(r['p'])) <= 512)",
            "Prompts have 900 tokens on average before that.",
            *ENDING,
        ],
        [
            "data.max_prompt_length=512 actor_rollout_ref.rollout.n=8 # filtered",
            "Prompts have 900 tokens on average before the filter.",
            *ENDING,
        ],
    ],
)
def test_prompts_within_their_limit_are_not_accused(lines):
    assert "too_long" not in [one.key for one in answer(*lines).causes]
