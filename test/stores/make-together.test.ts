import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/sample-database.ts';

test('processes that make the same ledger at the same moment all have it open', { timeout: 60_000 }, async () => {
  const root = temporaryFolder();
  const program = join(import.meta.dirname, 'support', 'make-ledgers-together.ts');
  // Without another attempt at the switch to a write-ahead log, one in a hundred found the database locked.
  const made = Array.from({ length: 3 }, () => promisify(execFile)(process.execPath, [program, root, '60']));
  for (const { stderr } of await Promise.all(made)) expect(stderr).toBe('');
});
