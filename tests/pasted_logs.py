# ruff: noqa: E501
"""Log lines as people pasted them in threads: the numbers and field names, shortened.

Each with what it shows (a key of CAUSES, or None where the log cannot tell) and what else may
stand beside it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pasted:
    thread: str
    text: str
    key: str | None
    healthy: bool = False


LOGS = (
    Pasted(
        "trl#3452",
        """{'loss': 0.0, 'grad_norm': 0.08656957000494003, 'learning_rate': 6.916666666666667e-06, 'completion_length': 232.825, 'rewards/format_reward2': 1.0, 'rewards/hint_reward': 0.7171093255281449, 'reward': 1.7171093285083772, 'reward_std': 0.5700982138514519, 'kl': 0.0005371240986278281, 'epoch': 0.31}
{'loss': 0.0, 'grad_norm': 0.09666649252176285, 'learning_rate': 6.708333333333333e-06, 'completion_length': 237.0375, 'rewards/format_reward2': 1.0, 'rewards/hint_reward': 0.8844376325607299, 'reward': 1.8844376266002656, 'reward_std': 0.7487143039703369, 'kl': 0.0005386197401094251, 'epoch': 0.33}
{'loss': 0.0, 'grad_norm': 0.1058727279305458, 'learning_rate': 6.5000000000000004e-06, 'completion_length': 233.45, 'rewards/format_reward2': 1.0, 'rewards/hint_reward': 0.6797272339463234, 'reward': 1.6797272205352782, 'reward_std': 0.6311022289562971, 'kl': 0.0005338093222235329, 'epoch': 0.35}""",
        "on_policy_zero_loss",
        healthy=True,
    ),
    Pasted(
        "open-r1#239",
        """{'loss': 0.0, 'grad_norm': 0.9503731084601761, 'learning_rate': 5.521811154058532e-07, 'rewards/accuracy_reward': 0.275, 'rewards/format_reward': 0.01875, 'reward': 0.896511122584343, 'reward_std': 0.8323002576828002, 'completion_length': 849.65625, 'kl': 8.575916290283203e-05, 'epoch': 0.0}
{'loss': 0.0, 'grad_norm': 0.4910426002806111, 'learning_rate': 6.626173384870238e-07, 'rewards/accuracy_reward': 0.1625, 'rewards/format_reward': 0.01875, 'reward': 0.7110238954424858, 'reward_std': 0.7402671474218369, 'completion_length': 887.85, 'kl': 0.00010432004928588867, 'epoch': 0.0}""",
        "on_policy_zero_loss",
        healthy=True,
    ),
    Pasted(
        "unsloth#2291",
        """Step | Training Loss | reward | reward_std | completion_length | kl | rewards / match_format_exactly
-- | -- | -- | -- | -- | -- | --
1 | 0.000000 | -17.250000 | 1.500000 | 445.500000 | 0.000000 | 0.000000
2 | -0.000000 | -10.500000 | 1.732051 | 389.250000 | 0.000000 | 0.000000
3 | 0.000000 | 0.000000 | 0.000000 | 452.000000 | 0.000010 | 0.000000
4 | 0.000000 | -18.750000 | 1.500000 | 340.000000 | 0.000028 | 0.000000
8 | 0.000000 | 7.500000 | 2.000000 | 373.250000 | 0.000658 | 0.000000
9 | 0.000100 | -3.000000 | 1.732051 | 318.500000 | 0.001667 | 0.000000
10 | 0.000100 | -11.500000 | 1.732051 | 313.500000 | 0.002300 | 0.000000""",
        "on_policy_zero_loss",
        healthy=True,
    ),
    Pasted(
        "open-r1#704",
        """Step | Training Loss | reward | reward_std | kl | entropy
-- | -- | -- | -- | -- | --
1 | -0.283600 | 13.437500 | 21.810942 | nan | 0
2 | -0.149100 | 6.931818 | 14.526671 | nan | No Log
3 | -0.110500 | 6.250000 | 17.677670 | nan | No Log
4 | -0.014500 | 6.422414 | 12.048451 | nan | No Log""",
        "nan_metric",
    ),
    Pasted(
        "ms-swift#5571",
        "'loss': -0.0, 'grad_norm': 0.0, 'learning_rate': 2.6e-07, 'reward': 0.34375, "
        "'reward_std': 0.4397946, 'frac_reward_zero_std': 0.0, "
        "'rewards/StructureInfoFormatReward/mean': 0.34375, 'completions/mean_length': 357.5, "
        "'completions/clipped_ratio': 0.0, 'kl': 0.0, 'clip_ratio/low_mean': 0.0, 'epoch': 0.0, "
        "'global_step/max_steps': '5/3766', 'percentage': '0.13%', 'memory(GiB)': 56.74}",
        "no_gradient",
    ),
    Pasted(
        "ms-swift#5890",
        """{"loss": -0.0, "grad_norm": 0.0, "learning_rate": 4e-08, "reward": 0.70703125, "reward_std": 0.13127217, "frac_reward_zero_std": 0.515625, "completions/mean_length": 2302.4296875, "completions/clipped_ratio": 0.515625, "kl": 0.0, "clip_ratio/region_mean": 0.0, "epoch": 0.00182815, "global_step/max_steps": "1/547", "percentage": "0.18%"}
{"loss": 0.0, "grad_norm": 0.0, "learning_rate": 7e-08, "reward": 0.76478797, "reward_std": 0.12519339, "frac_reward_zero_std": 0.546875, "completions/mean_length": 2448.7421875, "completions/clipped_ratio": 0.5546875, "kl": 0.0, "clip_ratio/region_mean": 0.0}""",
        "no_gradient",
    ),
    Pasted(
        "trl#3857",
        "{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1.7050844078611056e-06, "
        "'completions/mean_length': 701.8125, 'completions/clipped_ratio': 0.0, "
        "'rewards/if_rewrite_reward/mean': -3.0, 'rewards/if_rewrite_reward/std': 5.080004692077637, "
        "'reward': 3.0, 'reward_std': 0.0, 'frac_reward_zero_std': 1.0, 'epoch': 0.33}",
        "no_signal",
    ),
    Pasted(
        "unsloth#3485",
        "{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 3.0303030303030305e-08, 'num_tokens': "
        "83968.0, 'completions/mean_length': 77.5, 'completions/clipped_ratio': 0.0, 'reward': 4.0, "
        "'reward_std': 0.0, 'frac_reward_zero_std': 1.0, 'completion_length': 81.0, 'kl': 0.0}",
        "no_signal",
    ),
    Pasted(
        "verl#498",
        "step:1 - global_seqlen/min:2780.000 - critic/kl:-0.000 - critic/kl_coeff:0.040 - "
        "critic/vf_loss:nan - critic/vf_clipfrac:0.000 - critic/vpred_mean:nan - "
        "critic/grad_norm:nan - critic/lr:0.000 - actor/entropy_loss:0.442 - actor/pg_loss:-0.013 - "
        "actor/pg_clipfrac:0.000 - actor/ppo_kl:0.000 - actor/grad_norm:9.819 - actor/lr:0.000 - "
        "critic/score/mean:0.594 - critic/score/max:1.000 - critic/advantages/max:3.472 - "
        "response_length/mean:257.125 - response_length/clip_ratio:0.000 - timing_s/gen:10.7",
        "critic_nan",
    ),
    Pasted(
        "trl#1311",
        """15 {'loss': 0.6932, 'learning_rate': 1.3724429223744293e-05, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'rewards/accuracies': 0.0, 'rewards/margins': 0.0, 'logps/rejected': -93.45967864990234, 'logps/chosen': -76.77323150634766, 'epoch': 0.38}
16 {'loss': 0.6932, 'learning_rate': 1.3670776255707763e-05, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'rewards/accuracies': 0.0, 'rewards/margins': 0.0, 'logps/rejected': -96.17804718017578, 'logps/chosen': -74.35616302490234, 'epoch': 0.41}
17 {'loss': 0.6932, 'learning_rate': 1.3617123287671234e-05, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'rewards/accuracies': 0.0, 'rewards/margins': 0.0, 'logps/rejected': -98.59229278564453, 'logps/chosen': -73.85718536376953, 'epoch': 0.45}""",
        "policy_is_reference",
    ),
    Pasted(
        "tiny-llm-zh#15",
        "{'loss': 0.2374, 'grad_norm': 8.8805570602417, 'learning_rate': 2.281007963346787e-05, "
        "'rewards/chosen': -0.2780037522315979, 'rewards/rejected': -7.671709060668945, "
        "'rewards/accuracies': 0.8824999928474426, 'rewards/margins': 7.393705368041992, "
        "'logps/rejected': -444.18621826171875, 'logps/chosen': -319.5079345703125, 'epoch': 0.01}",
        None,
    ),
    Pasted(
        "LLaMA-Factory#2810",
        """[INFO|trainer.py:1820] 2024-03-12 11:24:23,876 >>   Total optimization steps = 1,548
03/12/2024 11:24:33 - INFO - llmtuner.extras.callbacks - {'loss': 0.0000, 'learning_rate': 4.9999e-02, 'epoch': 0.01}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.04999871292419044, 'epoch': 0.01}
03/12/2024 11:24:42 - INFO - llmtuner.extras.callbacks - {'loss': 0.0000, 'learning_rate': 4.9995e-02, 'epoch': 0.02}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.04999485182928687, 'epoch': 0.02}""",
        "nan_shown_as_zero",
    ),
    Pasted("LLaMA-Factory#7263", "'loss': 0.000, 'grad_norm': nan", "nan_shown_as_zero"),
    Pasted(
        "ChatGLM-Efficient-Tuning#49",
        """{'loss': 0.3290, 'reward': -2.0304, 'learning_rate': 5e-05}
  0%|        | 1/13000 [00:10<36:34:36, 10.13s/it]{'loss': nan, 'reward': 5.7646, 'learning_rate': 5e-05}
  0%|        | 2/13000 [00:28<54:33:11, 15.11s/it{'loss': 0.2527, 'reward': 1.2237, 'learning_rate': 5e-05}
  0%|        | 3/13000 [00:39<47:01:51, 13.03s/it]{'loss': 0.1512, 'reward': 10.7681, 'learning_rate': 5e-05}""",
        "nan_now_and_then",
    ),
    Pasted(
        "insightface#2262",
        """Training: 2023-03-14 09:08:43,293-Speed 2178.40 samples/sec   Loss nan   LearningRate 0.001000   Epoch: 0   Global Step: 20   Fp16 Grad Scale:  0   Required: 194 hours
Training: 2023-03-14 09:08:47,984-Speed 2183.37 samples/sec   Loss nan   LearningRate 0.001000   Epoch: 0   Global Step: 30   Fp16 Grad Scale:  0   Required: 144 hours""",
        "fp16_overflow",
    ),
    Pasted(
        "fairseq#515",
        """| WARNING: overflow detected, setting loss scale to: 0.0625
| epoch 001:    200 / 1374 loss=14.351, ppl=20899.56, wps=49604, ups=0, lr=4.84525e-06, gnorm=3.901, clip=0.000, oom=0.000, loss_scale=0.062, wall=1061
| epoch 001:    300 / 1374 loss=13.689, ppl=13208.82, wps=51846, ups=0, lr=7.34275e-06, gnorm=3.057, clip=0.000, oom=0.000, loss_scale=0.062, wall=1551
| WARNING: overflow detected, setting loss scale to: 0.03125
| epoch 001:    400 / 1374 loss=13.137, ppl=9007.95, wps=52932, ups=0, lr=9.81528e-06, gnorm=2.587, clip=0.000, oom=0.000, loss_scale=0.031, wall=2038""",
        "scaler_search",
        healthy=True,
    ),
    Pasted(
        "axolotl#3196",
        """{'loss': 4.75, 'grad_norm': 98.5, 'learning_rate': 5e-06, 'memory/max_mem_active(gib)': 25.45, 'epoch': 1.0}
{'loss': 2.0312, 'grad_norm': 59.5, 'learning_rate': 4.956766880907269e-06, 'epoch': 2.0}
{'loss': 0.8984, 'grad_norm': 45.0, 'learning_rate': 4.828728948150395e-06, 'epoch': 3.0}
{'loss': 0.4102, 'grad_norm': 19.625, 'learning_rate': 4.620806627680728e-06, 'epoch': 4.0}
{'loss': 0.2031, 'grad_norm': 11.8125, 'learning_rate': 4.340990257669732e-06, 'epoch': 5.0}
{'loss': 0.0889, 'grad_norm': 7.3125, 'learning_rate': 4.0e-06, 'epoch': 6.0}""",
        "improves",
        healthy=True,
    ),
    Pasted(
        "transformers#35207",
        """{'loss': 10.5949, 'grad_norm': 188.29049682617188, 'learning_rate': 4.5833333333333334e-05, 'epoch': 0.25}
{'loss': 8.2312, 'grad_norm': 87.74673461914062, 'learning_rate': 4.166666666666667e-05, 'epoch': 0.5}
{'loss': 7.8988, 'grad_norm': 74.35655212402344, 'learning_rate': 3.7500000000000003e-05, 'epoch': 0.75}
{'loss': 8.0197, 'grad_norm': 52.913124084472656, 'learning_rate': 3.3333333333333335e-05, 'epoch': 1.0}
{'loss': 6.0704, 'grad_norm': 51.57878875732422, 'learning_rate': 2.916666666666667e-05, 'epoch': 1.25}
{'loss': 5.8247, 'grad_norm': 56.05608367919922, 'learning_rate': 2.5e-05, 'epoch': 1.5}""",
        "improves",
        healthy=True,
    ),
    Pasted(
        "Awesome-ML-SYS-Tutorial#106",
        "(TaskRunner pid=87031) step:83 - global_seqlen/min:340538.000 - actor/entropy_loss:0.317 - "
        "actor/kl_loss:0.024 - actor/kl_coef:0.001 - actor/pg_loss:0.000 - actor/pg_clipfrac:0.000 - "
        "actor/ppo_kl:0.000 - actor/grad_norm:0.006 - actor/lr:0.000 - training/global_step:83.000 - "
        "critic/score/mean:0.906 - critic/score/max:1.000 - critic/rewards/mean:0.906 - "
        "critic/advantages/max:0.000 - response_length/mean:330.437 - response_length/clip_ratio:0.004",
        "no_signal",
    ),
)
