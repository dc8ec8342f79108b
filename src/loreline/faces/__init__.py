"""Ways in: each parses, calls one service and renders what it answers."""
