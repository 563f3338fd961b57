import { join } from 'node:path';
import { internalToken } from '../../../src/core/internal-token.ts';
import { type LiveCatalog, liveCatalogSchema } from '../../../src/control/core/live-catalog.ts';
import { openAccounts } from '../../../src/books/store/open-accounts.ts';
import type { Weir } from '../../support/weir.ts';

/** The catalog as the service of a gateway lives with it, which the portal shows. */
export async function liveCatalog({ data, opsUrl }: Pick<Weir, 'data' | 'opsUrl'>): Promise<LiveCatalog> {
  const location = { kind: 'sqlite', file: join(data, 'weir.db') } as const;
  const accounts = await openAccounts(location, { missing: 'refuse', user: 'operator' });
  const token = internalToken(await accounts.sharedSecret());
  await accounts.close();
  const response = await fetch(new URL('/internal/catalog', opsUrl), { headers: { authorization: `Bearer ${token}` } });
  return liveCatalogSchema.parse(await response.json());
}
