import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseLocation } from '../../store/database-location.ts';
import { findCredentials } from '../../store/find-credentials.ts';
import { createKey } from '../../store/keys.ts';
import { hashKey } from '../../store/key-text.ts';
import { openDatabase } from '../../store/open-database.ts';
import { createWorkspace, creditWorkspace, listWorkspaces } from '../../store/workspaces.ts';
import { type Money, parseUsd } from '../../core/money.ts';

const workspaceName = 'demo';
const creditUsd = '10';
/** docs/reference/api.md §8. */
const limits = { rate: 100, burst: 200, maxInFlight: 256 } as const;

/**
 * Makes sure that there is a workspace to try things with, and resolves to the text of a key of it that works. The
 * text is kept in `<data>/demo-key`, readable by its owner alone, so that the next start prints the same one.
 */
export async function prepareDemoAccount(options: {
  readonly data: string;
  readonly database: DatabaseLocation;
  readonly now: number;
  readonly report: (line: string) => void;
}): Promise<string> {
  const { data, now, report } = options;
  const keyFile = join(data, 'demo-key');
  const credit = parseUsd(creditUsd) ?? 0n;
  const database = await openDatabase(options.database, { missing: 'create', user: 'operator' });
  try {
    const { queries } = database;
    const found = (await listWorkspaces(queries)).find(({ name }) => name === workspaceName);
    const { maxInFlight } = limits;
    const workspace = found ?? (await createWorkspace(queries, { name: workspaceName, credit, maxInFlight, now }));
    if (isSpent(workspace.balance)) {
      // The curl that is printed has to work every time.
      await creditWorkspace(queries, workspaceName, { amount: credit - workspace.balance, now });
      report(`The workspace "${workspaceName}" had nothing left; it has $${creditUsd} again.`);
    }
    if (workspace.status === 'suspended')
      report(`The workspace "${workspaceName}" is suspended: \`weir workspace resume demo\`.`);

    const kept = readKept(keyFile);
    const hash = hashKey(kept ?? '');
    const credential = (await findCredentials(queries, [hash], now)).get(hash);
    if (kept !== undefined && credential?.key.status === 'active' && credential.workspace.name === workspaceName)
      return kept;
    const { rate, burst } = limits;
    const { text } = await createKey(queries, { workspace: workspaceName, rate, burst, now });
    writeFileSync(keyFile, `${text}\n`, { mode: 0o600 });
    return text;
  } finally {
    await database.close();
  }
}

function isSpent(balance: Money): boolean {
  return balance <= 0n;
}

function readKept(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
