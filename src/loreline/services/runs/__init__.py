"""What every run that writes shares: the one writer, the lease, the account and the progress."""
