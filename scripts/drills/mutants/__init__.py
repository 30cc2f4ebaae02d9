"""The product with one of its guards taken out: each must be caught. Never part of the product."""
