echo "$0 $PWD $TMPDIR $HOME $SKILL_BASE_DIR"
echo made > made
ls /
ls /skill /workspace
