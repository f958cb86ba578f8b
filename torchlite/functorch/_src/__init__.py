"""`functorch._src`: private modules of functorch's, by the names that older packages have for them."""
