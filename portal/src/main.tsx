import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/pages.css';
import './styles/print.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './data/api.ts';
import { prefetchSession, sessionKey, signInFromAddress } from './data/session.ts';
import { App } from './shell/app.tsx';

const freshMs = 10_000;

/** A refused request is not sent again. A portal that does not answer may be starting. */
function isWorthRetrying(failures: number, error: Error): boolean {
  return failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500);
}

const client = new QueryClient({
  defaultOptions: {
    queries: { staleTime: freshMs, retry: isWorthRetrying, retryDelay: 500, networkMode: 'always' },
    // A portal on this machine answers also while the machine is offline.
    mutations: { networkMode: 'always' },
  },
});

// The first answer with 401 shows that the session has ended.
client.getQueryCache().subscribe(({ query }) => {
  const { error } = query.state;
  const isSession = query.queryKey[0] === sessionKey[0];
  if (!isSession && error instanceof ApiError && error.status === 401 && client.getQueryData(sessionKey) !== null) {
    client.setQueryData(sessionKey, null);
  }
});

const signedIn = await signInFromAddress();
if (signedIn?.kind === 'session') client.setQueryData(sessionKey, signedIn.session);
// Whoever follows a link is asked for the password, even if somebody is signed in here.
else if (signedIn?.kind === 'invitation') client.setQueryData(sessionKey, null);
else prefetchSession(client);

const root = document.querySelector('#root');
if (root === null) throw new Error('index.html has no element #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App
        failedSignIn={signedIn?.kind === 'failed' ? signedIn : undefined}
        invitation={signedIn?.kind === 'invitation' ? signedIn.token : undefined}
      />
    </QueryClientProvider>
  </StrictMode>,
);
