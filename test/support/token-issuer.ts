import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, type JWTPayload, SignJWT } from 'jose';
import { selfSigned } from './self-signed.ts';

/** An OpenID Connect issuer on the loopback. `NODE_EXTRA_CA_CERTS` of what asks it names `selfSigned.certificate`. */
export interface TokenIssuer {
  readonly issuer: string;
  /** Signs a token that ends in an hour. `key`: that of another issuer; default: the newest of this one. */
  readonly token: (claims: JWTPayload, header?: Readonly<Record<string, unknown>>) => Promise<string>;
  /** From now on it signs with another key. `keeps`: whether it goes on publishing the one before. */
  readonly rotate: (how: { readonly keeps: boolean }) => void;
  /** How it answers from now on. */
  readonly become: (state: IssuerState) => void;
  /** How often its keys were asked for. */
  readonly asked: () => number;
  readonly close: () => Promise<void>;
}

/** `many`: it publishes more keys than can be. */
export type IssuerState = 'well' | 'dead' | 'silent' | 'redirects' | 'many' | 'nonsense';

export async function startTokenIssuer(): Promise<TokenIssuer> {
  let number = 0;
  const pair = (): { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject } => ({
    kid: `key-${(number += 1)}`,
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  });
  let keys = [pair()];
  let state: IssuerState = 'well';
  let asked = 0;
  const server = createServer({ cert: selfSigned.certificate, key: selfSigned.key }, (request, response) => {
    if (request.url === '/keys') asked += 1;
    void answer(request, response);
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (state === 'dead') return void response.destroy();
    if (state === 'silent') return;
    if (state === 'redirects') return void response.writeHead(302, { location: `${issuer}/keys` }).end();
    response.setHeader('content-type', 'application/json');
    if (state === 'nonsense') return void response.end('{"keys": "none"}');
    if (request.url !== '/keys') return void response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
    const published = await Promise.all(
      keys.map(async ({ kid, publicKey }) => ({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' })),
    );
    const [first] = published;
    const all =
      state === 'many' ? Array.from({ length: 10_000 }, (_, index) => ({ ...first, kid: `${index}` })) : published;
    response.end(JSON.stringify({ keys: all }));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    token: async (claims, header = {}) => {
      const { kid, privateKey } = keys[0]!;
      const now = Math.floor(Date.now() / 1_000);
      const usual = { iss: issuer, aud: 'weir', iat: now, exp: now + 3_600 };
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(privateKey);
    },
    rotate: ({ keeps }) => (keys = [pair(), ...(keeps ? keys : [])]),
    become: (next) => {
      state = next;
      // What waits for an answer has none.
      server.closeAllConnections();
    },
    asked: () => asked,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
