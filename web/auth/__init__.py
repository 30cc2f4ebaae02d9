"""How people and programs come in: tokens, login links, passwords, web sessions."""
