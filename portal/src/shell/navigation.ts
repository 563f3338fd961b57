import type { Role } from '../../../src/portal/api/session.ts';
import type { IconName } from './icons.tsx';

export interface Entry {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  readonly roles: readonly Role[];
}

const everybody: readonly Role[] = ['admin', 'member', 'key'];
const people: readonly Role[] = ['admin', 'member'];
const admins: readonly Role[] = ['admin'];

/** The pages in the order of the menu, in groups, with the roles that see them. The server checks each request as well. */
export const groups: readonly (readonly Entry[])[] = [
  [
    { path: '/', title: 'Overview', icon: 'overview', roles: everybody },
    { path: '/keys', title: 'Keys', icon: 'keys', roles: people },
    { path: '/usage', title: 'Usage', icon: 'usage', roles: everybody },
    { path: '/balance', title: 'Balance', icon: 'balance', roles: people },
  ],
  [
    { path: '/models', title: 'Models', icon: 'models', roles: people },
    { path: '/requests', title: 'Requests', icon: 'requests', roles: people },
    { path: '/playground', title: 'Playground', icon: 'playground', roles: people },
  ],
  [
    { path: '/audit', title: 'Audit log', icon: 'audit', roles: people },
    { path: '/workspaces', title: 'Workspaces', icon: 'workspaces', roles: admins },
    { path: '/backends', title: 'Backends', icon: 'backends', roles: admins },
  ],
];
