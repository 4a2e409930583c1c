// node:sea: this is no single-file program.

import { nodeError } from '../internal/errors.js';

const none = (name) =>
  ({
    [name]() {
      throw nodeError(Error, 'ERR_NOT_IN_SINGLE_EXECUTABLE_APPLICATION', 'Operation cannot be invoked when not in a single-executable application');
    },
  })[name];

export default {
  isSea: () => false,
  getAsset: none('getAsset'),
  getRawAsset: none('getRawAsset'),
  getAssetAsBlob: none('getAssetAsBlob'),
  getAssetKeys: none('getAssetKeys'),
};
