"""Adapters, embeddings and checkpoints: what was loaded, saved and merged."""

from course_utils.causes.cause import WARNED, WEAK, Cause, Phrase
from course_utils.causes.harms import ENDED, LESS, SERVING, SOUND

WEIGHTS = (
    Cause(
        "merged_not_equal",
        "the merged or reloaded model is not the one that was trained",
        "merge in the format of the base, not in 4 bits; load with the same base and key names",
        "the logits of one batch in both",
        lesson="09_two_logprobs",
        met="merge",
        instrument="compare_models",
        thread="peft#2321",
        kinds=("adapter",),
        where=SERVING,
        harm=SOUND,
        phrases=(Phrase(r"Merge lora module to \d-bit linear may get different", WEAK),),
        complaints=(("worse once merged", 1), ("gibberish when served", 2)),
    ),
    Cause(
        "adapter_not_loaded",
        "what was saved has none of the names that the model expects, or nothing was learnt in it",
        "save with the library that loads it; look at the keys that were missing",
        "the key names of the file against those of the model",
        lesson="06_grad_fn",
        met="from_pretrained",
        instrument="compare_models",
        thread="peft#1043",
        kinds=("adapter",),
        where=SERVING,
        harm=SOUND,
        phrases=(
            Phrase(r"Found missing adapter keys"),
            Phrase(r"(lora_[AB]|modules_to_save)\S* *\| *(MISSING|UNEXPECTED)"),
            Phrase(r"were not used when.{0,120}(base_model\.model\.|lora_[AB])"),
        ),
        complaints=(("worse once merged", 2), ("as the base model", 1)),
    ),
    Cause(
        "adapter_twice",
        "an adapter is put on a model that has one already: which of them trains, and "
        "which is saved, is not what it seems",
        "give the trainer either a PeftModel or a peft_config, or merge the first adapter before",
        "model.active_adapters, and the names in the saved file",
        instrument="audit_gradients",
        thread="trl#3926",
        kinds=("adapter",),
        phrases=(Phrase(r"Already found a `peft_config` attribute in the model", WEAK),),
    ),
    Cause(
        "targets_missing",
        "the adapter names modules that this model does not have",
        "target_modules='all-linear', or the names that model.named_modules() prints",
        "the names of the linear layers",
        instrument="audit_gradients",
        kinds=("adapter",),
        phrases=(
            Phrase(r"were set but no module was matched"),
            Phrase(r"Target modules .{0,200} not found in the base model"),
        ),
    ),
    Cause(
        "purely_quantized",
        "quantized weights cannot be trained by themselves: there is no adapter on them",
        "add one with peft_config or get_peft_model",
        "whether the trainer was given an adapter",
        instrument="audit_gradients",
        phrases=(
            Phrase(r"model you want to train is loaded in \d-bit precision"),
            Phrase(r"cannot perform fine-tuning on purely quantized models"),
        ),
    ),
    Cause(
        "shapes_differ",
        "the checkpoint and the model have weights of other shapes: another vocabulary "
        "size, another rank, or weights that ZeRO-3 has sharded to nothing",
        "resize_token_embeddings to the checkpoint's rows before loading, or load its own base",
        "the two shapes in the message",
        instrument="compare_models",
        thread="LlamaFactory#8046",
        kinds=("adapter",),
        phrases=(
            Phrase(r"size mismatch for \S+: copying a param with shape.{0,160}"),
            Phrase(r"Error\(s\) in loading state_dict for .{0,80}", WARNED),
            Phrase(r"Trying to set a tensor of shape .{0,160}which has shape.{0,40}"),
        ),
    ),
    Cause(
        "head_is_new",
        "these weights are not in the checkpoint and were drawn at random: as it "
        "should be before a classifier or reward model is trained, wrong when a "
        "trained one is loaded",
        "for a trained one, modules_to_save=['score'] when training, and load the adapter after",
        "whether the same input gives the same score in two runs",
        instrument="compare_models",
        thread="peft#2367",
        phrases=(Phrase(r"newly initialized:? \[[^\]]{0,120}", WEAK),),
    ),
    Cause(
        "guesses",
        "the loss stands where a guess among all tokens stands: the model knows "
        "nothing, so its weights were not loaded or are broken",
        "load the weights again and look for names that were missing; only a model "
        "that is trained from scratch begins here",
        "the loss of the untrained model on one row",
        instrument="compare_models",
    ),
    Cause(
        "tie_broken",
        "input and output embedding are meant to be one tensor and are two: one of "
        "them is not trained or not saved",
        "train both (modules_to_save), or tie them again before saving",
        "whether lm_head and embed_tokens share memory",
        instrument="audit_gradients",
        thread="peft#1750",
        kinds=("embeddings",),
        harm=LESS,
        raises_first_loss=True,
        speaks_of=frozenset({"ids", "tied embeddings", "trainable"}),
        phrases=(Phrase(r"Input and output embeddings are no longer tied", WARNED),),
        complaints=(("new tokens unseen", 2),),
    ),
    Cause(
        "new_tokens_untrained",
        "tokens were added and the rows of the embedding that stand for them are not trained",
        "modules_to_save=['embed_tokens', 'lm_head'], or trainable_token_indices",
        "the rows of the new tokens before and after a step",
        instrument="audit_gradients",
        thread="LLaMA-Factory#6446",
        kinds=("embeddings",),
        harm=LESS,
        speaks_of=frozenset({"ids", "tied embeddings", "trainable"}),
        one_fix="modules_to_save=['embed_tokens', 'lm_head'] in LoraConfig",
        phrases=(
            Phrase(r"may not learn to generate outputs with these new", WARNED),
            Phrase(r"added new tokens to the tokenizer, but 'lm_head' is not", WARNED),
        ),
        complaints=(("new tokens unseen", 1),),
    ),
    Cause(
        "index_outside",
        "an index is outside its table: a token id beyond the vocabulary, or a label",
        "compare the largest id with the number of rows of the embedding",
        "run the batch on the CPU, where the line is named",
        instrument="watch",
        kinds=("embeddings",),
        harm=ENDED,
        names=("id out of range", "label out of range"),
        phrases=(
            Phrase(r"index out of range in self|indexSelect.*Assertion|srcIndex <"),
            Phrase(r"device-side assert triggered|Target -?\d+ is out of bounds"),
        ),
    ),
    Cause(
        "sharded_weight",
        "ZeRO-3 keeps only a shard of this weight here, and it is used as if it were whole",
        "deepspeed.zero.GatheredParameters around its use, or ZeRO-2",
        "the shape of the weight on this rank: 0 rows",
        phrases=(Phrase(r"'weight' must be 2-D"),),
    ),
)
