"""Benches: each compares side by side in one run and prints ratios, for machines are noisy."""
