"""The claims that articles make about each failure. Judges nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A claim as its authors made it, the thread or page where, and whether readers vote on it."""

    says: str
    source: str = ""
    voted: bool = True


# Ids and order are those of the fact-check; the wording is the article's, shortened.
_CLAIMS: dict[str, tuple[str | Claim, ...]] = {
    "reward": (
        Claim("SEQ_CLS with LoRA logs 1.19e34, grad_norm nan, then 0", "trl#2367"),
        "torch_dtype half loses precision in the gradient computation",
        "the default LoRA task type does not fit; it must be set to SEQ_CLS",
        "32 accumulation steps amplify the precision problem",
        Claim("fix: torch_dtype auto", "trl#2367"),
        Claim("fix: --lora_task_type SEQ_CLS", voted=False),
        "watch loss and gradient norm early",
        Claim("start with a small batch and few accumulation steps", voted=False),
        Claim("consider mixed precision (AMP)", voted=False),
        Claim("LoRA needs a smaller learning rate than full fine-tuning", voted=False),
        "float16 overflows beyond 65504 during accumulation; the softmax amplifies it",
        "SEQ_CLS puts LoRA matrices into the classification weights",
        Claim("in float16, Adam's default eps does not prevent a division by 0", "pytorch#147437"),
        Claim("fix: set Adam's eps to 1e-4", "pytorch#8860"),
    ),
    "sigfpe": (
        Claim("the detailed configuration dies of SIGFPE, the short one runs", "trl#2906"),
        Claim(
            "setting: torch 2.5.1+cu121, TRL 0.14.0, one H20, bf16",
            "trl#2906",
            voted=False,
        ),
        "the combination of parameters is numerically unstable in bf16",
        "4 accumulation steps overflow while gradients are added up",
        Claim("lr 5e-6 with warmup 0.1 and cosine computes an abnormal learning rate", voted=False),
        "max_grad_norm 0.1 is too strict and breaks the clipped gradient",
        "fix: simplify, then add parameters back one at a time",
        Claim("check value ranges in bf16", voted=False),
        Claim("monitor gradients early", voted=False),
        Claim("5e-6 may be too small for a 0.5B model; start at 1e-5 to 5e-5", voted=False),
        Claim("do not accumulate too many steps", voted=False),
        Claim("watch loss and gradients in bf16", voted=False),
        Claim("relax max_grad_norm to 1.0", voted=False),
        "fix: use the default betas (0.9, 0.999), which are safe",
        "it is RL's sensitivity to parameters",
        Claim("fix: pip install nvidia-cublas-cu12==12.4.5.8", "lmdeploy#3342"),
        Claim("the H20's support for bf16 is at fault", "diffusers#11241"),
        Claim("fix: put a newer cuBLAS on LD_LIBRARY_PATH", "LlamaFactory#2750"),
    ),
    "gradfn": (
        "the error means that parameters were not set trainable",
        "setting: LoRA, bf16, gradient checkpointing, DeepSpeed ZeRO, batch 16, 8 generations",
        Claim("only tensors with requires_grad=True take part in the graph", voted=False),
        Claim("PEFT freezes the base; only the adapters train", voted=False),
        "the path from the loss to the trainable parameters must be complete",
        "bf16 gradients need special care",
        Claim("fix: enable_input_require_grads() before get_peft_model", "trl#3150"),
        Claim(
            "fix: gradient_checkpointing=False, it may be incompatible with LoRA",
            "trl#3150",
            voted=False,
        ),
        "check that parameters are trainable",
        "check that the loss has a gradient after the forward pass",
        Claim("debug on a small batch first", voted=False),
        Claim("check that the TRL, PEFT and PyTorch versions fit", "trl#3089"),
        Claim("mind the numerical stability of bf16", voted=False),
        Claim("(the article does not say) fix: use_reentrant=False", voted=False),
    ),
    "gemma": (
        Claim(
            "float32 trains; float16 logs loss 0, grad_norm 0, reward nan", "trl#3236", voted=False
        ),
        "float16 cannot hold the parameter updates, above all with a sensitive loss such as DPO's",
        Claim("bfloat16 has 8 exponent bits, float16 has 5: it reaches 3.39e38", voted=False),
        "bfloat16 has 7 mantissa bits, float16 has 10: here range matters more than precision",
        "modern devices run bfloat16 natively, as fast as float16",
        "recipe: bf16=True, gradient checkpointing, fused AdamW, max_grad_norm 1.0",
        "check the range of each layer's output at the start",
        Claim("watch the distribution of the updates", voted=False),
        Claim("raise LoRA's alpha from 32 to 64", voted=False),
        "consider gradient scaling",
        "attention's dot products give the large values",
        Claim("layer norm amplifies the error", "transformers#37226"),
        Claim("the exponentials of the reward model are sensitive", voted=False),
        Claim("the updates of the policy gradient accumulate all of it", voted=False),
        "one link out of range and the whole computation collapses; bfloat16 is the buffer",
    ),
    "verl": (
        Claim("the completions become !!!! and kl_loss is nan", "verl#721"),
        "the root is old_log_prob turning nan",
        "it is sudden: the step before is normal",
        Claim("it happens at any step, without a pattern", voted=False),
        Claim("several data sets; REINFORCE++ too", "verl#721", voted=False),
        "probabilities overflow or underflow",
        Claim("a gradient explosion", "verl#1779"),
        Claim("improper initialisation or updates", voted=False),
        "fix: use_kl_loss=False",
        "fix: kl_loss_coef=0.001",
        Claim("fix: kl_loss_type=low_var_kl", voted=False),
        Claim("the right name is kl_coef, not kl_loss_coef", voted=False),
        Claim("check that gradients are clipped", voted=False),
        Claim("put a clip into the probability computation", "verl#751"),
        Claim("check the initialisation", voted=False),
        Claim("re-examine the KL loss", "verl#751"),
        Claim("no root fix exists", voted=False),
    ),
    "stop": (
        Claim("pad == eos keeps the model from learning to stop", "trl#976"),
        "so never set pad_token = eos_token",
        Claim("pad == eos makes it converge 12 to 15 % faster", voted=False),
        Claim("fix: append the eos token to the text", "trl#734"),
        "fix: add a [PAD] token and resize the embeddings",
        "fix: use bos or unk as the pad token",
        Claim("fix: pad on the right in training", "llm-course#33"),
        Claim("fix: train longer, it is still learning", "unsloth#419"),
        Claim(
            "fix: lower max_new_tokens, or add a stop string or a repetition penalty", voted=False
        ),
        Claim("instruct models are immune", voted=False),
        "a falling loss shows that it learns",
        Claim("a batch whose labels are all -100 has the loss 0.0 (or nan)", voted=False),
        Claim("TRL logs loss 0.0 on a batch that is wholly masked", "trl#6668"),
        Claim("between packed rows the eos token is signal enough", "trl#805", voted=False),
        Claim("packing without leaks needs FlashAttention", "trl#1235", voted=False),
        Claim("with pad == eos, a reward model's score depends on the batch", voted=False),
    ),
    "batch": (
        Claim(
            "accumulating gradients is mathematically the full batch",
            "the blog post gradient_accumulation of Hugging Face",
        ),
        Claim("naive accumulation makes the loss G times too large", "unsloth.ai/blog/gradient"),
        Claim(
            "naive accumulation makes the loss higher than it should be",
            "unsloth.ai/blog/gradient",
            voted=False,
        ),
        Claim("the difference is float error of the summation", "trl#2175"),
        Claim("the more the lengths differ, the larger the error", voted=False),
        Claim("the fix in transformers 4.46 closed it", "transformers#34191"),
        Claim("accept **kwargs in compute_loss and you are fine", "transformers#34198"),
        Claim("equal lengths, or padding to one length, are safe", voted=False),
        Claim("packing avoids it", voted=False),
        Claim("with Adam the scale of the loss does not matter", "nanoGPT#168"),
        Claim("DDP averages, so each rank divides by its own count", voted=False),
        Claim(
            "average_tokens_across_devices fixes custom losses, too",
            "the setting: transformers#39392",
        ),
        Claim("GRPO's 1/length makes replies longer", "arXiv 2503.20783", voted=False),
        Claim("with 1/length replies grow even under a neutral reward", voted=False),
        Claim("DAPO's token mean has no length bias", voted=False),
        Claim(
            "accelerate steps the scheduler N times on N GPUs: a bug",
            "accelerate#2926",
            voted=False,
        ),
        Claim(
            "dividing by the tokens of all micro-batches of a step makes the split irrelevant",
            "the blog post gradient_accumulation of Hugging Face",
        ),
        Claim("the same error is made between GPUs", "transformers#34242"),
    ),
    "rise": (
        Claim("the reward went up, so the model got better", "the belief that rllm#143 met"),
        Claim(
            "a hack shows as a sudden jump of the reward",
            "kargichauhan.github.io/reward-hacking.html",
        ),
        Claim("GRPO's loss is 0, so nothing is learned", "trl#3452", voted=False),
        Claim("GRPO's loss starts at 0 and is beta times the KL", "trl#2703"),
        Claim("reward_std is not 0, so there is signal", voted=False),
        Claim("frac_reward_zero_std tells dead runs from living ones", voted=False),
        Claim("a constant reward cannot change the weights", voted=False),
        Claim("fix: a KL penalty prevents reward hacking", "flow_grpo#23"),
        Claim("fix: a smaller learning rate, or stop early", "flow_grpo#204"),
        Claim("an entropy collapse announces the failure", voted=False),
        Claim("hacked completions get longer", voted=False),
        Claim("dividing by a tiny std makes the advantage explode", "NeMo-RL#4161"),
        Claim("fix: always mask truncated completions", voted=False),
        Claim("a format reward must be small to be safe", voted=False),
        Claim("a stricter verifier is a safer verifier", voted=False),
        Claim("RL only makes more likely what the policy samples already", "arXiv 2504.13837"),
        Claim("without a KL penalty the reward rises faster", "flow_grpo#23"),
    ),
    "logp": (
        Claim("the same weights give the same probabilities, so the ratio is 1", "NeMo-Aligner#68"),
        Claim("bf16 alone breaks RL", "arXiv 2510.26788", voted=False),
        Claim("fp16 on both sides removes the mismatch", "arXiv 2510.26788"),
        Claim("the larger the difference, the worse the run", voted=False),
        Claim("the ratio of a reply is exp(mean difference x length)", "trl#4772"),
        Claim("top_p shifts every token's log-prob by the same -log p", "trl#6789"),
        Claim("token-level truncated importance sampling removes the bias", "verl#2953"),
        Claim("fix: recompute the old log-probs with the trainer", "verl#576"),
        Claim("loss 0 and clip ratio 0 mean that nothing is learned", voted=False),
        Claim("a small or negative KL means that the policies agree", voted=False),
        Claim(
            "k3 is unbiased, so it is the right penalty for the loss",
            "arXiv 2402.03300",
        ),
        Claim("wrong position ids under left padding bias the log-probs", "OpenRLHF#217"),
    ),
    "adapter": (
        Claim("q_proj to down_proj, seven names, adapt every linear layer", "vllm#47088"),
        Claim("PEFT would warn if an adapter missed the experts", "unsloth#6936"),
        Claim("a healthy share of trainable weights shows that the experts train", voted=False),
        Claim("target_modules=all-linear is the safe choice", "PEFT's guide to LoRA", voted=False),
        Claim("LoRA on the router is harmful", "ms-swift#5512", voted=False),
        Claim("the adapter reloads exactly, so its merge is exact", "peft#2864"),
        Claim("fix: ensure_weight_tying=True, for an adapter on a tied head", "peft#2803"),
        Claim(
            "modules_to_save on tied weights breaks at reload", "LlamaFactory#10832", voted=False
        ),
        Claim(
            "4 bits are too coarse for the change that an adapter makes", "mlx-tune#15", voted=False
        ),
        Claim(
            "fix: merge into the dequantised 4-bit base, not into the original",
            "qlora#254",
            voted=False,
        ),
        Claim("loaded without a warning, so it is used", "Automodel#1755", voted=False),
        Claim("lora_alpha in the file matters for training only", "verl#5325", voted=False),
        Claim("the adapter's file names the base that it belongs to", "ms-swift#8047", voted=False),
        Claim("a good score at the end proves a right resume", "lerobot#3459", voted=False),
        Claim("the reward head is saved with the adapter", "trl#1379", voted=False),
        Claim("a run looks healthy while every expert is frozen", "unsloth#6936"),
        Claim("an adapter on a tied lm_head is merged into the embedding, too", "peft#2018"),
        Claim("with other names in its file, an adapter loads and does nothing", "vllm#34186"),
        Claim("merged in bf16, a model is not the one with its adapter", "MiniCPM-V#502"),
    ),
}
CLAIMS: dict[str, tuple[Claim, ...]] = {
    topic: tuple(one if isinstance(one, Claim) else Claim(one) for one in claims)
    for topic, claims in _CLAIMS.items()
}
