# Helps.
