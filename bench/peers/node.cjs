// For bench/bindings.c: 1,000 checks for each line.
'use strict';
const { readSync, writeSync } = require('node:fs');
const { FileTracker } = require('../../bindings/node');

const tracker = new FileTracker('.');
tracker.trackRead('tracked.c');
const line = Buffer.alloc(1);
while (readSync(0, line) === 1) {
  for (let i = 0; i < 1000; i++) if (tracker.hasBeenModifiedSinceRead('tracked.c')) throw new Error('modified');
  writeSync(1, '\n');
}
