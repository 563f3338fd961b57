import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, use } from 'react';
import type { Session, SignIn, SignInWays } from '../../../src/portal/api/session.ts';
import { ApiError, call, keepCsrfToken } from './api.ts';

export const sessionKey = ['session'];

async function readSession(): Promise<Session | null> {
  try {
    return remember(await call<Session>('/session'));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

function remember(session: Session): Session {
  keepCsrfToken(session.csrf_token);
  return session;
}

/** Who is signed in; null: nobody. */
export function useSessionQuery() {
  return useQuery({ queryKey: sessionKey, queryFn: readSession, staleTime: Infinity });
}

export const SessionContext = createContext<Session | undefined>(undefined);

/** Who is signed in, on a page that only they see. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (session === undefined) throw new Error('useSession is called outside the signed-in pages');
  return session;
}

export function signIn(given: SignIn): Promise<Session> {
  return call<Session>('/session', { method: 'POST', body: given }).then(remember);
}

export function useSignInWays() {
  return useQuery({ queryKey: ['sign-in'], queryFn: () => call<SignInWays>('/sign-in'), staleTime: Infinity });
}

/** Ends the session here and at the portal, and forgets everything that was shown. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await call('/session', { method: 'DELETE' });
    keepCsrfToken(null);
    client.setQueryData(sessionKey, null);
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
  };
}
