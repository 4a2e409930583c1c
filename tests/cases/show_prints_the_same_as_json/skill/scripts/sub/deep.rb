# Digs.
