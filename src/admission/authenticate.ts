import type { Credential } from '../core/account.ts';
import type { KeyHeader } from '../core/dialect.ts';
import { Failure } from '../core/failure.ts';
import type { RequestHead } from '../core/exchange.ts';
import type { Store } from '../core/store.ts';

export interface AuthenticateOptions {
  readonly store: Store;
  /** Whether a text has the form and checksum of a key. */
  readonly looksLikeKey: (text: string) => boolean;
  /** SHA-256 of a key's text, lowercase hex. */
  readonly hashKey: (text: string) => string;
  /** Address named to suspended callers (docs/reference/api.md §5). */
  readonly abuseContact: string;
}

/** How a caller sends a key in each header, for who sent none. */
const forms: Readonly<Record<KeyHeader, string>> = {
  authorization: '"Authorization: Bearer <API_KEY>"',
  'x-api-key': '"x-api-key: <API_KEY>"',
};

/** Text of a bearer credential (RFC 6750 §2.1); the scheme's case does not matter (RFC 9110 §11.1). */
export function bearerText(head: RequestHead): string | undefined {
  return /^bearer +(\S+)$/i.exec(head.header('authorization')?.trim() ?? '')?.[1];
}

const textIn = (head: RequestHead, header: KeyHeader): string | undefined =>
  header === 'authorization' ? bearerText(head) : head.header(header)?.trim();

/**
 * The key among the headers in which it may come; undefined when there is none. Clients may send two of them, one with
 * another service's key: the first that looks like ours counts.
 */
function keyIn(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  { looksLikeKey }: Pick<AuthenticateOptions, 'looksLikeKey'>,
): string | undefined {
  for (const header of keyHeaders) {
    const text = textIn(head, header);
    if (text !== undefined && looksLikeKey(text)) return text;
  }
  return undefined;
}

/** Who calls. */
export interface Authenticated {
  readonly credential: Credential;
  /** The same credential as it is known by then, less what has been settled since; undefined when nobody can say. */
  readonly latest: () => Credential | undefined | Promise<Credential | undefined>;
}

/**
 * Finds who calls, from the headers alone: `keyHeaders` in the order in which a key is looked for. Throws
 * `unauthenticated` for a missing, mistyped, unknown or revoked key and `suspended` for a suspended key or workspace
 * (docs/reference/api.md §5).
 */
export async function authenticate(
  head: RequestHead,
  keyHeaders: readonly KeyHeader[],
  options: AuthenticateOptions,
): Promise<Authenticated> {
  const { store } = options;
  const refusal = (): Failure => {
    const ways = keyHeaders.map((header) => forms[header]).join(' or ');
    return new Failure('unauthenticated', `Missing or invalid API key: send ${ways}.`);
  };
  const text = keyIn(head, keyHeaders, options);
  if (text === undefined) throw refusal();
  const hash = options.hashKey(text);
  const found = store.findCredential(hash);
  const credential = found instanceof Promise ? await found : found;
  if (credential === undefined || credential.key.status === 'revoked') throw refusal();
  if (credential.key.status === 'suspended' || credential.workspace.status === 'suspended') {
    throw new Failure('suspended', `This account is suspended. Contact ${options.abuseContact}.`);
  }
  return {
    credential,
    latest: () => {
      const known = store.findCredential(hash);
      // Not all who ask wait for the answer.
      return known instanceof Promise ? known.catch(() => undefined) : known;
    },
  };
}
