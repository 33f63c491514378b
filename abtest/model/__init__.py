"""The nouns of abtest, frozen. A new noun enters this glossary first.

experiment
    One YAML file: image, target file, arms, engine, depths, rounds.
arm
    One version of what is compared. One arm is the *baseline*, the others are candidates.
condition
    What is varied besides the arm: context *depth* (tokens already in the KV cache) and *batch*.
cell
    Arm x condition, one box of the results table: `splitkv@8192`, or `splitkv@8192x4` for batch 4.
trial
    One fresh sandbox that measures one cell in one round. One trial is one ledger record.
sandbox
    What a runtime opens for one trial: a container, or a process with a mirror of the target's package.
block
    All arms of one condition in one round, back to back on one host: the pairing unit.
round
    One pass over all blocks. The arm order changes from round to round.
slot
    The place of a trial inside its block, from 1.
pair
    One (T_short, T_long) measurement inside a trial.
differential
    (T_long - T_short) / (n_long - n_short): seconds per decoded token, the prefill cancelled.
leverage
    T_short / (T_long - T_short): by how much prefill jitter is amplified in the differential.
spread
    (max - min) / mean over rounds.
route
    The dispatch decision seen inside a worker, for example `use_splitkv=True`, with its phase.
rank
    One worker process of a tensor-parallel engine.
identity
    The proof of what code ran: file path and hash, loaded-code fingerprint, per rank, before and after.
fingerprint
    What an image *contains*, where its id says nothing: Python, distributions, package tree, OS.
flag
    A finding attached to a cell or an effect. Data, never an exception.
effect
    Candidate over baseline at one condition, with its interval.
trend
    How one arm's rate falls with depth: retention and slope.
gate
    The least speed-up that is asked of a candidate: `splitkv@8192>=1.05`.
look
    One judgement of the rounds so far; whoever looks more than once needs a stricter level per look.
verdict
    faster / slower / equivalent / inconclusive / invalid.
ledger
    Append-only JSONL of records; everything printed is recomputed from it.
"""
