import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/process/clock.ts';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import { type Accounts, openAccounts } from '../../src/books/store/open-accounts.ts';

/** The ledger beside a test replica, opened as a command opens it. */
export interface TestLedger {
  readonly data: string;
  readonly accounts: Accounts;
  /** What a request with this key gets: `active`, `suspended`, `revoked` or `expired`; undefined: no such key. */
  readonly stateOf: (text: string | undefined) => Promise<string | undefined>;
  readonly balanceOf: (workspace: string) => Promise<bigint>;
  readonly close: () => Promise<void>;
}

export async function openTestLedger(): Promise<TestLedger> {
  const data = mkdtempSync(join(tmpdir(), 'weir-ledger-'));
  const accounts = await openAccounts(databaseLocation({ data }), { missing: 'create', user: 'operator' });
  return {
    data,
    accounts,
    stateOf: async (text = '') => {
      const now = systemClock.now();
      const found = await accounts.findCredential(text, now);
      if (found === undefined) return undefined;
      const isOver = found.key.expiresAt !== undefined && found.key.expiresAt <= now;
      return isOver && found.key.status === 'active' ? 'expired' : found.key.status;
    },
    balanceOf: async (workspace) => (await accounts.findWorkspace(workspace)).balance,
    close: async () => {
      await accounts.close();
      rmSync(data, { recursive: true });
    },
  };
}
