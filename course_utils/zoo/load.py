"""Loads a model or its tokenizer by name: the shipped ones, a local folder, or any hub id.

The only difference to plain Transformers: a hub that does not answer is noticed in one request
instead of after a minute of retries, and whatever goes wrong is one `ModelUnavailable`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.errors import BadRequest, ModelUnavailable
from course_utils.shown.quiet import quiet_trainers

# torch, transformers and huggingface_hub take seconds to import, and `course_utils.zoo` must not:
# they are imported inside the functions.
if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = {"tiny": "tiny-qwen2", "tiny-qwen2": "tiny-qwen2", "tiny-gemma3": "tiny-gemma3"}
HUB_TIMEOUT_S = 10


def pick_device(device: str = "auto") -> "torch.device":
    """Turn the lesson's DEVICE into a device; "auto" is CUDA where there is one, else the CPU.

    Raises:
        BadRequest: torch does not know the device, or this machine has none of that kind.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises AssertionError
        raise BadRequest(
            f"device {device!r} cannot be used: {str(error).splitlines()[0]}",
            why="the model and its batches have to live on a device that this machine has",
            fix='use DEVICE="auto"',
        ) from error
    return torch.device(device)


def load_policy(
    model: str, *, device: str = "auto", dtype: "str | torch.dtype" = "float32"
) -> "PreTrainedModel":
    """Load a causal language model, ready for GRPOTrainer, DPOTrainer or `generate`.

    Args:
        model: "tiny", "tiny-qwen2", "tiny-gemma3", a local folder or a hub id.
        device: "auto", "cpu", "cuda", ...
        dtype: the format of the weights as torch names it, or "auto" for the checkpoint's own.

    Raises:
        ModelUnavailable: there is no such model, or the hub cannot be reached.
        BadRequest: a device or a dtype that does not exist.

    >>> load_policy("tiny", device="cpu", dtype="bfloat16").dtype
    torch.bfloat16
    """
    from transformers import AutoModelForCausalLM

    quiet_trainers()
    device = pick_device(device)
    with _one_clear_error(model):
        source = _find(model)
        return AutoModelForCausalLM.from_pretrained(source, dtype=_known_dtype(dtype)).to(device)


def load_reward_model(
    model: str, *, device: str = "auto", dtype: "str | torch.dtype" = "float32", seed: int = 0
) -> "PreTrainedModel":
    """Load a body with a new one-label `score` head, ready for RewardTrainer.

    The head depends on `seed` alone: torch's global random state is neither used nor changed.
    Arguments and errors are those of `load_policy`.

    >>> reward_model = load_reward_model("tiny", device="cpu")
    >>> reward_model.score.weight.shape
    torch.Size([1, 128])
    """
    import torch
    from transformers import AutoModelForSequenceClassification

    quiet_trainers()
    device = pick_device(device)
    with _one_clear_error(model), torch.random.fork_rng():
        source = _find(model)
        torch.manual_seed(seed)
        loaded = AutoModelForSequenceClassification.from_pretrained(
            source, num_labels=1, dtype=_known_dtype(dtype)
        )
    # Without it the classifier refuses batches, and many hub checkpoints do not set it.
    config = loaded.config.get_text_config()
    if config.pad_token_id is None:
        config.pad_token_id = load_tokenizer(model).pad_token_id
    return loaded.to(device)


def load_tokenizer(model: str) -> "PreTrainedTokenizerBase":
    """Load the tokenizer of a model, set to pad on the left and never without a pad token.

    Raises:
        ModelUnavailable: there is no such model, or the hub cannot be reached.

    >>> load_tokenizer("tiny").decode([0, 0, 0, 0])
    '!!!!'
    """
    from transformers import AutoTokenizer

    with _one_clear_error(model):
        tokenizer = AutoTokenizer.from_pretrained(_find(model), padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def name_of_dtype(dtype: "str | torch.dtype") -> str:
    """The name of a format that is given as torch's dtype or by its name.

    >>> import torch
    >>> name_of_dtype(torch.bfloat16), name_of_dtype("float32")
    ('bfloat16', 'float32')
    """
    return str(dtype).removeprefix("torch.")


def _known_dtype(dtype: "str | torch.dtype") -> str:
    import torch

    dtype = name_of_dtype(dtype)
    if dtype == "auto" or isinstance(getattr(torch, dtype, None), torch.dtype):
        return dtype
    raise BadRequest(
        f"dtype {dtype!r} does not exist",
        why="weights are stored in a float format that torch knows",
        fix='use "float32", "bfloat16" or "float16"',
    )


def _find(model: str) -> str:
    """Return the folder of a shipped, local or cached model, or the id of one that the hub has."""
    from huggingface_hub import model_info, try_to_load_from_cache

    if model in SHIPPED:
        return str(WEIGHTS / SHIPPED[model])
    if Path(model).is_dir():
        return model
    try:
        model_info(model, timeout=HUB_TIMEOUT_S)
    except Exception:
        # Offline, a copy from an earlier day does; its folder loads without asking the hub again.
        cached = try_to_load_from_cache(model, "config.json")
        if isinstance(cached, str):
            return str(Path(cached).parent)
        raise
    return model


@contextmanager
def _one_clear_error(model: str) -> Iterator[None]:
    """Turn errors of Transformers, the hub and safetensors into one ModelUnavailable."""
    from huggingface_hub.errors import HFValidationError, HTTPError, RepositoryNotFoundError
    from safetensors import SafetensorError

    shipped = ", ".join(f'"{name}"' for name in SHIPPED)
    try:
        yield
    except (HFValidationError, RepositoryNotFoundError) as error:
        raise ModelUnavailable(
            f"there is no model {model!r}",
            why="it is not one of the course, not a folder here, and the hub has none of that name "
            "(or it is private or gated, and you are not logged in)",
            fix=f"use {shipped}, the path of a folder, or an id from huggingface.co/models",
        ) from error
    except (HTTPError, ConnectionError) as error:
        raise ModelUnavailable(
            f"the hub did not give {model!r}: {_first_line(error)}",
            why="this model is neither part of the course nor in the cache of this machine",
            fix=f"use MODEL={shipped}, or try again with a connection (and HF_HUB_OFFLINE unset)",
        ) from error
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelUnavailable(
            f"{model!r} cannot be loaded: {_first_line(error)}",
            why="a model is a folder or repository with a config.json and safetensors weights",
            fix=f"check its files, or use {shipped}",
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
