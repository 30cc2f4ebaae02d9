"""Messages out: split, sent, made certain when their outcome is unknown, and recorded."""
