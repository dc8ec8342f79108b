"""History: what happened, who decided and why, with the evidence."""
