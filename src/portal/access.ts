import type { Role } from './api/session.ts';

/** Which callers may use a route. The route itself limits the objects: a member sees its workspaces, a key sees itself. */
type Access =
  /** Without signing in. */
  | 'everyone'
  /** Admins, members and keys. */
  | 'signed-in'
  /** Admins, and members for their workspaces. */
  | 'members'
  | 'admins';

/** Every route of the admin API with its access. The portal does not start while a route is missing in this table. */
export const accessTable = {
  'GET /api/openapi.json': 'everyone',
  'GET /api/v1/sign-in': 'everyone',
  'POST /api/v1/session': 'everyone',
  'GET /api/v1/oidc/sign-in': 'everyone',
  'GET /api/v1/oidc/callback': 'everyone',
  'GET /api/v1/session': 'signed-in',
  'DELETE /api/v1/session': 'signed-in',
  'GET /api/v1/workspaces': 'members',
  'POST /api/v1/workspaces': 'admins',
  'GET /api/v1/workspaces/:id': 'members',
  'PATCH /api/v1/workspaces/:id': 'admins',
  'GET /api/v1/workspaces/:id/credits': 'members',
  'POST /api/v1/workspaces/:id/credits': 'admins',
  'GET /api/v1/workspaces/:id/alerts': 'members',
  'POST /api/v1/workspaces/:id/thresholds': 'admins',
  'GET /api/v1/workspaces/:id/keys': 'members',
  'POST /api/v1/workspaces/:id/keys': 'members',
  'GET /api/v1/keys/:id': 'signed-in',
  'PATCH /api/v1/keys/:id': 'members',
  'POST /api/v1/keys/:id/rotate': 'members',
  'POST /api/v1/keys/:id/revoke': 'members',
  'GET /api/v1/usage': 'signed-in',
  'GET /api/v1/requests': 'members',
  'GET /api/v1/requests/:id': 'members',
  'GET /api/v1/models': 'members',
  'GET /api/v1/backends': 'admins',
  'GET /api/v1/problems': 'admins',
  'GET /api/v1/audit': 'members',
  'GET /api/v1/events': 'members',
  'POST /api/v1/playground/chat': 'members',
} as const satisfies Readonly<Record<`${'GET' | 'POST' | 'PATCH' | 'DELETE'} /api/${string}`, Access>>;

const table: ReadonlyMap<string, Access> = new Map(Object.entries(accessTable));

/** The access of a route, such as `GET /api/v1/keys/:id`. Undefined: no such route. */
export function accessTo(route: string): Access | undefined {
  return table.get(route.replace(/^HEAD /, 'GET '));
}

/** Whether the role may use the route. */
export function admits(access: Exclude<Access, 'everyone'>, role: Role): boolean {
  switch (access) {
    case 'signed-in':
      return true;
    case 'members':
      return role !== 'key';
    case 'admins':
      return role === 'admin';
  }
}
