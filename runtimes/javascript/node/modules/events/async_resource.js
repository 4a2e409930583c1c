// EventEmitterAsyncResource: an emitter whose listeners run in the async context it was made in.

import { AsyncResource } from '../async_hooks.js';
import { EventEmitter } from './emitter.js';

class EventEmitterReferencingAsyncResource extends AsyncResource {
  #eventEmitter;

  constructor(emitter, type, options) {
    super(type, options);
    this.#eventEmitter = emitter;
  }

  get eventEmitter() {
    return this.#eventEmitter;
  }
}

export class EventEmitterAsyncResource extends EventEmitter {
  #asyncResource;

  constructor(options = undefined) {
    let name;
    if (typeof options === 'string') {
      name = options;
      options = undefined;
    } else {
      name = options?.name || new.target.name;
    }
    super(options);
    this.#asyncResource = new EventEmitterReferencingAsyncResource(this, name, options);
  }

  emit(event, ...args) {
    return this.#asyncResource.runInAsyncScope(super.emit, this, event, ...args);
  }

  emitDestroy() {
    this.#asyncResource.emitDestroy();
  }

  get asyncId() {
    return this.#asyncResource.asyncId();
  }

  get triggerAsyncId() {
    return this.#asyncResource.triggerAsyncId();
  }

  get asyncResource() {
    return this.#asyncResource;
  }
}
