export function installIntl() {}
