import type { AccountFields, AccountValues } from '../../core/account-field.ts';
import type { WorkspaceRole } from './rights.ts';

// People who sign in with a password, in an installation without an identity provider.

/** `member`: what its roles in workspaces allow. `admin`: everything. */
export const localUserRoles = ['member', 'admin'] as const;
export type LocalUserRole = (typeof localUserRoles)[number];

export const localUserFields = {
  id: { name: 'id', kind: 'text', about: 'Id of the user.', example: 'user_19581e27de7ced00ff1c' },
  address: {
    name: 'address',
    kind: 'text',
    about: 'E-mail address, with which the user signs in. Memberships of workspaces go by it.',
    example: 'ada@example.com',
  },
  role: {
    name: 'role',
    kind: 'name',
    names: localUserRoles,
    about: 'An admin may do everything, a member what its roles in workspaces allow.',
    example: 'member',
  },
  invitedUntil: {
    name: 'invited_until',
    kind: 'moment',
    optional: true,
    shown: 'When the invitation link ends; null: it was used.',
  },
  createdAt: { name: 'created_at', kind: 'moment' },
  lastSignInAt: { name: 'last_sign_in_at', kind: 'moment', optional: true, shown: 'Null before the first sign-in.' },
} as const satisfies AccountFields;

export interface LocalUser extends AccountValues<typeof localUserFields> {
  /** Whether the user has accepted an invitation. */
  readonly hasPassword: boolean;
}

/** A user with what the portal checks a password against. */
export interface UserWithPassword {
  readonly user: LocalUser;
  /** A hash in the PHC string format. Undefined: no invitation was accepted. */
  readonly password: string | undefined;
}

export interface NewInvitation {
  readonly address: string;
  readonly role: LocalUserRole;
  /** A role in a workspace, by its name or id, which the user gets as well. */
  readonly membership?: { readonly workspace: string; readonly role: WorkspaceRole } | undefined;
  /** When the link ends, milliseconds since the Unix epoch. */
  readonly until: number;
}

/** Bounds of a password, characters. */
export const passwordLength = { min: 12, max: 200 } as const;

/** How long an invitation link works, unless the command says otherwise. */
export const invitationMs = 7 * 24 * 3_600_000;
/** Longest time of an invitation link. */
export const maxInvitationMs = 30 * 24 * 3_600_000;

const credentialPrefix = 'user:';

/** The credential of a user's sessions. */
export const credentialOfUser = ({ id }: Pick<LocalUser, 'id'>): string => `${credentialPrefix}${id}`;

/** Whether a session began with a password. */
export const isOfLocalUser = ({ credential, logOutHint }: SessionOrigin): boolean =>
  logOutHint === undefined && credential !== undefined && credential.startsWith(credentialPrefix);

interface SessionOrigin {
  readonly credential?: string | undefined;
  /** Sessions of an identity provider have one, whatever its subjects look like. */
  readonly logOutHint?: string | undefined;
}
