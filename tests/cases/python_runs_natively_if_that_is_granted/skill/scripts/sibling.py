word = "a sibling"
