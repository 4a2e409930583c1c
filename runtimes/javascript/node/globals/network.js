// WebSocket, EventSource and the event that closes a socket. Both classes need a grant, and none is given to this runtime.

import { accessDenied } from '../internal/errors.js';
import { Event, EventTarget, exposed } from './event_target.js';
import { MessageEvent } from './messages.js';
import { netGrant } from '../modules/refused.js';

export class CloseEvent extends Event {
  #wasClean;
  #code;
  #reason;

  constructor(type, { wasClean = false, code = 0, reason = '' } = {}) {
    super(type);
    this.#wasClean = Boolean(wasClean);
    this.#code = code;
    this.#reason = `${reason}`;
  }

  get wasClean() {
    return this.#wasClean;
  }

  get code() {
    return this.#code;
  }

  get reason() {
    return this.#reason;
  }
}
exposed(CloseEvent.prototype, ['wasClean', 'code', 'reason'], 'CloseEvent');

export class WebSocket extends EventTarget {
  constructor(url) {
    super();
    throw accessDenied('new WebSocket', netGrant(`${url}`));
  }

  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSING = 2;
  static CLOSED = 3;
}

export class EventSource extends EventTarget {
  constructor(url) {
    super();
    throw accessDenied('new EventSource', netGrant(`${url}`));
  }

  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSED = 2;
}

export { MessageEvent };
