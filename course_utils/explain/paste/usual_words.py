"""Words that many logs have, for all rules that look for them."""

import re

TOTAL_STEPS = re.compile(r"Total (?:optimization )?steps\s*[=:]\s*([\d,]+)")
NO_INPUT_HAS_GRADIENT = re.compile(r"None of the inputs have requires_grad=True")
PADDED_ON_THE_RIGHT = re.compile(
    r"padding_side['\"]?\s*[:=]\s*['\"]?right\b|\bright[- ]?padd\w+", re.IGNORECASE
)
PAD_IS_END = re.compile(r"\bpad_token(?:_id)?\s*=\s*[\w.]*\beos_token(?:_id)?\b")
ASKS_LIKENESS = re.compile(r"cosine_similarity\(|\bcos(?:ine)?(?:_sim\w*)?\(", re.IGNORECASE)
OF_KL = re.compile(r"(?<![a-z])kld?(?![a-z])|kl_|_kl", re.IGNORECASE)
