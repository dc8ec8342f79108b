"""How good answers are: `python -m bench.evaluation [set…]` judges search against known answers."""
