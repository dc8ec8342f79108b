"""The GitLab API client: wire types, paging, pacing, retry. Knows HTTP, nothing of SQLite."""
