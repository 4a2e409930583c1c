// node:url.

import { missingArgs, notImplemented } from '../internal/errors.js';
import { toUnicode } from './url/domains.js';
import { fileURLToPath, fileURLToPathBuffer, pathToFileURL, urlToHttpOptions } from './url/files.js';
import { format, parse, resolve, resolveObject, Url } from './url/legacy.js';
import { URLSearchParams } from './url/search_params.js';
import { URL } from './url/whatwg.js';

/** The host as a URL would hold it, or the empty text if it cannot. */
function hostOf(domain) {
  const url = URL.parse(`ws://${domain}`);
  return url === null || /[/?#@:]/.test(domain) ? '' : url.hostname;
}

function domainToASCII(domain) {
  if (arguments.length < 1) throw missingArgs('domain');
  return hostOf(`${domain}`);
}

function domainToUnicode(domain) {
  if (arguments.length < 1) throw missingArgs('domain');
  const host = hostOf(`${domain}`);
  return host === '' ? '' : toUnicode(host);
}

class URLPattern {
  constructor() {
    throw notImplemented('URLPattern');
  }
}

const url = {
  Url,
  parse,
  resolve,
  resolveObject,
  format,
  URL,
  URLPattern,
  URLSearchParams,
  domainToASCII,
  domainToUnicode,
  pathToFileURL,
  fileURLToPath,
  fileURLToPathBuffer,
  urlToHttpOptions,
};

export { URL, URLPattern, URLSearchParams, fileURLToPath, pathToFileURL };
export default url;
