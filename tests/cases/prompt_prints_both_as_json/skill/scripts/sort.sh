# Sorts | cuts `lines`.
