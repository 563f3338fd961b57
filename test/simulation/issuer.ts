import { Buffer } from 'node:buffer';
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type Chance, seededChance } from '../programmable-engine/chance.ts';
import { accountOf } from './accounts.ts';
import type { RequestEvent } from './events.ts';

/** An issuer of tokens, whose keys and texts follow from a seed. */
export interface Issuer {
  /** A token for a request that begins now. Callers keep one for some minutes. */
  readonly tokenOf: (event: RequestEvent) => string;
  /** Publishes a further key, and signs with it from now on. */
  readonly rotate: () => void;
  /** What it publishes at an address. */
  readonly documentAt: (url: string) => unknown;
}

export const audience = 'weir';
export const teamOf = (seed: number, workspace: number): string => `ws${workspace}-${seed}`;

/** How long a caller uses a token, and how long it then still lives, seconds. */
const [usedSeconds, spareSeconds] = [600, 300];
/** Before the 32 bytes of a key of Ed25519, in PKCS #8 (RFC 8410, section 7). */
const der = Buffer.from('302e020100300506032b657004220420', 'hex');

function keyFrom(chance: Chance): KeyObject {
  const bytes = Buffer.from(Array.from({ length: 32 }, () => Math.floor(chance() * 256)));
  return createPrivateKey({ key: Buffer.concat([der, bytes]), format: 'der', type: 'pkcs8' });
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** `now`: milliseconds since the Unix epoch. `startsAt`: when the world began. */
export function createIssuer(
  name: string,
  { seed, startsAt, now }: { readonly seed: number; readonly startsAt: number; readonly now: () => number },
): Issuer {
  const chance = seededChance(seed ^ 0x70c3);
  const stranger = keyFrom(chance);
  const keys = [keyFrom(chance)];

  function claimsOf({ key, token = {} }: RequestEvent): Readonly<Record<string, unknown>> {
    const { identity, subject, workspace } = accountOf(key)!;
    const { flaw, endsAt } = token;
    const end =
      endsAt === undefined
        ? Math.floor(now() / 1_000 / usedSeconds + 1) * usedSeconds + spareSeconds
        : Math.floor((startsAt + endsAt) / 1_000);
    return {
      iss: flaw === 'issuer' ? `${name}.evil` : name,
      aud: flaw === 'audience' ? 'another' : ['others', audience],
      sub: subject ?? 'anyone',
      app: flaw === 'app' ? 'nobody' : identity.name,
      ...(flaw === 'tag' ? {} : { tag: identity.name }),
      team: flaw === 'team' ? 'nobody' : teamOf(seed, workspace),
      ...{ iat: end - usedSeconds - spareSeconds, exp: end },
    };
  }

  return {
    tokenOf: (event) => {
      const flaw = event.token?.flaw;
      const kid = flaw === 'unknown-key' ? `never-${event.id}` : `key-${keys.length}`;
      const signed = `${part({ alg: flaw === 'unsigned' ? 'none' : 'EdDSA', kid })}.${part(claimsOf(event))}`;
      const key = flaw === 'signature' || flaw === 'unknown-key' ? stranger : keys.at(-1)!;
      return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`;
    },
    rotate: () => void keys.push(keyFrom(chance)),
    documentAt: (url) =>
      url.endsWith('/keys')
        ? {
            keys: keys.map((key, index) => {
              const published = createPublicKey(key).export({ format: 'jwk' });
              return { ...published, kid: `key-${index + 1}`, alg: 'EdDSA', use: 'sig' };
            }),
          }
        : { issuer: name, jwks_uri: `${name}/keys` },
  };
}
