# Prints a word.
echo hello
