import { z } from 'zod';
import { workspaceFields } from '../../core/account.ts';
import { creditFields } from '../../books/core/administration.ts';
import { changeShape, newShape, shownShape } from './account-shapes.ts';
import { declaredBy, givenCredit, givenUsd, pageOf, usd, workspaceId } from './values.ts';

const name = z
  .string()
  .meta({ description: 'Unique: letters, digits, ".", "_" and "-", at most 64.', example: 'acme' });
const { status, ...settings } = shownShape(workspaceFields);

/** A workspace in the form of `weir workspace … --json`. */
export const workspace = z
  .object({
    id: workspaceId,
    name,
    status,
    balance: usd.meta({ description: 'Balance in USD; below zero when the last answers cost more than was left.' }),
    ...settings,
    declared_by: declaredBy,
  })
  .meta({ id: 'Workspace', description: 'Pays for requests: a balance and a maximum number of in-flight requests.' });
export type WorkspaceObject = z.infer<typeof workspace>;

export const workspacePage = pageOf(workspace, { id: 'WorkspacePage', of: 'workspaces, by name' });

/** `POST /workspaces`. */
export const newWorkspace = z
  .strictObject({
    name,
    credit: givenUsd.prefault('0').meta({ description: 'Its first credit, USD.' }),
    ...newShape(workspaceFields),
  })
  .meta({ id: 'NewWorkspace', description: 'A new workspace.' });
export type NewWorkspaceObject = z.input<typeof newWorkspace>;

const changes = changeShape(workspaceFields);
const someOf = Object.keys(changes)
  .join(', ')
  .replace(/, (\w+)$/, ' or $1');

/** `PATCH /workspaces/{id}`: absent fields stay as they are. */
export const workspaceChange = z
  .strictObject(changes)
  .refine((change) => Object.keys(change).length > 0, `expected ${someOf}`)
  .meta({ id: 'WorkspaceChange', description: 'The fields of a workspace to change.' });
export type WorkspaceChangeObject = z.input<typeof workspaceChange>;

/** One credit or correction of a workspace. */
export const credit = z
  .object(shownShape(creditFields))
  .meta({ id: 'Credit', description: 'Money put into a workspace, or taken back by a correction.' });
export type CreditObject = z.infer<typeof credit>;

export const creditPage = pageOf(credit, { id: 'CreditPage', of: 'credits, newest first' });

/** `POST /workspaces/{id}/credits`. */
export const newCredit = z
  .strictObject({
    amount: givenCredit,
    note: z
      .string()
      .max(creditFields.note.maxLength)
      .optional()
      .meta({ description: 'Purpose; a correction needs one.' }),
  })
  .meta({ id: 'NewCredit', description: 'A credit or a correction.' });
export type NewCreditObject = z.input<typeof newCredit>;

/** The answer to `POST /workspaces/{id}/credits`. */
export const credited = z
  .object({ credit, workspace })
  .meta({ id: 'Credited', description: 'The credit, and the workspace with its new balance.' });
