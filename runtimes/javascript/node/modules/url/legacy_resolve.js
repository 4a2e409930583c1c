// How url.resolve puts a relative URL on a base, with the old parser's parts.

const SLASHED = new Set(['http:', 'https:', 'ftp:', 'gopher:', 'file:', 'ws:', 'wss:']);

/** `base` with `relative` put on it, written into `result`. */
export function resolvePath(base, relative, result) {
  Object.assign(result, base);
  result.hash = relative.hash;
  if (relative.href === '') return finished(result);
  if (relative.slashes && !relative.protocol) {
    const { protocol } = result;
    Object.assign(result, relative, { protocol });
    if (SLASHED.has(protocol) && result.hostname && !result.pathname) result.path = result.pathname = '/';
    return finished(result);
  }
  if (relative.protocol && relative.protocol !== result.protocol) return otherProtocol(result, relative);
  if (result.protocol && !SLASHED.has(result.protocol)) return hostlessPath(result, relative);

  const absolute = relative.host || relative.pathname?.startsWith('/');
  if (absolute) {
    // Null where the reference names no host; an empty one, as in `file:///a`, counts. Who logs in belongs to the host.
    const names = ['host', 'hostname'].filter((name) => typeof relative[name] === 'string');
    if (names.some((name) => relative[name] !== result[name])) result.auth = null;
    for (const name of names) result[name] = relative[name];
    if (names.includes('host')) result.port = relative.port;
  }
  let segments = result.pathname?.split('/') ?? [];
  const rooted = Boolean(absolute || result.pathname?.startsWith('/') || (result.host && relative.pathname));
  if (absolute) segments = relative.pathname?.split('/') ?? [];
  else if (relative.pathname) segments = [...segments.slice(0, -1), ...relative.pathname.split('/')];
  else if (relative.search != null) {
    takeSearch(result, relative);
    setPath(result);
    return finished(result);
  }
  if (absolute || relative.pathname) takeSearch(result, relative);
  if (segments.length === 0) {
    result.pathname = null;
    result.path = result.search ? `/${result.search}` : null;
    return finished(result);
  }
  result.pathname = withoutDots(segments, rooted, Boolean(result.host || relative.host));
  setPath(result);
  result.auth = relative.auth || result.auth;
  result.slashes ||= relative.slashes;
  return finished(result);
}

function takeSearch(result, relative) {
  result.search = relative.search;
  result.query = relative.query;
}

function setPath(result) {
  if (result.pathname !== null || result.search !== null) result.path = (result.pathname || '') + (result.search || '');
}

function finished(result) {
  result.href = result.format();
  return result;
}

function otherProtocol(result, relative) {
  if (!SLASHED.has(relative.protocol)) return finished(Object.assign(result, relative));
  result.protocol = relative.protocol;
  let { pathname, host, hostname } = relative;
  if (!host && relative.protocol !== 'file:') {
    // `http:a/b` means the host `a`.
    const segments = (pathname || '').split('/');
    while (segments.length > 0 && !(host = segments.shift()));
    host ||= '';
    hostname ||= '';
    if (segments[0] !== '') segments.unshift('');
    if (segments.length < 2) segments.unshift('');
    pathname = segments.join('/');
  }
  result.pathname = pathname;
  takeSearch(result, relative);
  result.host = host || '';
  result.auth = relative.auth;
  result.hostname = hostname || host;
  result.port = relative.port;
  if (result.pathname || result.search) result.path = (result.pathname || '') + (result.search || '');
  result.slashes ||= relative.slashes;
  return finished(result);
}

/** Without `//`, as in `mailto:` and `data:`, the host counts as the first part of the path. */
function hostlessPath(result, relative) {
  let segments = result.pathname?.split('/') ?? [];
  if (result.host) {
    if (segments[0] === '') segments[0] = result.host;
    else segments.unshift(result.host);
  }
  const other = relative.pathname?.split('/') ?? [];
  if (relative.protocol && relative.host) {
    if (other[0] === '') other[0] = relative.host;
    else other.unshift(relative.host);
  }
  const absolute = relative.host || relative.pathname?.startsWith('/');
  if (absolute) segments = other;
  else if (other.length > 0) segments = [...segments.slice(0, -1), ...other];
  if (absolute || other.length > 0 || relative.search != null) takeSearch(result, relative);
  const path = withoutDots(segments, segments[0] === '', segments.length > 1).split('/');
  result.port = null;
  result.host = result.hostname = path[0] === '' ? '' : (path.shift() ?? '');
  if (result.host.indexOf('@') > 0) [result.auth, result.host] = result.host.split('@');
  result.hostname = result.host;
  result.pathname = path.length === 0 ? null : `${path[0] === '' || !result.host ? '' : '/'}${path.join('/')}`;
  setPath(result);
  return finished(result);
}

function withoutDots(segments, rooted, hasHost) {
  const last = segments[segments.length - 1];
  const trailing = last === '' || ((hasHost || segments.length > 1) && (last === '.' || last === '..'));
  const kept = [];
  let up = 0;
  for (let index = segments.length - 1; index >= 0; index--) {
    if (segments[index] === '.') continue;
    if (segments[index] === '..') up++;
    else if (up > 0) up--;
    else kept.unshift(segments[index]);
  }
  if (!rooted) for (; up > 0; up--) kept.unshift('..');
  if (rooted && kept[0] !== '') kept.unshift('');
  if (trailing && !kept.join('/').endsWith('/')) kept.push('');
  return kept.join('/');
}
