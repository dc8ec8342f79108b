"""The built-in demo: two years of a made-up team, as a Git repository and as what GitLab would answer.

`corpus.build_demo` writes both; `stories/` holds what is told, and is the part to edit.
"""
