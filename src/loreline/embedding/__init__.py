"""Text to vectors: one small protocol, and a module for each thing that does it."""
