globalThis.f();
