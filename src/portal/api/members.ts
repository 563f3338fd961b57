import { z } from 'zod';
import { actorKinds } from '../../books/core/administration.ts';
import { memberFields } from '../../books/core/membership.ts';
import { shownShape } from './account-shapes.ts';
import { moment, pageOf } from './values.ts';

const { role, last_sign_in_at, ...shown } = shownShape(memberFields);

/** One role of a person in a workspace. */
export const member = z
  .object({
    ...shown,
    role,
    invited_by: z
      .object({ kind: z.enum(actorKinds), name: z.string() })
      .nullable()
      .meta({ description: 'Who invited the person; null for a group.' }),
    since: moment.meta({ description: 'When the person was invited, or first came by the group.' }),
    last_sign_in_at,
  })
  .meta({ id: 'Member', description: 'A person of a workspace, with a role.' });
export type MemberObject = z.infer<typeof member>;

export const memberPage = pageOf(member, { id: 'MemberPage', of: 'members, owners first. A list has them all' });

/** `POST /workspaces/{id}/members`. */
export const newMember = z
  .strictObject({
    address: z.string().max(300).meta({ description: 'E-mail address.', example: 'ada@example.com' }),
    role,
  })
  .meta({ id: 'NewMember', description: 'An address and its role, from the first sign-in with it on.' });
export type NewMemberObject = z.input<typeof newMember>;

/** `PATCH /workspaces/{id}/members/{member}`. */
export const memberChange = z
  .strictObject({ role })
  .meta({ id: 'MemberChange', description: 'The new role of a member.' });
export type MemberChangeObject = z.input<typeof memberChange>;
