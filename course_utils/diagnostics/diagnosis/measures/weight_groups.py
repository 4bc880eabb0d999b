"""Groups of weights, by what their names hold; the first that fits."""

import re

GROUPS = {
    "LoRA A": re.compile(r"lora_(embedding_)?A"),
    "LoRA B": re.compile(r"lora_(embedding_)?B"),
    "norms": re.compile(r"norm|\bln_|layernorm", re.IGNORECASE),
    "head": re.compile(r"head|score|classifier"),
    "embeddings": re.compile(r"emb|wte|wpe"),
    "attention": re.compile(r"attn|attention|[qkvo]_proj"),
    "mlp": re.compile(r"mlp|ffn|feed_forward|expert|intermediate|\.fc|dense"),
}
