"""Why each flag matters and what to do: one sentence each, in one place."""

from abtest.analysis.classify import Finding
from abtest.model.flag import Flag

RERUN = "Rerun the cell with extra rounds: `abtest rerun RESULTS --cell CELL --rounds 2`."
TEXTS: dict[str, tuple[str, str]] = {
    "suspect": ("The rounds lie further apart than noise of this size should.", RERUN),
    "unstable": ("After the last look the rounds still lie further apart than noise of this size should.", "Quote the range, not the mean; steady the machine and start a new run."),
    "declared-not-observed": ("What the arms declare to differ in is the same in all of them: the change never arrived.", "Check the file, variable or option that the arm names."),
    "imported": ("The figures come from elsewhere: nothing about the code that ran was proved here.", "Quote them with their own source."),
    "unpaired": ("The arms have different numbers of rounds, so rounds cannot be compared one by one.", "Add rounds in whole blocks, every arm in each."),
    "one-order-only": ("One arm always ran after the other: its position cannot be told from its code.", "Add rounds in the other order; an even number balances by itself."),
    "order-unbalanced": ("A drift of the machine does not cancel in these rounds.", "Make the number of rounds even."),
    "invalid-trials": ("A trial of this condition ran the wrong code, took the wrong route or made the wrong number of tokens.", "Read its reason in the ledger, mend the set-up and start a new run."),
    "verdict-by-timestamps": ("Leverage exceeds 3 and every trial has time stamps, so the verdict rests on them; the headline stays the differential.", "Read both ratios."),
    "bimodal?": ("The rounds fall into two groups, but so few rounds do that by chance too.", RERUN),
    "bimodal": ("The cell has two speeds; a mean describes neither.", "Find what each start draws (clocks, placement, autotuning) before quoting a mean."),
    "drift": ("The rate moved with time; the order of the arms cancels only a linear part.", "Look at clocks, temperature and neighbours; run again when the machine is steady."),
    "drift?": ("Four rounds in a strict order happen by chance one time in twelve.", RERUN),
    "outlier": ("One round lies far from the others; it is kept in the mean.", "Read that trial's log and telemetry; quote the median beside the mean."),
    "order-confounded": ("The two speeds coincide with the order of the arms.", "Add rounds: an even number changes which arm runs first."),
    "noise-limited": ("The scatter between sandboxes is no larger than that inside them: jitter, not modes.", "Raise `pairs` or the long token count."),
    "prefill-dominated": ("Prefill jitter is amplified in the differential: the faster the kernel, the worse it is measured.", "Raise `pairs` or the long token count."),
    "drowned": ("The difference is too small against the jitter of a run to be called a rate.", "Raise the long token count."),
    "estimators-disagree": ("The differential and the time stamps should measure the same thing.", "Look at T_short of each pair: a cache, a compilation or a stall in the prefill."),
    "routes-equal": ("All arms took the same decode route: the change was not exercised.", "Check the condition that selects the new path; no speed-up is claimed."),
    "outputs-differ": ("The arms' greedy tokens differ while each arm repeats its own; a faster kernel may round differently.", "Check correctness by its own test: equal text would not prove it either."),
    "undeclared-difference": ("The arms differ in more than they declare: the comparison is not of the kernel alone.", "Remove the difference, or declare it (env, args)."),
    "environment-changed": ("Trials of one arm did not run in the same environment.", "Start a new run."),
    "isolation-process": ("Trials ran as processes on this machine, not in containers.", "Use `--runtime docker` for numbers that leave this machine."),
    "simulated": ("Nothing was measured: the numbers come from a simulated machine.", "Run without --simulate."),
    "image-moved": ("The name that the image was asked for by leads to another image by now; all trials used the first one.", "Quote the image's id, not its tag."),
    "throttled": ("A card ran below its clocks for a reason of its own; a decode that waits for memory may not feel a slow core.", "Compare core and memory clock; cool the card, raise its power limit or lock its clocks."),
    "host-busy": ("Other processes used the processor while the trial was timed.", "Stop them, or give the trial cores of its own (container.cpuset_cpus)."),
    "idle-gap": ("A card that was idle before starts with slow clocks.", "Keep the gap between trials constant and warm up directly before timing."),
    "link-narrow": ("The link to a card stayed below its maximum, also under load: prefill pays for that, decode hardly does.", "Reseat the card or move it; compare prefill times only with runs of the same link."),
    "void-trials": ("The machine's state spoiled these trials; their whole blocks were run again, by a rule fixed before the run.", "Read their reasons in the ledger; many of them mean that the machine is not fit."),
    "follows-machine": ("The rates follow the machine's state within cells: part of what is seen may be the machine.", "Steady that quantity (locked clocks, a quiet host) and run again."),
    "power-falls": ("Power falls with depth in this arm only: the sign of compute units that starve while a few walk the context.", "Profile the decode steps; splitting the context over more programs is the usual cure."),
    "few-rounds": ("Fewer than four rounds cannot exclude two modes or a drift.", "Run four rounds or more."),
    "incomplete": ("Blocks without a good trial of every arm do not enter the effects.", "Go on with `abtest run EXPERIMENT --resume RESULTS`."),
    "not-proved": ("Not every counted trial carries the proof of what code ran.", "Believe no ratio from this run."),
    "dummy-weights": ("The weights are random: what depends on their values (expert routing, speculation, text) is not what users see.", "Measure with real weights before quoting a number for a model."),
    "engine-untested": ("This version of the engine was never tested with this probe.", "Read the identity, the routes and the engine's log of one trial before believing the rest."),
    "speculation": ("A step may make several tokens, and its query length changes the route.", "Read milliseconds per step and the acceptance beside the rate."),
    "request-unproved": ("A backend was asked for, and no rank says which one it got.", "Look for it in `engine.log`; another version of the engine may tell."),
    "jit-in-window": ("Kernels were compiled while the timed pairs ran: their time is in the rate.", "Use `caches: warm-per-arm`, or let the warm-up meet the shape that was compiled."),
    "prefill-uneven": ("The prompts of a batch took other prefill steps from one request to the next, or nothing kept them from it: the differential holds what they differ in.", "Read the rate by time stamps; use a version of the engine that can be held until a batch is complete, or run it in one process."),
    "eager-decode": ("The batch is larger than every captured graph, so decode steps run without one, several times slower.", "Raise `max_cudagraph_capture_size`, or measure a smaller batch."),
    "graph-sizes-truncated": ("The engine captured fewer graph sizes than it was asked for.", "Compare the captured sizes with the batch in the engine's log."),
    "kernels-incomplete": ("The profile holds no whole decode step, kernels of weight are missing in some steps, or none runs once for each layer.", "Read the kernels on the record as a hint only."),
    "host-bound": ("The kernels do not account for the time of a decode step: it waits for something else.", "Look at graphs, at the processor's placement and at other load before crediting or blaming a kernel."),
    "cache-cold": ("The arm's kept cache was still empty when this trial began.", "Let the discarded warm-up trial fill it: do not resume with another set-up."),
    "outputs-unknown": ("The program does not tell the tokens that it made, so outputs cannot be compared.", "Let it answer with token_ids, see docs/engines.md."),
    "outputs-unstable": ("Greedy repeats inside one trial gave different tokens.", "Look for atomics or batch-dependent kernels before comparing outputs."),
    "unclean-close": ("The engine did not close as it should after the measurement.", "Read the end of `engine.log`; the timed pairs were complete."),
}  # fmt: skip
OTHER = ("The engine's adapter or the runtime said so of a trial.", "Read the trial's log.")


def flag(name: str, where: str, figures: str) -> Flag:
    """Make a flag with its standing explanation."""
    why, remedy = TEXTS.get(name, OTHER)
    return Flag(name, where, figures, why, remedy)


def flags_of(findings: tuple[Finding, ...], where: str) -> tuple[Flag, ...]:
    return tuple(flag(finding.name, where, finding.figures) for finding in findings)
