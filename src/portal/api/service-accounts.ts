import { z } from 'zod';
import { scopes } from '../../books/core/rights.ts';
import { serviceAccountFields, serviceAccountStates } from '../../books/core/service-account.ts';
import { shownShape } from './account-shapes.ts';
import { pageOf, workspaceId } from './values.ts';

/** `GET /service-accounts`. */
export const serviceAccountsQuery = z.object({
  workspace: z.string().optional().meta({ description: 'Only accounts with rights in this workspace, by id or name.' }),
});

const { id, name, prefix, ...moments } = shownShape(serviceAccountFields);

/** A service account in the form of `weir service-account list --json`. */
export const serviceAccount = z
  .object({
    id,
    name,
    prefix,
    status: z.enum(serviceAccountStates),
    scopes: z.array(z.enum(scopes)).meta({ description: 'The rights of its token.', example: ['usage:read'] }),
    workspaces: z.array(workspaceId).nullable().meta({
      description: 'Workspaces in which it has these rights, as far as the caller may see them; null: all workspaces.',
    }),
    ...moments,
  })
  .meta({ id: 'ServiceAccount', description: 'Calls this API for a script.' });
export type ServiceAccountObject = z.infer<typeof serviceAccount>;

export const serviceAccountPage = pageOf(serviceAccount, {
  ...{ id: 'ServiceAccountPage', of: 'service accounts, newest first. A list has them all' },
});
