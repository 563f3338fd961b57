import { z } from 'zod';
import { localUserFields, passwordLength } from '../../books/core/local-user.ts';
import { workspaceRoles } from '../../books/core/rights.ts';
import { shownShape } from './account-shapes.ts';
import { givenMoment, pageOf } from './values.ts';

const shown = shownShape(localUserFields);

/** A local user in the form of `weir user list --json`. */
export const user = z
  .object({ ...shown, has_password: z.boolean().meta({ description: 'Whether an invitation was accepted.' }) })
  .meta({ id: 'User', description: 'A person who signs in with a password.' });
export type UserObject = z.infer<typeof user>;

export const userPage = pageOf(user, { id: 'UserPage', of: 'local users, by address. A list has them all' });

/** `POST /users`. */
export const newUser = z
  .strictObject({
    address: z.string().max(300).meta({ description: 'E-mail address.', example: 'ada@example.com' }),
    role: shown.role.default('member'),
    workspace: z
      .string()
      .optional()
      .meta({ description: 'A workspace, by id or name, that the user becomes a member of.' }),
    workspace_role: z.enum(workspaceRoles).default('member').meta({ description: 'The role there.' }),
    expires_at: givenMoment.optional().meta({
      description: 'When the link ends, within 30 days. Default: after seven days.',
    }),
  })
  .meta({ id: 'NewUser', description: 'An invitation. For a known address: a new link, and the new role.' });
export type NewUserObject = z.input<typeof newUser>;

/** The answer to `POST /users`. No other answer contains an invitation token. */
export const invitedUser = user
  .extend({
    token: z.string().meta({ description: 'Token of the link, shown only once. The link is `/#invitation=TOKEN`.' }),
  })
  .meta({ id: 'InvitedUser', description: 'A local user, with the invitation token.' });
export type InvitedUserObject = z.infer<typeof invitedUser>;

const password = z
  .string()
  .max(1_000)
  .meta({ description: `${passwordLength.min} to ${passwordLength.max} characters.` });

/** `POST /invitation`. */
export const acceptance = z
  .strictObject({ token: z.string().min(1).max(100).meta({ description: 'Token of an invitation link.' }), password })
  .meta({ id: 'Acceptance', description: 'Accepts an invitation with a password.' });
