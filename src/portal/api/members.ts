import { z } from 'zod';
import { actorKinds } from '../../books/core/administration.ts';
import { memberSources } from '../../books/core/membership.ts';
import { workspaceRoles } from '../../books/core/rights.ts';
import { moment, pageOf } from './values.ts';

const roleInWorkspace = z.enum(workspaceRoles).meta({
  description: 'An owner manages members and keys; a member makes keys and changes its own; a viewer looks.',
  example: 'member',
});

/** One role of a person in a workspace. */
export const member = z
  .object({
    id: z.string().meta({ description: 'Id of the membership.', example: 'member_4e07408562bedb8b60ce' }),
    address: z.string().nullable().meta({
      description: 'E-mail address; null: the identity provider has verified none.',
      example: 'ada@example.com',
    }),
    name: z.string().nullable().meta({ description: 'Name at the last sign-in; null before the first one.' }),
    role: roleInWorkspace,
    source: z.enum(memberSources).meta({
      description:
        'An invitation, which can be changed here, or a group of the identity provider as of the last sign-in.',
    }),
    invited_by: z
      .object({ kind: z.enum(actorKinds), name: z.string() })
      .nullable()
      .meta({ description: 'Who invited the person; null for a group.' }),
    since: moment.meta({ description: 'When the person was invited, or first came by the group.' }),
    last_sign_in_at: moment.nullable().meta({ description: 'Null before the first sign-in.' }),
  })
  .meta({ id: 'Member', description: 'A person of a workspace, with a role.' });
export type MemberObject = z.infer<typeof member>;

export const memberPage = pageOf(member, { id: 'MemberPage', of: 'members, owners first. A list has them all' });

/** `POST /workspaces/{id}/members`. */
export const newMember = z
  .strictObject({
    address: z.string().max(300).meta({ description: 'E-mail address.', example: 'ada@example.com' }),
    role: roleInWorkspace,
  })
  .meta({ id: 'NewMember', description: 'An address and its role, from the first sign-in with it on.' });
export type NewMemberObject = z.input<typeof newMember>;

/** `PATCH /workspaces/{id}/members/{member}`. */
export const memberChange = z
  .strictObject({ role: roleInWorkspace })
  .meta({ id: 'MemberChange', description: 'The new role of a member.' });
export type MemberChangeObject = z.input<typeof memberChange>;
