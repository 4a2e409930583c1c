// EventEmitterAsyncResource: an emitter whose listeners run in the async context it was made in.

import { AsyncResource } from '../async_hooks.js';
import { EventEmitter } from './emitter.js';

/** What an emitter's `asyncResource` is: it names the emitter it belongs to. */
class ResourceOfEmitter extends AsyncResource {
  #owner;

  constructor(owner, type, options) {
    super(type, options);
    this.#owner = owner;
  }

  get eventEmitter() {
    return this.#owner;
  }
}

export class EventEmitterAsyncResource extends EventEmitter {
  #resource;

  constructor(nameOrOptions = undefined) {
    const options = typeof nameOrOptions === 'string' ? { name: nameOrOptions } : nameOrOptions;
    super(options);
    this.#resource = new ResourceOfEmitter(this, options?.name || new.target.name, options);
  }

  emit(...typeAndArguments) {
    return this.#resource.runInAsyncScope(super.emit, this, ...typeAndArguments);
  }

  emitDestroy() {
    this.#resource.emitDestroy();
  }

  get asyncId() {
    return this.#resource.asyncId();
  }

  get triggerAsyncId() {
    return this.#resource.triggerAsyncId();
  }

  get asyncResource() {
    return this.#resource;
  }
}
