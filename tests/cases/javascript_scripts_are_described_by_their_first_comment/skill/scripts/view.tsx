// A view.
export {};
