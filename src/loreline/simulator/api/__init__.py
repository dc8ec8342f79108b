"""GitLab's REST API v4: one module per resource, each a table of routes and their thin functions."""
