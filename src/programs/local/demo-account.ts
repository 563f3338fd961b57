import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Authorship } from '../../books/core/administration.ts';
import { type Money, parseUsd } from '../../core/money.ts';
import { maxSecretBytes, readBoundedFileSync } from '../../process/bounded-file.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { openDatabase } from '../../books/databases/open-database.ts';
import { creditWorkspace } from '../../books/accounts/credits.ts';
import { findCredentials } from '../../books/accounts/find-credentials.ts';
import { hashKey } from '../../books/accounts/key-text.ts';
import { createKey } from '../../books/accounts/keys.ts';
import { createWorkspace, listWorkspaces } from '../../books/accounts/workspaces.ts';

const workspaceName = 'demo';
const creditUsd = '10';
/** docs/reference/api.md §8. */
const limits = { rate: 100, burst: 200, maxInFlight: 256 } as const;

/**
 * Makes sure that there is a workspace for the demo, and resolves to the text of a valid key of it. The text is stored
 * in `<data>/demo-key`, readable only by its owner, so that the next start prints the same key.
 */
export async function prepareDemoAccount(options: {
  readonly data: string;
  readonly database: DatabaseLocation;
  readonly by: Authorship;
  readonly report: (line: string) => void;
}): Promise<string> {
  const { data, by, report } = options;
  const keyFile = join(data, 'demo-key');
  const credit = parseUsd(creditUsd) ?? 0n;
  const database = await openDatabase(options.database, { missing: 'create', user: 'operator' });
  try {
    const { queries } = database;
    const found = (await listWorkspaces(queries)).find(({ name }) => name === workspaceName);
    const { maxInFlight } = limits;
    const workspace = found ?? (await createWorkspace(queries, { name: workspaceName, credit, maxInFlight }, by));
    if (isSpent(workspace.balance)) {
      // The curl that is printed has to work every time.
      const amount = credit - workspace.balance;
      await creditWorkspace(queries, workspaceName, { amount, note: 'demo' }, by);
      report(`The workspace "${workspaceName}" had no balance left; it has $${creditUsd} again.`);
    }
    if (workspace.status === 'suspended')
      report(`The workspace "${workspaceName}" is suspended: \`weir workspace resume demo\`.`);

    const kept = readKept(keyFile);
    const hash = hashKey(kept ?? '');
    const credential = (await findCredentials(queries, [hash], by.now)).get(hash);
    const { key, workspace: owner } = credential ?? {};
    const isGood = key?.status === 'active' && (key.expiresAt ?? Infinity) > by.now && key.models === undefined;
    if (kept !== undefined && isGood && owner?.name === workspaceName) return kept;
    const { rate, burst } = limits;
    const { text } = await createKey(queries, { workspace: workspaceName, rate, burst }, by);
    writeFileSync(keyFile, `${text}\n`, { mode: 0o600 });
    return text;
  } finally {
    await database.close();
  }
}

/** The name of a workspace for which a key can be made. Undefined: there is none yet, or the database does not answer. */
export async function usableWorkspace(location: DatabaseLocation): Promise<string | undefined> {
  try {
    const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    try {
      return (await listWorkspaces(database.queries)).find(({ status }) => status === 'active')?.name;
    } finally {
      await database.close();
    }
  } catch {
    return undefined;
  }
}

function isSpent(balance: Money): boolean {
  return balance <= 0n;
}

function readKept(file: string): string | undefined {
  try {
    return String(readBoundedFileSync(file, maxSecretBytes)).trim();
  } catch {
    return undefined;
  }
}
