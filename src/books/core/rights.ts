// Who may do what: the one table of rights, and the questions to it. The portal asks it for each request.

/** The roles of people in a workspace, strongest first. */
export const workspaceRoles = ['owner', 'member', 'viewer'] as const;
export type WorkspaceRole = (typeof workspaceRoles)[number];

/** A role in a workspace. `key`: an API key, which sees itself alone. */
export type RoleInWorkspace = WorkspaceRole | 'key';

/** What the token of a service account may do. */
export const scopes = [
  ...['usage:read', 'requests:read', 'keys:read', 'keys:write', 'workspaces:read', 'workspaces:write'],
  ...['balance:read', 'balance:write', 'members:read', 'members:write', 'audit:read'],
  ...['models:read', 'backends:read', 'problems:read', 'metrics:read', 'service-accounts:read'],
] as const satisfies readonly `${string}:${'read' | 'write'}`[];
export type Scope = (typeof scopes)[number];

const adminsAlone = [] as const;
const owners = ['owner'] as const;
const members = ['owner', 'member'] as const;
const people = ['owner', 'member', 'viewer'] as const;
const peopleAndKeys = ['owner', 'member', 'viewer', 'key'] as const;

interface RightTerms {
  /** The roles in a workspace that have the right there. Admins have every right, in all workspaces. */
  readonly roles: readonly RoleInWorkspace[];
  /** The scope that gives the right to a service account. Undefined: no scope does. */
  readonly scope: Scope | undefined;
  /** It concerns the whole gateway. A service account of some workspaces does not have it. */
  readonly isOfGateway?: true;
}

const rights = {
  'workspaces:read': { roles: people, scope: 'workspaces:read' },
  'workspaces:create': { roles: adminsAlone, scope: 'workspaces:write', isOfGateway: true },
  'workspaces:change': { roles: adminsAlone, scope: 'workspaces:write' },
  'balance:read': { roles: people, scope: 'balance:read' },
  /** Credits, also the first one, corrections, the credit limit and thresholds. */
  'balance:change': { roles: adminsAlone, scope: 'balance:write' },
  'tag-budgets:change': { roles: owners, scope: 'balance:write' },
  /** The list of the keys of a workspace. */
  'keys:read': { roles: people, scope: 'keys:read' },
  /** One key. */
  'key:read': { roles: peopleAndKeys, scope: 'keys:read' },
  'keys:create': { roles: members, scope: 'keys:write' },
  /** Keys that the caller made. */
  'own-keys:change': { roles: members, scope: 'keys:write' },
  /** Keys of others. */
  'keys:change': { roles: owners, scope: 'keys:write' },
  /** The status of any key, also against the object that declares it, and while the database is down. */
  'keys:override': { roles: adminsAlone, scope: 'keys:write', isOfGateway: true },
  /** Identities are above workspaces: each takes tokens, and can name any workspace. */
  'identities:read': { roles: adminsAlone, scope: undefined, isOfGateway: true },
  'identities:change': { roles: adminsAlone, scope: undefined, isOfGateway: true },
  /** People who sign in with a password. They are above workspaces. */
  'users:read': { roles: adminsAlone, scope: undefined, isOfGateway: true },
  'users:change': { roles: adminsAlone, scope: undefined, isOfGateway: true },
  'members:read': { roles: people, scope: 'members:read' },
  'members:change': { roles: owners, scope: 'members:write' },
  'service-accounts:read': { roles: people, scope: 'service-accounts:read' },
  'usage:read': { roles: peopleAndKeys, scope: 'usage:read' },
  'tags:read': { roles: people, scope: 'usage:read' },
  'requests:read': { roles: peopleAndKeys, scope: 'requests:read' },
  'models:read': { roles: peopleAndKeys, scope: 'models:read' },
  'vectors:read': { roles: adminsAlone, scope: 'models:read', isOfGateway: true },
  /** Which vectors an embedding model makes from now on. Search indexes depend on it, so a person decides. */
  'vectors:accept': { roles: adminsAlone, scope: undefined, isOfGateway: true },
  'backends:read': { roles: adminsAlone, scope: 'backends:read', isOfGateway: true },
  'problems:read': { roles: adminsAlone, scope: 'problems:read', isOfGateway: true },
  'metrics:read': { roles: adminsAlone, scope: 'metrics:read', isOfGateway: true },
  'audit:read': { roles: people, scope: 'audit:read' },
  // A stream of events ends with its session, and a service account has none.
  'events:read': { roles: people, scope: undefined },
  'playground:use': { roles: members, scope: undefined },
} as const satisfies Readonly<Record<string, RightTerms>>;

export type AccessRight = keyof typeof rights;

// oxlint-disable-next-line typescript/consistent-type-assertions -- the names of the table are the rights.
export const accessRights: readonly AccessRight[] = Object.keys(rights) as AccessRight[];

function termsOf(right: AccessRight): RightTerms {
  return rights[right];
}

/** What a caller may do, and where. */
export type Grant =
  | { readonly kind: 'admin' }
  /** Roles by the ids of workspaces. */
  | { readonly kind: 'roles'; readonly roles: ReadonlyMap<string, RoleInWorkspace> }
  /** Scopes in these workspaces, by their ids; undefined: in all. */
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[]; readonly workspaces: readonly string[] | undefined };

/** Whether a caller may do something in a workspace. */
export function allowsIn(grant: Grant, right: AccessRight, workspaceId: string): boolean {
  const { roles, scope } = termsOf(right);
  switch (grant.kind) {
    case 'admin':
      return true;
    case 'roles': {
      const role = grant.roles.get(workspaceId);
      return role !== undefined && roles.includes(role);
    }
    case 'scopes':
      return scope !== undefined && grant.scopes.includes(scope) && sees(grant, workspaceId);
  }
}

/** Whether a caller may do something anywhere: in one workspace at least, or with the whole gateway. */
export function allowsSomewhere(grant: Grant, right: AccessRight): boolean {
  const { roles, scope, isOfGateway } = termsOf(right);
  switch (grant.kind) {
    case 'admin':
      return true;
    case 'roles':
      return [...grant.roles.values()].some((role) => roles.includes(role));
    case 'scopes':
      if (isOfGateway === true && grant.workspaces !== undefined) return false;
      return scope !== undefined && grant.scopes.includes(scope);
  }
}

/** Whether a workspace exists for a caller. */
export function sees(grant: Grant, workspaceId: string): boolean {
  return seenBy(grant)?.includes(workspaceId) ?? true;
}

/** Ids of the workspaces that exist for a caller. Undefined: all. */
export function seenBy(grant: Grant): readonly string[] | undefined {
  switch (grant.kind) {
    case 'admin':
      return undefined;
    case 'roles':
      return [...grant.roles.keys()];
    case 'scopes':
      return grant.workspaces;
  }
}

/** The rights that a role has in its workspace. */
export function rightsOf(role: RoleInWorkspace): readonly AccessRight[] {
  return accessRights.filter((right) => termsOf(right).roles.includes(role));
}

/** Why a caller may not do something, with the role or the scope that it needs. `where`: the name of a workspace. */
export function refusalText(
  grant: Grant,
  right: AccessRight,
  where?: { readonly id: string; readonly name: string },
): string {
  const { roles, scope, isOfGateway } = termsOf(right);
  if (grant.kind === 'scopes') {
    if (scope === undefined) return 'A service account may not do this: it takes a person.';
    if (!grant.scopes.includes(scope)) return `This token lacks the scope ${scope}.`;
    if (isOfGateway === true) return `This takes the scope ${scope} for all workspaces.`;
    return `This token has the scope ${scope} only for other workspaces.`;
  }
  const own = grant.kind === 'roles' ? ownRole(grant.roles, where?.id) : undefined;
  if (own === 'key') return `An API key may not do this. ${neededText(roles)}`;
  const place = where === undefined ? '' : ` in the workspace "${where.name}"`;
  return own === undefined ? neededText(roles) : `${neededText(roles)} You are ${own}${place}.`;
}

/** The role in a workspace; without one, the strongest role. */
function ownRole(roles: ReadonlyMap<string, RoleInWorkspace>, workspaceId: string | undefined) {
  if (workspaceId !== undefined) return roles.get(workspaceId);
  return strongest([...roles.values()]);
}

/** Needed is the weakest of the roles that have a right. Stronger ones have it, too. */
function neededText(roles: readonly RoleInWorkspace[]): string {
  const needed = roles.findLast((role) => role !== 'key');
  if (needed === undefined) return 'Only an admin may do this.';
  return `This takes the role ${needed}${needed === 'owner' ? '' : ' or a stronger one'}.`;
}

const byStrength: readonly RoleInWorkspace[] = [...workspaceRoles, 'key'];

/** The strongest of several roles. */
export function strongest(roles: readonly RoleInWorkspace[]): RoleInWorkspace | undefined {
  return byStrength.find((role) => roles.includes(role));
}
