echo "to stdout"
echo "to stderr" >&2
exit 7
