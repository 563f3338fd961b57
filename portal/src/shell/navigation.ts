import type { Role, SessionObject } from '../../../src/portal/api/session.ts';
import { maySomewhere, type Right } from '../data/rights.ts';
import type { IconName } from './icons.tsx';

export interface Entry {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  readonly roles: readonly Role[];
  /** Undefined: any role in a workspace is enough. */
  readonly right?: Right;
  /** Only where callers without keys are let in. */
  readonly needsIdentities?: true;
}

const everybody: readonly Role[] = ['admin', 'member', 'key'];
const people: readonly Role[] = ['admin', 'member'];
const admins: readonly Role[] = ['admin'];

/** The pages in the order of the menu, in groups, with what they take. The server checks each request as well. */
const groups: readonly (readonly Entry[])[] = [
  [
    { path: '/', title: 'Overview', icon: 'overview', roles: everybody },
    { path: '/keys', title: 'Keys', icon: 'keys', roles: people },
    {
      ...{ path: '/identities', title: 'Identities', icon: 'identities', roles: people },
      ...{ right: 'identities:read', needsIdentities: true },
    },
    { path: '/usage', title: 'Usage', icon: 'usage', roles: everybody },
    { path: '/balance', title: 'Balance', icon: 'balance', roles: people },
  ],
  [
    { path: '/models', title: 'Models', icon: 'models', roles: everybody },
    { path: '/requests', title: 'Requests', icon: 'requests', roles: everybody },
    { path: '/playground', title: 'Playground', icon: 'playground', roles: people, right: 'playground:use' },
  ],
  [
    { path: '/members', title: 'Members', icon: 'members', roles: people },
    { path: '/audit', title: 'Audit log', icon: 'audit', roles: people },
    { path: '/workspaces', title: 'Workspaces', icon: 'workspaces', roles: admins },
    { path: '/top', title: 'Top', icon: 'top', roles: admins },
    { path: '/backends', title: 'Backends', icon: 'backends', roles: admins },
  ],
];

/** The groups of pages that a session sees. */
export function groupsOf(session: SessionObject): readonly (readonly Entry[])[] {
  const isSeen = ({ roles, right, needsIdentities }: Entry): boolean =>
    roles.includes(session.role) &&
    (right === undefined || maySomewhere(session, right)) &&
    (needsIdentities === undefined || session.identities);
  return groups.map((group) => group.filter(isSeen)).filter((group) => group.length > 0);
}
