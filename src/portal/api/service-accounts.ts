import { z } from 'zod';
import { scopes } from '../../books/core/rights.ts';
import { serviceAccountStates } from '../../books/core/service-account.ts';
import { moment, pageOf, workspaceId } from './values.ts';

/** `GET /service-accounts`. */
export const serviceAccountsQuery = z.object({
  workspace: z.string().optional().meta({ description: 'Only accounts with rights in this workspace, by id or name.' }),
});

/** A service account in the form of `weir service-account list --json`. */
export const serviceAccount = z
  .object({
    id: z.string().meta({ example: 'sa_ef2d127de37b942baad0' }),
    name: z.string().meta({ description: 'The audit trail has it.', example: 'chargeback' }),
    prefix: z.string().meta({ description: 'First characters of its token.', example: 'weir-sa-3vKq' }),
    status: z.enum(serviceAccountStates),
    scopes: z.array(z.enum(scopes)).meta({ description: 'What its token may do.', example: ['usage:read'] }),
    workspaces: z
      .array(workspaceId)
      .nullable()
      .meta({ description: 'Workspaces in which it has them, of those that the caller sees; null: all workspaces.' }),
    created_at: moment,
    expires_at: moment,
    last_used_at: moment.nullable().meta({ description: 'Its last call, to the minute; null: there was none.' }),
  })
  .meta({ id: 'ServiceAccount', description: 'Calls this API for a script.' });
export type ServiceAccountObject = z.infer<typeof serviceAccount>;

export const serviceAccountPage = pageOf(serviceAccount, {
  ...{ id: 'ServiceAccountPage', of: 'service accounts, newest first. A list has them all' },
});
