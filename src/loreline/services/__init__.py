"""One function per thing a user can do; faces call these and nothing below."""
