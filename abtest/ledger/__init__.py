"""The ledger: append-only JSONL under one run's folder, from which everything printed is recomputed."""
