import { useQueryClient } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import { Route, Switch } from 'wouter';
import type { SessionObject } from '../../../src/portal/api/session.ts';
import { type FailedSignIn, SessionContext, sessionKey, useSessionQuery } from '../data/session.ts';
import { type OnDemand, onDemand } from '../parts/on-demand.tsx';
import { Empty, Problem, Waiting } from '../parts/states.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { Layout } from './layout.tsx';
import { groupsOf } from './navigation.ts';
import { SignInPage } from './sign-in.tsx';
import { useLiveData } from './live-data.ts';

const waiting = <Waiting lines={8} />;

/** The code of each page is loaded when the page is first opened. */
const page = (load: () => Promise<ComponentType>): OnDemand<object> => onDemand(load, waiting);

const pages: Readonly<Record<string, OnDemand<object>>> = {
  '/': page(() => import('../pages/overview.tsx').then(({ OverviewPage }) => OverviewPage)),
  '/keys': page(() => import('../pages/keys.tsx').then(({ KeysPage }) => KeysPage)),
  '/identities': page(() => import('../pages/identities.tsx').then(({ IdentitiesPage }) => IdentitiesPage)),
  '/usage': page(() => import('../pages/usage.tsx').then(({ UsagePage }) => UsagePage)),
  '/balance': page(() => import('../pages/balance.tsx').then(({ BalancePage }) => BalancePage)),
  '/models': page(() => import('../pages/models.tsx').then(({ ModelsPage }) => ModelsPage)),
  '/requests': page(() => import('../pages/requests.tsx').then(({ RequestsPage }) => RequestsPage)),
  '/playground': page(() => import('../pages/playground.tsx').then(({ PlaygroundPage }) => PlaygroundPage)),
  '/members': page(() => import('../pages/members.tsx').then(({ MembersPage }) => MembersPage)),
  '/audit': page(() => import('../pages/audit.tsx').then(({ AuditPage }) => AuditPage)),
  '/workspaces': page(() => import('../pages/workspaces.tsx').then(({ WorkspacesPage }) => WorkspacesPage)),
  '/top': page(() => import('../pages/top.tsx').then(({ TopPage }) => TopPage)),
  '/backends': page(() => import('../pages/backends.tsx').then(({ BackendsPage }) => BackendsPage)),
};
// The code of the addressed page loads while the session is read.
pages[location.pathname]?.preload();

interface AppProps {
  readonly failedSignIn: FailedSignIn | undefined;
  /** Token of an invitation link. */
  readonly invitation: string | undefined;
}

/** Sign in, or the pages that the role may see. */
export function App({ failedSignIn, invitation }: AppProps) {
  const session = useSessionQuery();
  const client = useQueryClient();
  if (session.data === undefined) {
    return (
      <div className="sign-in">
        <main>
          {session.isError ? (
            <Problem error={session.error} retry={() => void session.refetch()} />
          ) : (
            <Waiting lines={4} />
          )}
        </main>
      </div>
    );
  }
  if (session.data === null) {
    const onSignedIn = (signedIn: SessionObject): void => void client.setQueryData(sessionKey, signedIn);
    return <SignInPage failed={failedSignIn} invitation={invitation} onSignedIn={onSignedIn} />;
  }
  return (
    <SessionContext value={session.data}>
      <Layout>
        <LivePages session={session.data} />
      </Layout>
    </SessionContext>
  );
}

function LivePages({ session }: { readonly session: SessionObject }) {
  useLiveData();
  return (
    <ErrorBoundary>
      <Switch>
        {groupsOf(session)
          .flat()
          .map(({ path }) => (
            <Route key={path} path={path} component={pages[path] ?? Nothing} />
          ))}
        <Route component={Nothing} />
      </Switch>
    </ErrorBoundary>
  );
}

function Nothing() {
  return <Empty title="Page not found">The address is wrong, or your role may not see this page.</Empty>;
}
