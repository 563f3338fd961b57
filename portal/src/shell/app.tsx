import { useQueryClient } from '@tanstack/react-query';
import { type ComponentType, lazy, Suspense } from 'react';
import { Route, Switch } from 'wouter';
import type { Role } from '../../../src/portal/api/session.ts';
import { type FailedSignIn, SessionContext, sessionKey, useSessionQuery } from '../data/session.ts';
import { Empty, Problem, Waiting } from '../parts/states.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { Layout } from './layout.tsx';
import { groups } from './navigation.ts';
import { SignInPage } from './sign-in.tsx';
import { useLiveData } from './live-data.ts';

type Loading = () => Promise<{ readonly default: ComponentType }>;

/** A page is loaded when it is first opened. */
const loadings: Readonly<Record<string, Loading>> = {
  '/': () => import('../pages/overview.tsx').then(({ OverviewPage }) => ({ default: OverviewPage })),
  '/keys': () => import('../pages/keys.tsx').then(({ KeysPage }) => ({ default: KeysPage })),
  '/usage': () => import('../pages/usage.tsx').then(({ UsagePage }) => ({ default: UsagePage })),
  '/balance': () => import('../pages/balance.tsx').then(({ BalancePage }) => ({ default: BalancePage })),
  '/models': () => import('../pages/models.tsx').then(({ ModelsPage }) => ({ default: ModelsPage })),
  '/requests': () => import('../pages/requests.tsx').then(({ RequestsPage }) => ({ default: RequestsPage })),
  '/playground': () => import('../pages/playground.tsx').then(({ PlaygroundPage }) => ({ default: PlaygroundPage })),
  '/audit': () => import('../pages/audit.tsx').then(({ AuditPage }) => ({ default: AuditPage })),
  '/workspaces': () => import('../pages/workspaces.tsx').then(({ WorkspacesPage }) => ({ default: WorkspacesPage })),
  '/backends': () => import('../pages/backends.tsx').then(({ BackendsPage }) => ({ default: BackendsPage })),
};
const pages = Object.fromEntries(Object.entries(loadings).map(([path, loading]) => [path, lazy(loading)]));
// The code of the page that the address names comes while the portal is asked who is signed in. Whether it fails is told when it is used.
loadings[location.pathname]?.().catch(() => undefined);

/** Sign in, or the pages that the role may see. */
export function App({ failedSignIn }: { readonly failedSignIn: FailedSignIn | undefined }) {
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
    return <SignInPage failed={failedSignIn} onSignedIn={(signedIn) => client.setQueryData(sessionKey, signedIn)} />;
  }
  return (
    <SessionContext value={session.data}>
      <Layout>
        <LivePages role={session.data.role} />
      </Layout>
    </SessionContext>
  );
}

function LivePages({ role }: { readonly role: Role }) {
  useLiveData();
  return (
    <ErrorBoundary>
      <Suspense fallback={<Waiting lines={8} />}>
        <Switch>
          {groups
            .flat()
            .filter(({ roles }) => roles.includes(role))
            .map(({ path }) => (
              <Route key={path} path={path} component={pages[path] ?? Nothing} />
            ))}
          <Route component={Nothing} />
        </Switch>
      </Suspense>
    </ErrorBoundary>
  );
}

function Nothing() {
  return (
    <Empty title="There is nothing here">
      <p>Either the address is wrong or this page is not for your role.</p>
    </Empty>
  );
}
