// A setup file of the suites with real processes (vitest.config.ts): what a test opens, it closes. A socket or a timer
// that outlives its test is how a leak in the product hides behind a green run.
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type Counts, expectNothingAdded, openResources, processes, servers, sockets } from './open-resources.ts';

/**
 * Sockets are tolerated until the end of the file while something that the file shares (a server, a process) is up:
 * connection pools to it, and from it, are kept by design and close with it.
 */
function toleratedBeside(before: Counts): readonly string[] {
  return [...servers, ...processes].some((kind) => before.has(kind)) ? sockets : [];
}

// Hooks run as a stack: those of this file are the first before a test and the last after it, after the test's own.
const beforeFile = openResources();
let beforeTest: Counts = beforeFile;

beforeEach(() => {
  beforeTest = openResources();
});

afterEach(async () => {
  await expectNothingAdded(beforeTest, toleratedBeside(beforeTest));
});

afterAll(async () => {
  await expectNothingAdded(beforeFile);
});
