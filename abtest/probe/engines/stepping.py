"""From the outputs of single engine steps to one generation: which step gave whom how many tokens, and when."""

from __future__ import annotations

from typing import Any, Iterable

from abtest.probe.engines import Generation

UNCOUNTED = (
    -1
)  # the engine does not say how many prompt tokens a cache served: no reading is not a pass


class Steps:
    """Collects what each step of an engine returned for a fixed list of requests.

    Args:
        names: the requests' ids, in the order of the prompts.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._place = {name: place for place, name in enumerate(names)}
        count = len(self._place)
        self._ids: list[list[int]] = [[] for _ in range(count)]
        self._first = [-1] * count
        self._prompt = [UNCOUNTED] * count
        self._cached = [UNCOUNTED] * count
        self._stamps_s: list[float] = []
        self._single = True

    def take(self, outputs: Iterable[Any], now_s: float) -> None:
        """Take over one step's outputs; a step that produced no token (a chunk of a prefill) leaves no stamp.

        Args:
            outputs: objects with `request_id`, `prompt_token_ids`, `num_cached_tokens` and
                `outputs[0].token_ids`, the ids that are new since the last step.
        """
        made = False
        for output in outputs:
            place = self._place.get(output.request_id)
            if place is None:
                continue
            fresh = list(output.outputs[0].token_ids)
            if output.prompt_token_ids is not None:
                self._prompt[place] = len(output.prompt_token_ids)
            if output.num_cached_tokens is not None:
                self._cached[place] = max(self._cached[place], output.num_cached_tokens)
            if not fresh:
                continue
            made = True
            if self._first[place] < 0:
                self._first[place] = len(self._stamps_s)
            self._single = self._single and len(fresh) == 1
            self._ids[place] += fresh
        if made:
            self._stamps_s.append(now_s)

    def generation(self) -> Generation:
        """Sum up; stamps are left out where a step gave more than one token to a sequence (speculation)."""
        return Generation(
            token_ids=self._ids,
            prompt_tokens=self._prompt,
            token_times_s=self._stamps_s if self._single else [],
            cached_tokens=self._cached,
            first_steps=self._first,
            steps=len(self._stamps_s),
        )
