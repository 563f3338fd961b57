import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSigned } from '../support/self-signed.ts';

/** The issuer of a plan's tokens, as services read it. */
export interface PlayedIssuer {
  readonly name: string;
  /** Of services that read it. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on it publishes these. */
  readonly publish: (documentAt: (url: string) => unknown) => void;
  readonly close: () => Promise<void>;
}

export async function startPlayedIssuer(): Promise<PlayedIssuer> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-issuer-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, selfSigned.certificate);
  let documentAt: (url: string) => unknown = () => undefined;
  const server = createServer({ cert: selfSigned.certificate, key: selfSigned.key }, ({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(documentAt(url) ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    name: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    env: { WEIR_IDENTITIES: 'on', NODE_EXTRA_CA_CERTS: authority },
    publish: (published) => {
      documentAt = published;
    },
    close: () =>
      new Promise<void>((resolve) => {
        rmSync(folder, { recursive: true });
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
