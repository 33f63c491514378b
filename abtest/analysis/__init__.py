"""From records to statements: pure, one assumption per file, every threshold named with its source."""
