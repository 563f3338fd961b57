import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createKey, type KeyRecord } from '../../src/adapters/store/keys.ts';
import { openDatabase } from '../../src/adapters/store/open-database.ts';
import { createWorkspace } from '../../src/adapters/store/workspaces.ts';
import type { Workspace } from '../../src/core/account.ts';
import { parseUsd } from '../../src/core/money.ts';

export const sampleNow = Date.UTC(2026, 6, 1);

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A new database on the disk with one workspace, "acme", and one key of it. Closed when the test is over. */
export async function sampleDatabase(credit = '10') {
  const file = join(temporaryFolder(), 'weir.db');
  const database = await openDatabase({ file, missing: 'create' });
  onTestFinished(() => database.close());
  const { queries } = database;
  const workspace: Workspace = await createWorkspace(queries, {
    name: 'acme',
    credit: parseUsd(credit) ?? 0n,
    maxInFlight: 256,
    now: sampleNow,
  });
  const made = await createKey(queries, { workspace: 'acme', rate: 100, burst: 200, now: sampleNow });
  const key: KeyRecord = made.key;
  return { file, queries, workspace, key, text: made.text, ids: { workspaceId: workspace.id, keyId: key.id } };
}
