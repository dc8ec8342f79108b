"""A local repository, read through the git program."""
