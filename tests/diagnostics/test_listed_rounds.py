"""Rounds whose cases stand in one list, behind their first score: what is named of each now.

They were mended behind the score, so this says nothing of runs that nobody here wrote
(docs/blind_rounds.md does).
"""

import contextlib
import io
import tempfile

import pytest
from whole import cases as some

from benchmarks.diagnostics.blind.round_7 import listed as round_7
from benchmarks.diagnostics.blind.round_8 import listed as round_8
from benchmarks.diagnostics.blind.round_9 import listed as round_9
from benchmarks.diagnostics.blind.round_10 import listed as round_10
from benchmarks.diagnostics.blind.round_12 import listed as round_12
from benchmarks.diagnostics.blind.round_14 import listed as round_14
from benchmarks.diagnostics.blind.round_15 import listed as round_15
from benchmarks.diagnostics.blind.round_17 import listed as round_17
from benchmarks.diagnostics.blind.round_19 import listed as round_19
from benchmarks.diagnostics.blind.round_21 import listed as round_21
from benchmarks.diagnostics.blind.round_23 import listed as round_23
from benchmarks.diagnostics.blind.round_25 import listed as round_25
from benchmarks.diagnostics.blind.round_29 import listed as round_29
from benchmarks.diagnostics.blind.round_31 import listed as round_31
from benchmarks.diagnostics.blind.round_33 import listed as round_33
from benchmarks.diagnostics.blind.round_35 import listed as round_35
from benchmarks.diagnostics.blind.round_37 import listed as round_37
from benchmarks.diagnostics.blind.round_39 import listed as round_39
from benchmarks.diagnostics.blind.round_41 import listed as round_41
from benchmarks.diagnostics.blind.round_43 import listed as round_43
from benchmarks.diagnostics.blind.round_45 import listed as round_45
from benchmarks.diagnostics.blind.round_47 import listed as round_47
from benchmarks.diagnostics.blind.round_49 import listed as round_49
from benchmarks.diagnostics.blind.round_51 import listed as round_51
from course_utils.diagnostics import diagnose

NAMED = {
    "sft_briefed_codes": "end_missing",
    "sft_chat_turns": "end_masked",
    "sft_chat_codes": "message_dropped",
    "lm_short_lines": "pad_is_eos",
    "lm_one_letter_answers": "replies_empty",
    "lm_counting": "masked_for_causal",
    "lora_tool_calls": "new_tokens_untrained",
    "dpo_tone": "reference_moves",
    "kto_thumbs": "labels_constant",
    "reward_own_pairs": "pairs_misaligned",
    "grpo_quiz": "reward_of_other_row",
    "grpo_boxed": "no_signal",
    "grpo_chat_quiz": "reply_is_messages",
    "grpo_two_rewards": "answer_outweighed",
    "lora_second_round": "nothing_trainable",
    "lora_named_adapters": "another_adapter_trained",
    "lora_own_optimizer": "optimizer_holds_others",
    "cls_gpt2_reviews": "no_pad_id",
    "cls_three_topics": "probabilities_as_logs",
    "cls_own_batches": "mask_inverted",
    "cls_shouted_reviews": "tokens_unknown",
    "cls_weighted_rows": "column_dropped",
    "cls_paraphrases": "rows_in_both",
    "tags_letter_kinds": "tags_misplaced",
    "tags_scored": "padding_learnt",
    "s2s_codes": "decoder_reads_labels",
    "s2s_generated_score": "ignored_is_decoded",
    "vit_halves": "inputs_unscaled",
    "embed_pairs": "similarity_unscaled",
    "lm_accumulated": "split_changes_loss",
    "regress_counts": "labels_shape",
    "distil_codes": "probabilities_as_logs",
    "lm_ramp": "schedule_ends_early",
    "lm_compact_weights": "rounding_swallows",
    "lm_continued": "resumed_at_its_end",
    "lm_token_score": "metric_not_as_named",
    # round 8
    "scene_topics": "schedule_ends_early",
    "pick_one": "no_signal",
    "kind_sft": "trial_rows",
    "kind_encoded": "prompts_learnt_alone",
    "alphabet_lm": "labels_shifted",
    "lookup_sft": "rate_unusual",
    "name_tagging": "tags_misplaced",
    "context_answer": "labels_masked",
    "thumbs_feedback": "labels_constant",
    "batched_topics": "labels_uninformative",
    "kept_topic_model": "worst_is_kept",
    "topic_splits": "evaluation_rows_differ",
    "named_answers": "answer_outweighed",
    "small_student": "softmax_axis",
    "counting_lm": "pad_is_eos",
    "steady_finetune": "rounding_swallows",
    "essay_scores": "labels_shape",
    "adapter_facts": "adapter_without_effect",
    "masked_rows": "mask_is_the_target",
    "kind_names_seq2seq": "decoder_reads_labels",
    "noisy_topics": "rows_changed_in_place",
    "judge_pairs": "pair_prompts_differ",
    # round 9
    "facts_sft": "schedule_ends_early",
    "facts_plain_lm": "pad_is_eos",
    "masked_prompt_sft": "replies_empty",
    "chain_lm": "labels_shifted",
    "two_speaker_chat": "message_dropped",
    "thumbs_kto": "labels_constant",
    "tone_reward": "pairs_alike",
    "color_grpo": "reward_of_other_row",
    "polite_grpo": "replies_masked",
    "soft_facts": "probabilities_as_logs",
    "adapter_sft": "optimizer_holds_others",
    "marker_sft": "new_tokens_untrained",
    "second_stage_dpo": "wrong_reference",
    "film_classes": "evaluation_rows_differ",
    "colour_tags": "tags_misplaced",
    "best_film_model": "worst_is_kept",
    # round 10
    "amber": "no_signal",
    "basil": "reward_pays_junk",
    "cedar": "reward_against_answer",
    "dahlia": "ends_unseen",
    "elder": "message_dropped",
    "fennel": "too_long",
    "garnet": "pad_is_eos",
    "heron": "rounding_swallows",
    "iris": "rate_too_high",
    "juniper": "pairs_contradict",
    "kelp": "labels_constant",
    "larch": "head_is_new",
    "maple": "pairs_inverted",
    "nettle": "new_tokens_untrained",
    "poppy": "optimizer_holds_others",
    "quartz": "tags_misplaced",
    "rowan": "evaluation_rows_differ",
    "sorrel": "rows_in_order",
    "thyme": "labels_shape",
    "umber": "softmax_axis",
    "violet": "pairs_inverted",
    "willow": "worst_is_kept",
    "yarrow": "start_loaded_back",
    # round 12
    "alder": "reward_of_other_row",
    "beech": "replies_masked",
    "cedar_12": "answer_outweighed",
    "elm": "end_missing",
    "fir": "tokens_unknown",
    "hazel": "rounding_swallows",
    "ivy": "new_tokens_untrained",
    "juniper_12": "optimizer_holds_others",
    "kapok": "pairs_inverted",
    "larch_12": "labels_constant",
    "maple_12": "pairs_alike",
    "pine": "tags_misplaced",
    "quince": "labels_shape",
    "rowan_12": "evaluation_rows_differ",
    "spruce": "worst_is_kept",
    "tulip": "evaluation_writes_weights",
    "walnut": "schedule_ends_early",
    # round 14
    "beryl": "pad_is_eos",
    "cinnabar": "message_dropped",
    "dolomite": "end_missing",
    "epidote": "new_tokens_untrained",
    "fluorite": "optimizer_holds_others",
    "galena": "pairs_contradict",
    "hematite": "labels_constant",
    "ilmenite": "ending_tells",
    "jadeite": "no_signal",
    "kyanite": "reward_of_other_row",
    "lazurite": "answer_outweighed",
    "magnetite": "labels_shifted",
    "nepheline": "worst_is_kept",
    "olivine": "tags_misplaced",
    "pyrite": "evaluation_rows_differ",
    "quartz_14": "rounding_swallows",
    "spinel": "schedule_ends_early",
    # round 15
    "albite": "index_outside",
    "barite": "pad_is_eos",
    "celestine": "pairs_inverted",
    "dioptase": "reference_moves",
    "enargite": "labels_constant",
    "franklinite": "reward_of_other_row",
    "gypsum": "no_signal",
    "howlite": "pairs_misaligned",
    "jadeite_15": "evaluation_rows_differ",
    "kyanite_15": "tags_misplaced",
    "leucite": "optimizer_holds_others",
    "monazite": "message_dropped",
    "natrolite": "labels_shape",
    "orpiment": "weights_taken_back",
    "prehnite": "schedule_ends_early",
    "rutile": "frozen_as_drawn",
    "scheelite": "ids_wrapped",
    "talc": "metric_not_as_named",
    "vesuvianite": "reference_moves",
    "wulfenite": "mask_is_the_target",
    # round 17
    "acacia": "evaluation_writes_weights",
    "birch": "evaluation_rows_differ",
    "cedar_17": "tags_misplaced",
    "dogwood": "pairs_alike",  # max_length cuts off what differs, and so the ends as well
    "elder_17": "labels_constant",
    "fir_17": "reward_of_other_row",
    "gorse": "no_signal",
    "hazel_17": "pairs_inverted",
    "ivy_17": "optimizer_holds_others",
    "juniper_17": "message_dropped",
    "larch_17": "mask_is_the_target",
    "maple_17": "reference_moves",
    "oak": "schedule_ends_early",
    "pine_17": "rounding_swallows",
    "rowan_17": "optimizer_holds_others",
    "spruce_17": "metric_not_as_named",
    "thyme_17": "replies_masked",
    "willow_17": "rows_in_order",
    "yew": "reference_moves",
    # round 19
    "wren": "labels_constant",
    "siskin": "tags_misplaced",
    "dunlin": "probabilities_as_logs",
    "snipe": "labels_shape",
    "avocet": "decoder_reads_labels",
    "crake": "reward_of_other_row",
    "grebe": "reward_pays_junk",
    "dotterel": "wrong_reference",
    "fulmar": "new_tokens_untrained",
    "gadwall": "another_adapter_trained",
    "pipit": "optimizer_holds_others",
    "shrike": "schedule_ends_early",
    "knot": "optimizer_holds_others",
    "twite": "rounding_swallows",
    "ruff": "no_signal",
    "oriole": "worst_is_kept",
    # round 21
    "amur": "end_masked",
    "brenta": "optimizer_holds_others",
    "clyde": "reference_moves",
    "dvina": "labels_constant",
    "ebro": "pairs_inverted",
    "foyle": "reward_pays_junk",
    "gauja": "reward_of_other_row",
    "havel": "no_signal",
    "isar": "rounding_swallows",
    "jucar": "loss_against_labels",
    "kemi": "tags_misplaced",
    "loire": "decoder_reads_labels",
    "meuse": "softmax_axis",
    "neva": "new_tokens_untrained",
    "oder": "split_changes_loss",
    "piave": "schedule_ends_early",
    "rhone": "start_loaded_back",
    "saale": "worst_is_kept",
    "tagus": "evaluation_rows_differ",
    # round 23
    "ardley": "pad_is_eos",
    "clovelly": "pairs_alike",
    "dunster": "labels_constant",
    "grasmere": "reward_pays_junk",
    "hawkshead": "no_signal",
    "ilmington": "class_weights_inverted",
    "kersey": "evaluation_rows_differ",
    "lavenham": "tags_misplaced",
    "mousehole": "decoder_reads_labels",
    "polperro": "optimizer_holds_others",
    "tissington": "rate_zero",
    "wherwell": "worst_is_kept",
    "bibury": "tokens_unknown",
    "ripley": "weight_without_gradient",
    "selworthy": "start_loaded_back",
    "orford": "frozen_as_drawn",
    "flatford": "pairs_misaligned",
    # round 25
    "dart": "reward_of_other_row",
    "stour": "replies_masked",
    "usk": "decoder_reads_labels",
    "lune": "optimizer_holds_others",
    "teign": "reference_moves",
    "tamar": "pairs_alike",
    "nadder": "worst_is_kept",
    "beddgelert": "end_masked",
    "portmeirion": "reward_of_other_row",
    "aberdaron": "decoder_reads_labels",
    "tenby": "tags_misplaced",
    "crickhowell": "schedule_ends_early",
    "llangollen": "class_weights_inverted",
    "talgarth": "worst_is_kept",
    "dolgellau": "new_tokens_untrained",
    "nunney": "labels_shifted",
    # round 29
    "drava": "pad_is_eos",
    "loire_29": "tags_misplaced",
    "tagus_29": "evaluation_cuts_replies",
    "elbe": "new_tokens_untrained",
    "vltava": "optimizer_holds_others",
    "mosel": "pairs_alike",
    "sava": "labels_constant",
    "tisza": "pairs_inverted",
    "morava": "no_signal",
    "inn": "optimizer_holds_others",
    "neretva": "loss_not_shifted",
    # round 31
    "arno": "pad_is_eos",
    "loire_31": "labels_masked",
    "drava_31": "nothing_trainable",
    "ebro_31": "no_signal",
    "isar_31": "tags_misplaced",
    "sava_31": "labels_constant",
    "tisza_31": "inputs_unscaled",
    "oder_31": "labels_shape",
    "minho": "no_pad_id",
    "neva_31": "decoder_reads_labels",
    "volga": "schedule_ends_early",
    # round 33
    "tamar_33": "pad_is_eos",
    "dvina_33": "decoder_reads_labels",
    "ljusnan": "no_signal",
    "vitebsk": "message_dropped",
    "pori": "labels_shape",
    "neman": "optimizer_holds_others",
    "mezen": "index_outside",
    "oulu": "half_weights",
    "kemi_33": "labels_constant",
    "sava_33": "mask_inverted",
    # round 35
    "vistula": "pad_is_eos",
    "tiber": "schedule_ends_early",
    "oder_35": "reward_of_other_row",
    "neva_35": "too_long",
    "drava_35": "labels_constant",
    "arno_35": "decoder_reads_labels",
    "minho_35": "labels_shifted",
    "ebro_35": "inputs_unscaled",
    "sava_35": "nothing_trainable",
    "duero": "weights_taken_back",
    "awe": "pad_is_eos",
    "lomond": "message_dropped",
    "ness": "no_signal",
    "rannoch": "labels_constant",
    "oich": "nothing_trainable",
    "tay": "decoder_reads_labels",
    "earn": "optimizer_holds_others",
    "garry": "labels_constant",
    "laggan": "schedule_ends_early",
    "naver": "tags_misplaced",
    # round 39
    "severn": "pad_is_eos",
    "tamar_39": "message_dropped",
    "oder_39": "labels_constant",
    "isar_39": "reward_pays_junk",
    "volga_39": "tags_misplaced",
    "drava_39": "decoder_reads_labels",
    "tisza_39": "head_is_new",
    "ebro_39": "schedule_ends_early",
    # round 41
    "severn_41": "message_dropped",
    "plover_41": "labels_constant",
    "ticino": "pairs_alike",
    "dunlin_41": "no_signal",
    "oder_41": "tags_misplaced",
    "wren_41": "schedule_ends_early",
    "loire_41": "pad_is_eos",
    "siskin_41": "new_tokens_untrained",
    "avocet_41": "optimizer_holds_others",
    "drava_41": "worst_is_kept",
    # round 43
    "ebro_43": "pad_is_eos",
    "siskin_43": "template_differs",
    "neretva_43": "reward_of_other_row",
    "wryneck": "tags_misplaced",
    "oder_43": "decoder_reads_labels",
    "plover_43": "new_tokens_untrained",
    "whimbrel": "schedule_ends_early",
    "orinoco": "labels_shape",
    "dunlin_43": "pairs_contradict",
    "isar_43": "begins_as_drawn",
    "linnet_43": "labels_uninformative",
    # round 45
    "vistula_45": "pad_is_eos",
    "heron_45": "new_tokens_untrained",
    "okavango": "message_dropped",
    "dunlin_45": "pairs_alike",
    "ebro_45": "labels_constant",
    "avocet_45": "no_signal",
    "plover_45": "tags_misplaced",
    "neva_45": "tokens_unknown",
    "siskin_45": "begins_as_drawn",
    "drava_45": "optimizer_holds_others",
    "curlew": "mirrored_against_labels",
    "lapwing": "worst_is_kept",
    # round 47
    "tarn": "pairs_alike",
    "wren_47": "labels_constant",
    "ouse": "pairs_contradict",
    "siskin_47": "inputs_unscaled",
    "dunlin_47": "mirrored_against_labels",
    "plover_47": "pad_is_eos",
    "heron_47": "message_dropped",
    "egret": "new_tokens_untrained",
    "brant": "tags_misplaced",
    "curlew_47": "frozen_as_drawn",
    "gadwall_47": "worst_is_kept",
    "avocet_47": "reward_pays_junk",
    # round 49
    "tamar_49": "pad_is_eos",
    "severn_49": "tags_misplaced",
    "medway": "labels_uninformative",
    "tweed": "message_dropped",
    "ouse_49": "new_tokens_untrained",
    "wye_49": "rate_too_high",
    "tees": "form_tells",
    "trent": "no_signal",
    "dee": "decoder_reads_labels",
    "avon": "labels_shape",
    "nene": "schedule_ends_early",
    # round 51
    "severn_51": "pad_is_eos",
    "tagus_51": "new_tokens_untrained",
    "neva_51": "tags_misplaced",
    "oder_51": "labels_uninformative",
    "tiber_51": "rate_too_high",
    "ebro_51": "labels_constant",
    "volga_51": "no_signal",
    "rhone_51": "frozen_as_drawn",
    "loire_51": "schedule_ends_early",
    "danube": "targets_unscaled",
}
LEFT = {
    *("reward_ratings", "lora_two_stages", "lm_from_cluster_weights", "dpo_sums"),
    *("answer_preferences", "second_stage"),
    *("scored_answers_dpo", "short_rloo", "mixed_facts", "continued_sft", "ochre"),
    *("ginkgo", "nutmeg", "olive"),
    *("realgar", "topaz", "ulexite"),
    "quince_17",
    *("bunting", "jackdaw", "plover", "serin"),
    "ural",
    *("elterwater", "upnor"),
    *("wye", "exe", "kennet", "solva", "laugharne"),
    *("sesia", "tamar_31", "garonne", "tisza_33"),
    *("garonne_35", "loire_35", "shin", "affric"),
    *("neman_39", "loire_39", "minho_39", "vltava_39", "neckar", "linnet"),
    "tagus_43",
    *("indus", "seine"),
    "exe_49",
}
LISTED = (
    *(round_7, round_8, round_9, round_10, round_12, round_14, round_15, round_17, round_19),
    *(round_21, round_23, round_25, round_29, round_31, round_33, round_35, round_37, round_39),
    *(round_41, round_43, round_45, round_47, round_49, round_51),
)
NUMBERS = (
    *(7, 8, 9, 10, 12, 14, 15, 17, 19, 21, 23, 25, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51),
)
ROUNDS = dict(zip(NUMBERS, LISTED, strict=True))
CASES, ROUND_OF = {}, {}
for number, one in ROUNDS.items():  # two authors may have taken one name
    named = {f"{n}_{number}" if n in CASES else n: case for n, case in one.CASES.items()}
    CASES |= named
    ROUND_OF |= dict.fromkeys(named, number)
ODD = {}
for number, one in ROUNDS.items():
    ODD |= {f"{n}_{number}" if n in ODD else n: case for n, case in getattr(one, "ODD", {}).items()}
ROUND_OF_ODD = {n: number for number, one in ROUNDS.items() for n in getattr(one, "ODD", {})}

pytestmark = pytest.mark.filterwarnings("default")  # a warning does not end a run of theirs


@pytest.fixture(scope="module", autouse=True)
def scratch():
    """The cases make folders, and keep some for the next case."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        yield


def causes_of(trainer):
    ride = diagnose.watching(trainer)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception), ride:
        trainer.train()
    return [one.key for one in ride.report.causes]


def test_every_case_is_named_or_known_to_be_left():
    assert len(CASES) == sum(len(one.CASES) for one in ROUNDS.values())
    assert NAMED.keys() | LEFT == CASES.keys()


@pytest.mark.parametrize("name", some(NAMED, kind=NAMED.get))
def test_a_case_is_named_first(name):
    assert causes_of(CASES[name](False))[:1] == [NAMED[name]]


ACCUSED_RIGHTLY = {"wye"}  # its twin's replies end with <|end|>, and generation stops at another


@pytest.mark.parametrize("name", some(sorted(CASES.keys() - ACCUSED_RIGHTLY), kind=ROUND_OF.get))
def test_a_twin_is_not_accused(name):
    assert causes_of(CASES[name](True)) == []


@pytest.mark.parametrize("name", some(ODD, kind=ROUND_OF_ODD.get))
def test_an_odd_healthy_run_is_not_accused(name):
    assert causes_of(ODD[name]()) == []
