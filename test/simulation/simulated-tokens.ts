import { createTokens } from '../../src/gateway/identity/tokens.ts';
import { createIssuerReader } from '../../src/gateway/egress/read-issuer.ts';
import type { Tokens } from '../../src/core/identity.ts';
import { listIdentities } from '../../src/books/accounts/identities.ts';
import { openIdentityAccount } from '../../src/books/accounts/identity-accounts.ts';
import type { DatabaseLocation, OpenDatabase } from '../../src/books/databases/database.ts';
import type { Machine } from '../../src/books/databases/machine.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import type { Chance } from '../programmable-engine/chance.ts';
import type { IssuerTrouble } from './events.ts';
import type { Issuer } from './issuer.ts';
import type { Program } from './program.ts';
import type { World } from './world-view.ts';

/** The issuer of a world, as services reach it. */
export interface ReachedIssuer extends Pick<Issuer, 'documentAt'> {
  readonly trouble: () => IssuerTrouble | undefined;
  readonly learnAccounts: World['learnAccounts'];
}

/** Tokens in place of keys, connected as `programs/serve/open-tokens.ts` connects them. */
export function openSimulatedTokens({
  program,
  machine,
  location,
  issuer,
  chance,
  wayMs,
  note,
}: {
  readonly program: Program;
  readonly machine: Machine;
  readonly location: DatabaseLocation;
  readonly issuer: ReachedIssuer;
  readonly chance: Chance;
  /** How long a message to the thread of accounts takes. */
  readonly wayMs: number;
  readonly note: (text: string) => void;
}): { readonly tokens: Tokens; readonly close: () => Promise<void> } {
  const clock = program.time;
  let opening: Promise<OpenDatabase> | undefined;

  async function opened(): Promise<OpenDatabase['queries']> {
    opening ??= openDatabase(location, { missing: 'refuse', user: 'operator' }, machine).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return (await opening).queries;
  }

  /** In the thread of accounts. */
  const operate = <Result>(run: (queries: OpenDatabase['queries']) => Promise<Result>): Promise<Result> =>
    new Promise((resolve, reject) => {
      program.deliver(wayMs, () => {
        opened()
          .then(run)
          .then(
            (result) => program.deliver(wayMs, () => resolve(result)),
            (error: unknown) => program.deliver(wayMs, () => reject(error)),
          );
      });
    });

  const fetch = (url: string, signal: AbortSignal): Promise<unknown> =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      const wayToIt = 1 + chance() * 30;
      program.deliver(wayToIt, () => {
        const trouble = issuer.trouble();
        const answer = issuer.documentAt(url);
        if (trouble === 'silent') return;
        program.deliver(wayToIt, () => (trouble === 'dead' ? reject(new Error('refused')) : resolve(answer)));
      });
    });

  const tokens = createTokens({
    clock,
    identities: () => operate(listIdentities),
    open: (account) =>
      operate(async (queries) => {
        const by = { actor: { kind: 'service', name: 'weir' } as const, now: clock.now() };
        const hash = await openIdentityAccount(queries, account, by);
        await issuer.learnAccounts(queries);
        return hash;
      }),
    issuer: (name) =>
      createIssuerReader({
        ...{ expected: name, configurationUrl: `${name}/.well-known/openid-configuration`, fetch, clock },
        report: { succeeded: () => undefined, failed: () => undefined },
      }),
    refused: ({ fault }) => note(`token refused: ${fault}`),
  });
  return { tokens, close: async () => (await opening?.catch(() => undefined))?.close() };
}
