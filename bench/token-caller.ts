import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTokenIssuer } from '../test/support/token-issuer.ts';
import { selfSigned } from '../test/support/self-signed.ts';

/** An issuer of tokens for a second caller of the same gateway, whose first caller has a key. */
export interface TokenCaller {
  readonly issuer: string;
  /** The environment of a Weir that trusts it. */
  readonly environment: Readonly<Record<string, string>>;
  /** As long as that of a ServiceAccount, for an identity that takes all tokens of the issuer. */
  readonly token: string;
  readonly stop: () => Promise<void>;
}

/** Starts the issuer. Its authority is a file in `folder`. */
export async function startTokenCaller(folder: string): Promise<TokenCaller> {
  const authority = join(folder, 'issuer.pem');
  await writeFile(authority, selfSigned.certificate);
  const { issuer, token, close } = await startTokenIssuer();
  const account = { name: 'indexer', uid: '9c2dcf0d-5bd2-4e2e-9c3c-6a4e3f0b7a10' };
  const bound = { namespace: 'search', serviceaccount: account, pod: { ...account, name: 'indexer-5d9c7b6f4-x2v8q' } };
  return {
    issuer,
    environment: { WEIR_IDENTITIES: 'on', NODE_EXTRA_CA_CERTS: authority },
    token: await token({ sub: 'system:serviceaccount:search:indexer', 'kubernetes.io': bound }),
    stop: close,
  };
}
