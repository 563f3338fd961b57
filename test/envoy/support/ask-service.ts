import { join } from 'node:path';
import { internalToken } from '../../../src/core/internal-token.ts';
import { openAccounts } from '../../../src/books/store/open-accounts.ts';
import type { Weir } from '../../support/weir.ts';

/** Reads paths below `/internal/` of the service of a gateway, with the token of its database. */
export async function askService({
  data,
  opsUrl,
}: Pick<Weir, 'data' | 'opsUrl'>): Promise<(path: string) => Promise<unknown>> {
  const location = { kind: 'sqlite', file: join(data, 'weir.db') } as const;
  const accounts = await openAccounts(location, { missing: 'refuse', user: 'operator' });
  const authorization = `Bearer ${internalToken(await accounts.sharedSecret())}`;
  await accounts.close();
  return async (path) => (await fetch(new URL(`/internal/${path}`, opsUrl), { headers: { authorization } })).json();
}
