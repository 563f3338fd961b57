import * as client from 'openid-client';
import { z } from 'zod';
import { isLoopback } from '../core/address.ts';
import { dependencyFailure, type DependencyReport } from '../core/dependency-cause.ts';
import { messageOf } from '../core/failure.ts';
import { memberAddress } from '../books/core/membership.ts';
import { toOneLine } from '../core/one-line.ts';

/** The path to which the provider sends the browser back. */
export const callbackPath = '/api/v1/oidc/callback';

/** An admin, named by one kind of claim. A subject that looks like an email address is not compared with email addresses. */
interface OidcAdmin {
  readonly kind: 'sub' | 'email' | 'group';
  readonly value: string;
}

interface OidcOptions {
  readonly issuer: URL;
  readonly clientId: string;
  /** Undefined: a public client, protected by PKCE alone. */
  readonly clientSecret: string | undefined;
  /** Name of the provider on the sign-in page. */
  readonly name: string;
  /** Address of the portal for browsers. The redirect address to register with the provider is `callbackPath` below it. */
  readonly portalUrl: URL;
  /** Space-separated. */
  readonly scopes: string;
  readonly admins: readonly OidcAdmin[];
  /** The claim that lists groups. */
  readonly groupsClaim: string;
  readonly report?: DependencyReport | undefined;
}

/** State that the browser keeps during the sign-in. */
export const pendingSignIn = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Whether this is the second attempt, after the provider changed its keys. */
  isRepeated: z.boolean(),
});
export type PendingSignIn = Readonly<z.output<typeof pendingSignIn>>;

/** A person that the provider has identified. */
export interface Person {
  readonly subject: string;
  /** For pages and the audit trail: the e-mail address, the user name, or the subject. */
  readonly name: string;
  readonly isAdmin: boolean;
  readonly groups: readonly string[];
  /** The verified address, in the form in which invitations have it; undefined: none is verified. */
  readonly address: string | undefined;
  /** The ID token, which identifies the session at log-out. */
  readonly idToken: string;
}

/**
 * `provider-away`: the provider does not answer, or not as specified. `keys-changed`: the signature of its answer fits
 * no known key; the next sign-in reads the keys again. `refused`: the provider refused the person, or its answer does
 * not belong to this sign-in.
 */
export type OidcFailure = 'provider-away' | 'keys-changed' | 'refused';

/** Maximum length of a reason in the log, UTF-16 units. */
const maxReason = 300;

/** The message is for the log. It contains no token. */
export class OidcError extends Error {
  readonly kind: OidcFailure;

  constructor(kind: OidcFailure, cause: unknown) {
    // The provider's answer comes by way of the browser, so its texts may be a stranger's.
    super(toOneLine(messageOf(cause), maxReason), { cause });
    this.name = 'OidcError';
    this.kind = kind;
  }
}

/** Sign-in with OpenID Connect: the authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0, section 3.1). */
export type OidcSignIn = ReturnType<typeof createOidcSignIn>;

/** The provider's configuration is read at the first sign-in, so that the portal starts without the provider. */
export function createOidcSignIn(options: OidcOptions) {
  const redirectUri = new URL(callbackPath, options.portalUrl);
  let discovered: Promise<client.Configuration> | undefined;

  async function configuration(): Promise<client.Configuration> {
    discovered ??= discover(options).then((found) => {
      options.report?.succeeded();
      return found;
    });
    try {
      return await discovered;
    } catch (error) {
      discovered = undefined;
      options.report?.failed(dependencyFailure(error));
      throw new OidcError('provider-away', error);
    }
  }

  return {
    name: options.name,
    /** The address of the provider for a new sign-in. Rejects with an `OidcError`. */
    begin: async (
      { isRepeated }: Pick<PendingSignIn, 'isRepeated'> = { isRepeated: false },
    ): Promise<{ readonly location: URL; readonly pending: PendingSignIn }> => {
      const config = await configuration();
      const pending: PendingSignIn = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        isRepeated,
      };
      const location = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri.href,
        scope: options.scopes,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
      });
      return { location, pending };
    },
    /** Finishes a sign-in. `query`: the query of the address to which the browser came back. Rejects with an `OidcError`. */
    finish: async (query: string, { state, nonce, verifier }: PendingSignIn): Promise<Person> => {
      const config = await configuration();
      const current = new URL(redirectUri);
      current.search = query;
      try {
        const tokens = await client.authorizationCodeGrant(config, current, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const { id_token: idToken, access_token: accessToken } = tokens;
        const claims = tokens.claims();
        if (idToken === undefined || claims === undefined) throw new Error('the answer has no ID token');
        // Many providers list groups only in the answer of this endpoint.
        const more =
          config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await client.fetchUserInfo(config, accessToken, claims.sub);
        options.report?.succeeded();
        return personOf({ ...claims, ...more }, { ...options, idToken });
      } catch (error) {
        const kind = failureOf(error);
        if (kind === 'keys-changed') discovered = undefined;
        const isOurs = error instanceof client.ResponseBodyError && ownErrors.includes(error.error);
        if (isOurs) options.report?.failed(dependencyFailure(error, 'credential-refused'));
        else if (kind === 'provider-away') options.report?.failed(dependencyFailure(error));
        throw new OidcError(kind, error);
      }
    },
    /** The address at which the provider ends its own session. Undefined: the provider offers none. */
    logOutUrl: async (idToken: string): Promise<URL | undefined> => {
      const config = await configuration();
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
      return client.buildEndSessionUrl(config, {
        id_token_hint: idToken,
        post_logout_redirect_uri: new URL('/', options.portalUrl).href,
      });
    },
  };
}

function discover({ issuer, clientId, clientSecret }: OidcOptions): Promise<client.Configuration> {
  const authentication = clientSecret === undefined ? client.None() : client.ClientSecretPost(clientSecret);
  // The code flow alone would trust TLS, so the signature is checked as well.
  const checks = [client.enableNonRepudiationChecks];
  // The loopback needs no TLS.
  const execute = isLoopback(issuer.hostname) ? [...checks, client.allowInsecureRequests] : checks;
  return client.discovery(issuer, clientId, clientSecret, authentication, { execute });
}

/** The provider refuses the client, and no person can sign in (RFC 6749 §5.2). */
const ownErrors = ['invalid_client', 'unauthorized_client'];

/** Error codes of the library for a signature that fits no key of the provider. */
const keyCodes = ['OAUTH_KEY_SELECTION_FAILED', 'OAUTH_INVALID_SIGNATURE'];

function failureOf(error: unknown): OidcFailure {
  const codes = [error, error instanceof Error ? error.cause : undefined].map((one) =>
    one instanceof Error && 'code' in one ? one.code : undefined,
  );
  if (codes.some((code) => typeof code === 'string' && keyCodes.includes(code))) return 'keys-changed';
  // No answer means that the provider is unavailable, not that it refused.
  return error instanceof TypeError || codes.includes('OAUTH_TIMEOUT') ? 'provider-away' : 'refused';
}

/** The person that the claims of the ID token and of userinfo name. */
export function personOf(
  claims: Readonly<Record<string, unknown>> & { readonly sub: string },
  { admins, groupsClaim, idToken }: Pick<OidcOptions, 'admins' | 'groupsClaim'> & { readonly idToken: string },
): Person {
  const { sub: subject, email, email_verified: isVerified, preferred_username: userName } = claims;
  const listed = claims[groupsClaim];
  const groups = (Array.isArray(listed) ? listed : [listed]).filter((group) => typeof group === 'string');
  const address = typeof email === 'string' && isVerified === true ? email : undefined;
  const claimed = { sub: [subject], email: address === undefined ? [] : [address], group: groups };
  const isAdmin = admins.some(({ kind, value }) => claimed[kind].includes(value));
  const names = [address, typeof userName === 'string' ? userName : undefined, subject].map((name = '') =>
    toOneLine(name, maxNameLength),
  );
  return {
    subject,
    name: names.find((name) => name !== '') ?? 'unnamed',
    isAdmin,
    groups,
    address: memberAddress(address ?? ''),
    idToken,
  };
}

/** Longest name of a person on pages and in the audit trail, characters. */
const maxNameLength = 200;
