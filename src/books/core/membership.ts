import type { Actor } from './administration.ts';
import type { WorkspaceRole } from './rights.ts';

// The people of a workspace, and where their roles come from.

/**
 * `invitation`: an owner or an admin has given an address the role. `group`: the identity provider has named a group of
 * the person at the last sign-in.
 */
export const memberSources = ['invitation', 'group'] as const;

/** One role of a person in a workspace. A person with an invitation and a group has two; the stronger one holds. */
export interface MemberRecord {
  readonly id: string;
  readonly workspaceId: string;
  /** Undefined: the identity provider has not verified an address of this person. */
  readonly address: string | undefined;
  /** The name of the last sign-in; undefined before the first one. */
  readonly name: string | undefined;
  readonly role: WorkspaceRole;
  readonly source: (typeof memberSources)[number];
  /** Who invited the person; undefined for a group. */
  readonly invitedBy: Actor | undefined;
  /** When the person was invited, or first came by the group. */
  readonly since: number;
  readonly lastSignInAt: number | undefined;
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
