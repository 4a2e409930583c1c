// TODO hidden
