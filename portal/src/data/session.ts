import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, use } from 'react';
import type {
  SessionObject,
  SignedOutObject,
  SignInObject,
  SignInWaysObject,
} from '../../../src/portal/api/session.ts';
import { ApiError, call, keepCsrfToken } from './api.ts';

export const sessionKey = ['session'];
const retryMs = 5_000;

async function readSession(): Promise<SessionObject | null> {
  try {
    return remember(await call<SessionObject>('/session'));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

function remember(session: SessionObject): SessionObject {
  keepCsrfToken(session.csrf_token);
  return session;
}

/** Starts to read the session before the first rendering. */
export function prefetchSession(client: QueryClient): void {
  void client.prefetchQuery({ queryKey: sessionKey, queryFn: readSession, staleTime: Infinity });
}

/** The current session. Null: not signed in. */
export function useSessionQuery() {
  return useQuery({
    ...{ queryKey: sessionKey, queryFn: readSession, staleTime: Infinity },
    // The portal may be waiting for its database.
    refetchInterval: ({ state }) => (state.status === 'error' ? retryMs : false),
  });
}

export const SessionContext = createContext<SessionObject | undefined>(undefined);

/** The current session, on pages that need one. */
export function useSession(): SessionObject {
  const session = use(SessionContext);
  if (session === undefined) throw new Error('useSession is called outside the signed-in pages');
  return session;
}

/** Where clients call the gateway, with `/v1`. A placeholder where the address is not set. */
export function useGatewayUrl(): string {
  return useSession().gateway_url ?? 'https://gateway.example/v1';
}

export function signIn(given: SignInObject): Promise<SessionObject> {
  return call<SessionObject>('/session', { method: 'POST', body: given }).then(remember);
}

/** Accepts an invitation with a password, which signs in. */
export function acceptInvitation(token: string, password: string): Promise<SessionObject> {
  return call<SessionObject>('/invitation', { method: 'POST', body: { token, password } }).then(remember);
}

/** Why a sign-in failed. */
export interface FailedSignIn {
  readonly kind: 'failed';
  readonly with: 'token' | 'provider';
  readonly error: Error;
}

/** The values of `?sign_in=…`, with which the browser comes back from the identity provider after a failure. */
const providerFailures: Readonly<Record<string, string>> = {
  'provider-away': 'The identity provider does not answer. Try again in a moment.',
  'keys-changed':
    'The portal could not verify the identity provider’s response. Try again. If it fails again, contact an admin.',
  refused: 'The identity provider has not signed you in.',
  'no-workspace': 'You have no workspace. Ask an owner of one, or an admin, to invite you.',
};

/**
 * Reads the sign-in part of the address: `#token=…`, which `npm start` prints, `#invitation=…` or `?sign_in=…`. Removes it from the
 * address and from the history first. Undefined when there is none.
 */
export async function signInFromAddress(): Promise<
  | { readonly kind: 'session'; readonly session: SessionObject }
  | { readonly kind: 'invitation'; readonly token: string }
  | FailedSignIn
  | undefined
> {
  const hash = new URLSearchParams(location.hash.slice(1));
  const [token, invitation] = [hash.get('token'), hash.get('invitation')];
  const query = new URLSearchParams(location.search);
  const failure = query.get('sign_in');
  if (token === null && invitation === null && failure === null) return undefined;
  query.delete('sign_in');
  history.replaceState(null, '', location.pathname + (query.size === 0 ? '' : `?${query}`));
  if (invitation !== null) return { kind: 'invitation', token: invitation };
  if (token === null) {
    const message = providerFailures[failure ?? ''] ?? 'The sign-in has failed.';
    return { kind: 'failed', with: 'provider', error: new Error(message) };
  }
  try {
    return { kind: 'session', session: await signIn({ token }) };
  } catch (error) {
    return { kind: 'failed', with: 'token', error: error instanceof Error ? error : new Error(String(error)) };
  }
}

export function useSignInWays() {
  return useQuery({ queryKey: ['sign-in'], queryFn: () => call<SignInWaysObject>('/sign-in'), staleTime: Infinity });
}

/** Ends the session in this browser, at the portal and at the identity provider, and drops all cached data. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    const { log_out_url: elsewhere } =
      (await call<SignedOutObject | undefined>('/session', { method: 'DELETE' })) ?? {};
    keepCsrfToken(null);
    client.setQueryData(sessionKey, null);
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
    if (elsewhere !== undefined) location.assign(elsewhere);
  };
}
