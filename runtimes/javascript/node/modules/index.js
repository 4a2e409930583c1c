// The builtin modules of this layer by name; those around files, processes and modules join them in main.

import assert from './assert.js';
import assertStrict from './assert/strict.js';
import async_hooks from './async_hooks.js';
import buffer from './buffer.js';
import child_process from './child_process.js';
import cluster from './cluster.js';
import constants from './constants.js';
import crypto from './crypto.js';
import dgram from './dgram.js';
import diagnostics_channel from './diagnostics_channel.js';
import dns from './dns.js';
import dnsPromises from './dns/promises.js';
import domain from './domain.js';
import events from './events.js';
import http from './http.js';
import http2 from './http2.js';
import https from './https.js';
import inspector from './inspector.js';
import inspectorPromises from './inspector/promises.js';
import net from './net.js';
import os from './os.js';
import path from './path.js';
import perf_hooks from './perf_hooks.js';
import punycode from './punycode.js';
import querystring from './querystring.js';
import readline from './readline.js';
import readlinePromises from './readline/promises.js';
import repl from './repl.js';
import sea from './sea.js';
import sqlite from './sqlite.js';
import stream from './stream.js';
import streamConsumers from './stream/consumers.js';
import streamPromises from './stream/promises.js';
import streamWeb from './stream/web.js';
import string_decoder from './string_decoder.js';
import sys from './sys.js';
import test from './test.js';
import testReporters from './test/reporters.js';
import tls from './tls.js';
import trace_events from './trace_events.js';
import tty from './tty.js';
import url from './url.js';
import util from './util.js';
import types from './util/types.js';
import v8 from './v8.js';
import vm from './vm.js';
import wasi from './wasi.js';
import worker_threads from './worker_threads.js';
import zlib from './zlib.js';

export const modules = {
  assert,
  'assert/strict': assertStrict,
  async_hooks,
  buffer,
  child_process,
  cluster,
  constants,
  crypto,
  dgram,
  diagnostics_channel,
  dns,
  'dns/promises': dnsPromises,
  domain,
  events,
  http,
  http2,
  https,
  inspector,
  'inspector/promises': inspectorPromises,
  net,
  os,
  path,
  'path/posix': path.posix,
  'path/win32': path.win32,
  perf_hooks,
  punycode,
  querystring,
  readline,
  'readline/promises': readlinePromises,
  repl,
  sea,
  sqlite,
  stream,
  'stream/consumers': streamConsumers,
  'stream/promises': streamPromises,
  'stream/web': streamWeb,
  string_decoder,
  sys,
  test,
  'test/reporters': testReporters,
  tls,
  trace_events,
  tty,
  url,
  util,
  'util/types': types,
  v8,
  vm,
  wasi,
  worker_threads,
  zlib,
};

/** These are only found with `node:` in front, as in Node. */
export const PREFIX_ONLY = ['sea', 'sqlite', 'test', 'test/reporters'];
