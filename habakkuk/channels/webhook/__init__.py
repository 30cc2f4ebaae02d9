"""The webhook channel: signed requests in and out, for anyone's own client."""
