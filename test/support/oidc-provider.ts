import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { onTestFinished } from 'vitest';

/** Claims of the people whom the provider knows, by their login. */
export type People = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export const clientSecret = 'secret-of-the-portal-in-tests';

/** The person who signs in at the provider. */
const loginHeader = 'x-login';

export interface OidcProvider {
  readonly issuer: URL;
  /** New keys, as after a rotation: what was signed before is good no more. */
  readonly rotateKeys: () => void;
  /** From now on the provider publishes keys that it does not sign with. */
  readonly tellForeignKeys: () => void;
  /** Whether requests are answered at all. */
  readonly setAway: (isAway: boolean) => void;
}

function newKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'RS256', use: 'sig' };
}

/** Starts a real OpenID provider on the loopback that signs in the named person. Closed when the test is over. */
export async function startOidcProvider(people: People, portalUrl: URL): Promise<OidcProvider> {
  let answer: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  let isAway = false;
  let toldKeys: string | undefined;
  const server = createServer((request, response) => {
    if (isAway) response.destroy();
    else if (toldKeys !== undefined && request.url === '/jwks') {
      response.setHeader('content-type', 'application/json').end(toldKeys);
    } else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const issuer = new URL(`http://127.0.0.1:${port}`);

  function rotateKeys(): void {
    const configuration: Configuration = {
      clients: [
        {
          client_id: 'portal',
          client_secret: clientSecret,
          token_endpoint_auth_method: 'client_secret_post',
          redirect_uris: [new URL('/api/v1/oidc/callback', portalUrl).href],
          post_logout_redirect_uris: [new URL('/', portalUrl).href],
        },
      ],
      jwks: { keys: [newKey()] },
      cookies: { keys: ['cookies of a test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username', 'groups'] },
      findAccount: (_, login) => {
        const claims = people[login];
        return claims === undefined ? undefined : { accountId: login, claims: () => ({ sub: login, ...claims }) };
      },
      // Nobody is asked whether the portal may know who they are.
      loadExistingGrant: async ({ oidc }) => {
        const { client, session, provider, params } = oidc;
        const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
        grant.addOIDCScope(String(params?.['scope']));
        await grant.save();
        return grant;
      },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    };
    const provider = new Provider(issuer.origin, configuration);
    const callback = provider.callback();
    answer = (request, response) => {
      // Where people would type who they are.
      if (request.url?.startsWith('/interaction/') === true) {
        const login = String(request.headers[loginHeader]);
        void provider.interactionFinished(request, response, { login: { accountId: login } });
      } else void callback(request, response);
    };
  }

  rotateKeys();
  return {
    issuer,
    rotateKeys,
    tellForeignKeys: () => {
      const { kty, n, e, kid, alg, use } = newKey();
      toldKeys = JSON.stringify({ keys: [{ kty, n, e, kid, alg, use }] });
    },
    setAway: (away) => {
      isAway = away;
    },
  };
}

/** What a browser keeps of one site. */
export function createJar() {
  const kept = new Map<string, string>();
  return {
    header: (): string => [...kept].map(([name, value]) => `${name}=${value}`).join('; '),
    take: (lines: readonly string[]): void => {
      for (const line of lines) {
        const [pair = ''] = line.split(';');
        const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
        const isOver = value === '' || /expires=thu, 01 jan 1970|max-age=0/i.test(line);
        if (isOver) kept.delete(name);
        else kept.set(name, value);
      }
    },
    has: (name: string): boolean => kept.has(name),
  };
}

export type Jar = ReturnType<typeof createJar>;

/** Goes from address to address at the provider, says who it is, agrees to what is asked, and returns where the provider sends it. */
export async function followProvider(start: URL, jar: Jar, login: string): Promise<URL> {
  let url = start;
  let body: URLSearchParams | undefined;
  for (let step = 0; step < 12 && url.origin === start.origin; step += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: jar.header(), [loginHeader]: login },
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
    jar.take(response.headers.getSetCookie());
    const text = await response.text();
    const location = response.headers.get('location');
    body = undefined;
    if (location !== null) url = new URL(location, url);
    else {
      const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
      if (action === undefined) throw new Error(`${response.status} ${url.pathname}: ${text.slice(0, 400)}`);
      const hidden = text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
      body = new URLSearchParams([...[...hidden].map(([, name = '', value = '']) => [name, value]), ['logout', 'yes']]);
      url = new URL(action, url);
    }
  }
  return url;
}
