// The entry for Node and Bun: the root's exports, with stdio servers switched on in the whole process.

import { native } from './native.js';

native.nativeEnableStdio();

export * from './index.js';
