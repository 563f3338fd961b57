// Shows a component as the pages do: with a session, a cache of its own, and an address.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import type { ReactNode } from 'react';
import type { SessionObject } from '../../../src/portal/api/session.ts';
import { SessionContext } from '../../src/data/session.ts';
import { adminSession } from './objects.ts';

interface ShowOptions {
  readonly as?: SessionObject;
  /** `/keys?search=ci` */
  readonly at?: string;
}

/** Returns the reader, who clicks and types. */
export function show(shown: ReactNode, { as = adminSession, at = '/' }: ShowOptions = {}) {
  history.replaceState(null, '', at);
  // A failed request fails at once; the pages try again.
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 10_000 } } });
  render(
    <QueryClientProvider client={client}>
      <SessionContext value={as}>{shown}</SessionContext>
    </QueryClientProvider>,
  );
  return userEvent.setup();
}
