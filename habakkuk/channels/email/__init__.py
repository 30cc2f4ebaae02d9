"""The email channel: one mailbox, read over IMAP and answered over SMTP."""
