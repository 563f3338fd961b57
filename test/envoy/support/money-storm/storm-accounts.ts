import { databaseLocation } from '../../../../src/books/databases/database-location.ts';
import { openDatabase } from '../../../../src/books/databases/open-database.ts';
import { settleBatch } from '../../../../src/books/ledger/settle-batch.ts';
import { sampleOutcome } from '../../../support/sample-outcome.ts';
import { picoUsd } from '../cost.ts';
import { runWeir } from '../../../support/run-weir.ts';
import type { LedgerRow } from '../../../support/weir.ts';
import type { StormDatabase } from './storm-exports.ts';
import { type StormKey, stormModels } from './storm-kinds.ts';

/** The accounts of a storm, seen through the commands that an operator has. */
export interface StormAccounts {
  readonly database: StormDatabase;
  readonly keys: Readonly<Record<StormKey, string>>;
  /** When the key `expiring` does, milliseconds since the Unix epoch. */
  readonly keyExpiresAt: number;
  /** Rows of requests that were started since then, an ISO 8601 moment; since the storm began unless told. */
  readonly rows: (since?: string) => Promise<readonly LedgerRow[]>;
  /** The text of a key of a workspace of its own, which may do as much as it likes. */
  readonly keyBeside: (workspace: string) => Promise<string>;
  /** Takes something from the workspace that pays, with a note, and gives half of it back. */
  readonly correct: () => Promise<void>;
  /** How many of the requests that are older than they are to be kept are still there. */
  readonly oldRequests: () => Promise<number>;
  /** What the workspaces have less than they were given, all in all, in 10⁻¹² USD. */
  readonly drop: () => Promise<bigint>;
  /** By how much `weir ledger verify` finds the books wrong, all in all; it must say so itself when it is anything. */
  readonly difference: () => Promise<bigint>;
}

interface Workspace {
  readonly name: string;
  readonly balance: string;
}

interface Books {
  readonly ok: boolean;
  readonly workspaces: readonly { readonly balance: string; readonly expected: string }[];
  readonly spending: { readonly differences: readonly { readonly counted: string; readonly expected: string }[] };
}

const credit = '1000';
/** Long enough for a storm to be in full swing on a busy machine, and short enough to be over before the storm is. */
const keyLastsMs = 20_000;

/** Makes the workspaces and keys of a storm. */
export async function openStormAccounts(where: StormDatabase): Promise<StormAccounts> {
  const weir = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await runWeir([...args, '--json', ...where.flags], { env: where.env });
    // `ledger verify` has an answer for books that are wrong, too.
    if (stderr !== '' || (code !== 0 && args[0] !== 'ledger')) throw new Error(`weir ${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout);
  };
  const keyOf = async (workspace: string, ...limits: readonly string[]) =>
    (await weir('key', 'create', '--workspace', workspace, ...limits)) as { readonly id: string; readonly key: string };

  await weir('workspace', 'create', 'storm', '--credit', credit, '--max-in-flight', '100000');
  await weir('workspace', 'create', 'broke');
  const rich = await keyOf('storm', '--rate', '100000', '--burst', '100000');
  const narrow = await keyOf('storm', '--rate', '1', '--burst', '1');
  const suspended = await keyOf('storm');
  await weir('key', 'suspend', suspended.id);
  const broke = await keyOf('broke');
  const old = (await weir('workspace', 'create', 'old', '--credit', '1')) as { readonly id: string };
  await settleLongAgo(where, { workspaceId: old.id, keyId: (await keyOf('old')).id });
  const begun = new Date().toISOString();
  const limited = await keyOf('storm', '--models', `${stormModels.steady},other/*`);
  const keyExpiresAt = Date.now() + keyLastsMs;
  const expiring = await keyOf('storm', '--expires', new Date(keyExpiresAt).toISOString(), '--name', 'storm');
  let given = picoUsd(credit);

  const apart = (one: string, other: string): bigint => {
    const difference = picoUsd(one) - picoUsd(other);
    return difference < 0n ? -difference : difference;
  };
  return {
    database: where,
    keys: {
      ...{ rich: rich.key, narrow: narrow.key, suspended: suspended.key, broke: broke.key, none: '' },
      ...{ expiring: expiring.key, limited: limited.key },
    },
    keyExpiresAt,
    rows: async (since = begun) =>
      (await weir('usage', '--requests', '--limit', '1000000', '--since', since)) as readonly LedgerRow[],
    keyBeside: async (workspace) => {
      await weir('workspace', 'create', workspace, '--credit', '1000000', '--max-in-flight', '256');
      return (await keyOf(workspace, '--rate', '1000', '--burst', '1000')).key;
    },
    correct: async () => {
      const [taken, back] = ['3.000000000001', '1.5'] as const;
      await weir('workspace', 'credit', 'storm', `-${taken}`, '--note', 'storm');
      await weir('workspace', 'credit', 'storm', back, '--note', 'storm');
      given += picoUsd(back) - picoUsd(taken);
    },
    oldRequests: async () => {
      const rows = await weir('usage', '--requests', '--limit', '1000000', '--workspace', 'old');
      return (rows as readonly LedgerRow[]).length;
    },
    drop: async () => {
      const workspaces = (await weir('workspace', 'list')) as readonly Workspace[];
      const storm = workspaces.find(({ name }) => name === 'storm');
      return given - picoUsd(storm?.balance);
    },
    difference: async () => {
      const { ok, workspaces, spending } = (await weir('ledger', 'verify')) as Books;
      const differences = [
        ...workspaces.map(({ balance, expected }) => apart(balance, expected)),
        ...spending.differences.map(({ counted, expected }) => apart(counted, expected)),
      ];
      const sum = differences.reduce((total, each) => total + each, 0n);
      if (ok !== (sum === 0n)) throw new Error(`the books differ by ${sum}, and ok is ${ok}`);
      return sum;
    },
  };
}

const dayMs = 86_400_000;

/** Settles requests of the last months, which a service with a retention of a day drops while the storm goes on. */
async function settleLongAgo(
  where: StormDatabase,
  ids: { readonly workspaceId: string; readonly keyId: string },
): Promise<void> {
  const location = databaseLocation({ data: where.flags[1], url: where.env['WEIR_DATABASE_URL'] });
  const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
  try {
    for (let days = 100; days > 40; days -= 1) {
      const rows = Array.from({ length: 50 }, (_, index) =>
        sampleOutcome({
          ...ids,
          requestId: `old-${days}-${index}`,
          startedAt: Date.now() - days * dayMs + index,
          cost: 3n,
        }),
      );
      await settleBatch(database, rows);
    }
  } finally {
    await database.close();
  }
}
