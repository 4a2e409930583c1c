// node:v8. The engine is another one; what can be answered for it is, the rest says so.

import { binding } from '../internal/binding.js';
import { invalidArgType } from '../internal/errors.js';
import { absentCall } from './refused.js';

const reason = 'the engine is not V8';
const absent = (name) => absentCall('v8', name, reason);

function getHeapStatistics() {
  const [memory, heap] = binding.memoryUsage();
  return {
    total_heap_size: memory,
    total_heap_size_executable: 0,
    total_physical_size: memory,
    total_available_size: 4 * 1024 ** 3 - memory,
    used_heap_size: heap,
    heap_size_limit: 4 * 1024 ** 3,
    malloced_memory: heap,
    peak_malloced_memory: heap,
    does_zap_garbage: 0,
    number_of_native_contexts: 1,
    number_of_detached_contexts: 0,
    total_global_handles_size: 0,
    used_global_handles_size: 0,
    external_memory: 0,
    total_allocated_bytes: heap,
  };
}

function isStringOneByteRepresentation(content) {
  if (typeof content !== 'string') throw invalidArgType('content', 'string', content);
  return /^[\0-\xff]*$/.test(content);
}

const classes = (...names) => Object.fromEntries(names.map((name) => [name, absent(name)]));

export default {
  cachedDataVersionTag: () => 0,
  getHeapSnapshot: absent('getHeapSnapshot'),
  getHeapStatistics,
  getHeapSpaceStatistics: () => [],
  getHeapCodeStatistics: () => ({
    code_and_metadata_size: 0,
    bytecode_and_metadata_size: 0,
    external_script_source_size: 0,
    cpu_profiler_metadata_size: 0,
  }),
  getCppHeapStatistics: absent('getCppHeapStatistics'),
  setFlagsFromString() {},
  ...classes('Serializer', 'Deserializer', 'DefaultSerializer', 'DefaultDeserializer', 'deserialize'),
  takeCoverage() {},
  stopCoverage() {},
  ...classes('serialize', 'writeHeapSnapshot'),
  promiseHooks: classes('createHook', 'onInit', 'onBefore', 'onAfter', 'onSettled'),
  queryObjects: absent('queryObjects'),
  startupSnapshot: { ...classes('addDeserializeCallback', 'addSerializeCallback', 'setDeserializeMainFunction'), isBuildingSnapshot: () => false },
  setHeapSnapshotNearHeapLimit() {},
  GCProfiler: absent('GCProfiler'),
  isStringOneByteRepresentation,
  startCpuProfile: absent('startCpuProfile'),
};
