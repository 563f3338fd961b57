import { sees } from '../../books/core/rights.ts';
import { shownServiceAccount } from '../../books/core/shown.ts';
import * as api from '../api/service-accounts.ts';
import { type App, describing } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import type { Portal } from '../portal.ts';
import { workspaceAsked } from '../visible.ts';

const described = describing('service accounts');

/** The service accounts that can call this API. The command line makes and revokes them. */
export function serviceAccountRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/service-accounts',
    described(
      'Service accounts, newest first',
      { 200: api.serviceAccountPage },
      { querystring: api.serviceAccountsQuery },
    ),
    async (request) => {
      const caller = callerOf(request);
      const found = await store.listServiceAccounts(await workspaceAsked(store, caller, request.query.workspace));
      const data = found.map((account) => {
        const { workspaces, ...shown } = shownServiceAccount(account, clock.now());
        return { ...shown, workspaces: workspaces?.filter((id) => sees(caller.grant, id)) ?? null };
      });
      return { data, next_cursor: null };
    },
  );
}
