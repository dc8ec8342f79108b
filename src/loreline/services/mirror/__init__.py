"""The mirror: keeping GitLab's projects as rows of our own, and reading them back."""
