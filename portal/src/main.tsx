import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/pages.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './data/api.ts';
import { sessionKey, signIn } from './data/session.ts';
import { App } from './shell/app.tsx';

const freshMs = 10_000;

/** A refusal will not change by asking again; a portal that does not answer may be starting. */
function isWorthRetrying(failures: number, error: Error): boolean {
  return failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500);
}

const client = new QueryClient({
  defaultOptions: { queries: { staleTime: freshMs, retry: isWorthRetrying, retryDelay: 500, networkMode: 'always' } },
});

// A session that ended is noticed by the first answer that says so.
client.getQueryCache().subscribe(({ query }) => {
  const { error } = query.state;
  const isSession = query.queryKey[0] === sessionKey[0];
  if (!isSession && error instanceof ApiError && error.status === 401 && client.getQueryData(sessionKey) !== null) {
    client.setQueryData(sessionKey, null);
  }
});

/** `#token=…`, as `npm start` prints it. It leaves the address before anything else happens, and the history with it. */
function takeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return token;
}

const token = takeToken();
const signedIn = token === undefined ? undefined : await signIn({ token }).catch((error: unknown) => error);
if (signedIn !== undefined && !(signedIn instanceof Error)) client.setQueryData(sessionKey, signedIn);

const root = document.querySelector('#root');
if (root === null) throw new Error('index.html has no element #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App failedSignIn={signedIn instanceof Error ? signedIn : undefined} />
    </QueryClientProvider>
  </StrictMode>,
);
