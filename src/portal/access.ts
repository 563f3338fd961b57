/** Who may call a route. What they see of it is in its own chapter: a member its workspaces, a key itself. */
export type Access =
  /** Without signing in. */
  | 'everyone'
  /** Admins, members and keys. */
  | 'signed-in'
  /** Admins, and members for their workspaces. */
  | 'members'
  | 'admins';

/** Every route of the admin API, and who may call it. A route that is missing here keeps the portal from starting. */
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
  'GET /api/v1/workspaces/:id/keys': 'members',
  'POST /api/v1/workspaces/:id/keys': 'members',
  'GET /api/v1/keys/:id': 'signed-in',
  'PATCH /api/v1/keys/:id': 'members',
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

/** Who may call a route of the API, named as `GET /api/v1/keys/:id`; undefined: no such route. */
export function accessTo(route: string): Access | undefined {
  return table.get(route.replace(/^HEAD /, 'GET '));
}

/** Whether somebody with the role may call it at all. */
export function admits(access: Exclude<Access, 'everyone'>, role: 'admin' | 'member' | 'key'): boolean {
  switch (access) {
    case 'signed-in':
      return true;
    case 'members':
      return role !== 'key';
    case 'admins':
      return role === 'admin';
  }
}
