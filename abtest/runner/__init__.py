"""Running a plan: one trial, the campaign around it, and the judgement of what a trial proved."""
