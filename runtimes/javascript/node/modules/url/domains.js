// Domain names in ASCII and in Unicode.

import tr46 from 'tr46';

const OPTIONS = {
  checkHyphens: false,
  checkBidi: true,
  checkJoiners: true,
  useSTD3ASCIIRules: false,
  transitionalProcessing: false,
  verifyDNSLength: false,
};

/** The ASCII form; the empty text for what is no domain. */
export function toASCII(domain) {
  if (/^[\0-\x7f]*$/.test(domain) && !/(^|\.)xn--/i.test(domain)) return domain.toLowerCase();
  return tr46.toASCII(domain, OPTIONS) ?? '';
}

export function toUnicode(domain) {
  return tr46.toUnicode(domain, OPTIONS).domain;
}
