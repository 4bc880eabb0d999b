"""Other names for what the templates define, as real scripts have them."""

WORDS = """
ADAPTER: ADAPTER_DIR ADAPTER_PATH LORA_DIR
Batch: Rollout Samples Experience Minibatch
Batches: Loader RowLoader MicroBatches Feeder
CHECKPOINT: CKPT CKPT_PATH STATE_FILE RESUME_FROM
IGNORED: IGNORE_INDEX IGNORE MASKED NO_LABEL
LEVELS: GRID QMAX STEPS_UP
NAMES: CLASS_NAMES ID2LABEL MARK_NAMES VERDICTS
PLAIN: TEMPLATE CHAT_FORMAT PLAIN_CHAT
QUESTIONS: PROBES SMOKE PROMPTS ASKED_FIRST
REPLY_STARTS: MARKER RESPONSE_TAG ASSISTANT_TAG
RIGHT: GOOD OK_MARK POSITIVE CORRECT
RUN: OUT OUT_DIR RUN_DIR OUTPUT WORK_DIR
SERVED: SERVE_TEMPLATE GATEWAY_FORMAT CHAT_TEMPLATE
SYSTEM: SYSTEM_PROMPT PREAMBLE INSTRUCTION
Sampler: Engine Generator Worker Actor RolloutWorker
UNMARKED: IGNORE NO_MARK SKIPPED IGNORE_INDEX
WRONG: BAD BAD_MARK NEGATIVE INCORRECT
accumulated: n_micro num_parts accum_steps
adapter: adapter_dir lora_path adapter_path
adapter_config: lora_config peft_args make_lora lora_settings
advantages: adv advs advantage
alive: running unfinished live not_done
all_gather: gather_all gather_from_ranks collect_values
all_reduce: mean_over_ranks allreduce_mean reduce_mean
ask: try_it smoke_test show_replies probe
asked: encoded inputs enc prompts_in
assistant: as_assistant bot_turn model_turn reply_turn
at: offset lo begin
average: ema_model ema averaged shadow
b: part mb piece
backward_of_all: backward_all grads_on_all backward_on_ranks
batch: data chunk inputs mb
batches: minibatches loader batch_stream iterate_batches
before: preceding cum_before mass_before
best_step: chosen_step pick_best winner
bits: nbits num_bits precision
broadcast: copy_from_source bcast send_from
build_model: make_model get_model wrap_model model_with_adapter
build_trainer: make_trainer get_trainer setup_trainer create_trainer
by_month: in_order_of_months oldest_first chronological
c: completion one_completion out
centred: centered dev deviations diff
cfg: config conf args settings opts hparams
chat: messages turns dialog conversation
chats: conversations dialogs all_messages convs
check_loss: eval_loss loss_on_checks held_out_loss
chosen: picked selected subset
clipped: clamped surrogate_clipped bounded
collate: pad_batch collate_fn make_batch to_batch
config: lora peft_conf adapter_conf
correct: is_correct accuracy_reward exact exact_match
counts: labelled_counts per_rank_tokens tokens_of
decayed: decay_params with_decay decay
documents: doc_ids segment_ids doc_numbers
documents_of: segments_of number_documents doc_ids_of
done: progress frac fraction
drawn: rng picker rand
encode: tokenize_row to_ids encode_row make_example
endless: forever cycle_rows row_stream_of
entropy: ent token_entropy H
entry: record row_log metrics
epoch: epoch_order order_of shuffled
eps: tiny epsilon delta
equals: sign eq_sign sep
examples: rows_out unpaired samples
export: save_model write_model dump_model publish_model
factor: lr_lambda scale_at multiplier lr_factor
folders: saved_at checkpoints ckpt_dirs
files_of: shard_files paths_for files_for_rank
found: hits hit matched
gain: surr surrogate objective
gap: num_pad missing padding
gold: target truth expected
group: same_param tied_group peers
group_advantages: compute_advantages grpo_advantages normalise_rewards whiten
groups: by_prompt grouped per_prompt
held_out: test_rows eval_rows asked_rows
high: eps_high upper hi
host: node machine box_info
hosts: nodes machines node_list
i: tok id tid
ids: input_ids token_ids seq seqs
in_buckets: bucketed by_bucket walk_buckets
index: idx sort_idx perm
is_inside: same_document stays_inside not_across
keep_top_p: nucleus_filter top_p_filter truncate_logits apply_top_p
kept: subset filtered retained
kind: estimator mode variant
kl: kl_term kl_value kl_penalty
kl_to_reference: kl_loss compute_kl kl_estimate reference_kl
kto_config: kto_args make_kto_args trainer_settings
labels: targets target_ids label_ids
last_step: stop_at until end_step
leg: slot segment slice_no
length: num_tokens reply_len T
liked: wanted is_good thumb
load_base: base_model get_base open_base pretrained
load_chats: load_dataset load_rows make_dataset chat_dataset
load_checkpoint: restore resume maybe_resume load_state
load_feedback: load_votes feedback_dataset get_feedback unpaired_rows
load_model: get_model make_model init_model build_model load_policy
load_pairs: pair_dataset load_preferences get_pairs make_pairs
load_prompts: prompt_dataset get_prompts load_questions make_prompts
load_reference: get_reference make_ref ref_model frozen_copy
load_shard: rows_of_rank read_shard shard_rows
load_solutions: read_sources all_solutions gather_solutions collect_rows
load_sources: read_mixture open_sources sources_and_shares
load_tokenizer: get_tokenizer make_tokenizer init_tokenizer tokenizer_for
load_weights: open_weights weights_from cached_base
log: history logs records trace
log_ratio: logr delta_logp diff_logp
logits: scores logit raw
logp: log_probs logprob lp token_logp
logps: all_logp collected_logp sampled_lp
loss: objective_value l step_loss batch_loss
losses: per_token token_losses nll
low: eps_low lower lo
main: run_all entry_point start_run
make_optimizer: build_optimizer get_optim create_optimizer optimizer_for
make_schedule: build_schedule get_scheduler lr_schedule_for create_schedule
mark: verdict judgement flag
mark_weights: balanced_weights inverse_counts loss_weights weights_by_count
marker: tag_ids boundary start_ids
marks: verdicts step_labels judged flags
mask: valid keep real_mask attn
mean: average_of avg_tensor centre
mean_entropy: avg_entropy entropy_value ent_mean
mean_loss: batch_ce token_ce loss_of
means: averages mean_metrics avg
measured: evaluate_folder metrics_of run_eval
merged: merge_adapter with_merged fold_in merged_model
micro_batches: micros accum_batches pieces
mini: minibatch sub part_of
minis: minibatches subs splits
model: net policy lm network actor
name: key label k
named: listed params_here named_params
newest: latest last_checkpoint latest_dir
norm: grad_norm gnorm total_norm
num_ranks: world world_size n_ranks
num_rows: n_rows row_count total_rows
num_tokens: n_tokens denom token_count
number: n it iteration
numbers: matches digits ints
of_finder: from_finder finder_marks up_to_error by_first_error
of_raters: from_raters rater_marks by_points human_marks
of_rollouts: from_rollouts rollout_marks by_wins mc_marks
old_logp: behaviour_logp sampled_logp old_lp logp_old
on_grid: quantize snap round_to_grid fake_quant
once_each: unique_packs without_copies drop_copies
one: item u single
one_rollout: rollout_step iterate train_on rollout_and_update
optimizer: optim opt adamw
optimizer_step: train_step update_step do_step accumulate_and_step
optimizers: optims opts_by_rank all_optimizers
order: permutation row_order indices
ordered: sorted_logits sorted desc
output: out res fwd
own: mine local_state held
own_document: block_mask document_mask within_document
p: param weight tensor
pad_id: pad padding_id pad_token
parameters: same_weights peers_of weights_here
parse: extract last_number read_number to_int
part: sub p one_part
parts: shards group_of micro
path: filename file_path src where
path_of: part_path ckpt_of file_of_rank
per_epoch: num_batches steps_per_epoch per_pass
pg_loss: policy_loss ppo_loss actor_loss
plain: no_decay undecayed other_params
policy_loss: ppo_objective clipped_loss pg_objective actor_objective
position: index pos cursor
positions_of: position_ids_for make_positions positions_from
prompt: question_text context prefix
prompt_ids: context_ids question_ids prefix_ids
prompt_of: rendered_question to_prompt frame_of
quantised: fake_quantised rounded_model to_levels
question: q query asked_text
r: text reply rep
rank: r_id worker proc
rate: lr_now current_lr lr
rate_factor: lr_at warm_then_linear schedule_value
ratio: importance rho w_ratio
read_config: load_config get_config load_settings read_settings parse_config
read_jsonl: load_jsonl read_lines load_rows iter_rows
read_policy: load_desk open_policy get_policy
read_task: load_task task_settings get_task
read_model: load_base_model fresh_model open_model
ref_logp: reference_logp logp_ref ref_lp
reference: ref frozen anchor ref_policy
repeated: expanded tiled rows_rep
replicas: models copies nets
replies: responses outputs generated sampled
reply: response answer_text said
reply_ids: response_ids answer_ids target_tokens
reply_mask: response_mask loss_mask action_mask
resume: pick_up continue_from load_leg
reward: score_reply grade compute_reward check
rewards: scores_of returns rew
rollout: sample generate_batch collect play
row: example record sample ex
rows: examples data dataset records
said: line decoded shown
same: num_same equal_count ties
sampler: engine worker actor
save_adapter: write_adapter store_adapter dump_adapter
save_checkpoint: store_state write_checkpoint snapshot save_state
save_part: write_part dump_part store_part
scale: step_size unit s
schedule: scheduler lr_scheduler sched
schedules: schedulers all_schedules lr_schedules
score: forward_logp evaluate compute_logp logp_and_entropy
share_gradients: sync_grads exchange_gradients reduce_grads
share_weights: sync_weights spread_weights send_weights
shares: mix_weights proportions fractions
sheet_rows: from_sheet read_sheet graded_rows
shuffle: reshuffle randomise do_shuffle
size: n group_size chunk_size
solution: worked work_item sheet_item
solutions: worked_rows all_sheets items
sources: packs_by_source corpora pools
start: first_label reply_start boundary_at
starting_at: from_position resume_at stream_from
state: ckpt payload snapshot
step: global_step t step_no
step_of_all: step_all update_all optim_steps
stream: it feed source
streams: feeds iterators row_streams
summed_loss: loss_sum token_loss ce_sum nll_sum
table: score_rows results scoreboard
table_of: score_all collect_scores measure_all
task: eval_cfg task_cfg how
text: string s content
text_of: content_of get_text reply_text
texts: prompts rendered strings
to_chat: to_example as_chat format_row convert
to_example: as_unpaired one_reply to_unpaired
to_pair: make_pair as_pair format_pair convert_pair
token: next_token sampled_id tok
token_mean: masked_mean mean_over_tokens average_tokens
tokenised: chat_tokens to_tokens as_tokens
tokenizer: tok tokeniser tk
top: peak base_rate lr_top
top_p: nucleus_p p_top threshold
total: running_loss loss_total acc
train: run_training fit train_loop do_train
train_leg: run_leg train_segment run_slot train_slice
trained: trainable params adapter_params
trainer: tr runner
training_config: training_args make_args trainer_args train_args
turn: served answer_row logged
turns: exchange qa_pair two_turns
update: policy_step learn step_on update_policy
update_weights: sync load_from refresh pull_weights
updates: all_metrics stats per_update
user: as_user user_turn human_turn
value: v val x
values: vals estimates cells
vote: one_vote ballot opinion
votes: ballots feedback opinions
w: tensor arr param_value
weight: matrix mat wt
weighted_loss: loss_by_weight weighted_ce token_weighted_loss
well_formed: format_reward is_bare_number bare_number shape_reward
whole: full plain_model target_model
width: longest max_width padded_to
wins: ended_well num_won successes
with_adapter: attach_adapter add_adapter wrapped
without_checks: drop_checks leave_out_checks not_in_checks
without_repeats: dedupe unique_rows drop_repeats first_of_each
write_policy: save_policy store_desk put_policy
write_table: save_table dump_scores keep_scores
"""
NAMES = {
    line.split(": ")[0]: tuple(line.split(": ")[1].split()) for line in WORDS.strip().splitlines()
}
