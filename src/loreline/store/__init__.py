"""The only SQL on our data: plain functions over one SQLite connection, one module per subject."""
