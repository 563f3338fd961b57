import type { AccountFields, AccountValues } from '../../core/account-field.ts';
import type { Actor } from './administration.ts';
import { type WorkspaceRole, workspaceRoles } from './rights.ts';

// The people of a workspace, and where their roles come from.

/**
 * `invitation`: an owner or an admin has given an address the role. `group`: the identity provider has named a group of
 * the person at the last sign-in.
 */
export const memberSources = ['invitation', 'group'] as const;

export const memberFields = {
  id: { name: 'id', kind: 'text', about: 'Id of the membership.', example: 'member_4e07408562bedb8b60ce' },
  address: {
    name: 'address',
    kind: 'text',
    optional: true,
    about: 'E-mail address; null: the identity provider has verified none.',
    example: 'ada@example.com',
  },
  name: { name: 'name', kind: 'text', optional: true, shown: 'Name at the last sign-in; null before the first one.' },
  role: {
    name: 'role',
    kind: 'name',
    names: workspaceRoles,
    about: 'An owner manages members and keys; a member makes keys and changes its own; a viewer looks.',
    example: 'member',
  },
  source: {
    name: 'source',
    kind: 'name',
    names: memberSources,
    about: 'An invitation, which can be changed here, or a group of the identity provider as of the last sign-in.',
  },
  lastSignInAt: { name: 'last_sign_in_at', kind: 'moment', optional: true, shown: 'Null before the first sign-in.' },
} as const satisfies AccountFields;

/** One role of a person in a workspace. A person with an invitation and a group has two; the stronger one holds. */
export interface MemberRecord extends AccountValues<typeof memberFields> {
  readonly workspaceId: string;
  /** Who invited the person; undefined for a group. */
  readonly invitedBy: Actor | undefined;
  /** When the person was invited, or first came by the group. */
  readonly since: number;
}

export interface NewMember {
  readonly address: string;
  readonly role: WorkspaceRole;
}

/** Longest address, characters (RFC 5321, section 4.5.3.1.3). */
const maxAddressLength = 254;

/**
 * An e-mail address in the form in which addresses are compared: lowercase, because providers do not tell people apart
 * by case. Undefined for other texts. Letters outside ASCII are refused: some of them become ASCII letters in lowercase,
 * and would give their owner the invitation of another person.
 */
export function memberAddress(text: string): string | undefined {
  const trimmed = text.trim();
  const isAddress = /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+\.[\x21-\x3f\x41-\x7e]+$/.test(trimmed);
  return isAddress && trimmed.length <= maxAddressLength && !trimmed.includes(',') ? trimmed.toLowerCase() : undefined;
}
