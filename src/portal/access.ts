import type { AccessRight } from '../books/core/rights.ts';

/**
 * Which callers may use a route. A right: callers who have it (`src/books/core/rights.ts`). The route then checks the right in
 * the workspace that it is about.
 */
type Access =
  /** Without signing in. */
  | 'everyone'
  /** Each caller, about itself. */
  | 'signed-in'
  | AccessRight;

/** Every route of the admin API with its access. The portal does not start while a route is missing in this table. */
export const accessTable = {
  'GET /api/openapi.json': 'everyone',
  'GET /api/v1/sign-in': 'everyone',
  'POST /api/v1/session': 'everyone',
  'POST /api/v1/invitation': 'everyone',
  'GET /api/v1/oidc/sign-in': 'everyone',
  'GET /api/v1/oidc/callback': 'everyone',
  'GET /api/v1/session': 'signed-in',
  'DELETE /api/v1/session': 'signed-in',
  'GET /api/v1/workspaces': 'workspaces:read',
  'POST /api/v1/workspaces': 'workspaces:create',
  'GET /api/v1/workspaces/:id': 'workspaces:read',
  'PATCH /api/v1/workspaces/:id': 'workspaces:change',
  'GET /api/v1/workspaces/:id/credits': 'balance:read',
  'POST /api/v1/workspaces/:id/credits': 'balance:change',
  'GET /api/v1/workspaces/:id/statements/:month': 'balance:read',
  'GET /api/v1/workspaces/:id/alerts': 'balance:read',
  'POST /api/v1/workspaces/:id/thresholds': 'balance:change',
  'GET /api/v1/workspaces/:id/tag-budgets': 'balance:read',
  'POST /api/v1/workspaces/:id/tag-budgets': 'tag-budgets:change',
  'GET /api/v1/workspaces/:id/keys': 'keys:read',
  'POST /api/v1/workspaces/:id/keys': 'keys:create',
  'GET /api/v1/workspaces/:id/members': 'members:read',
  'POST /api/v1/workspaces/:id/members': 'members:change',
  'PATCH /api/v1/workspaces/:id/members/:member': 'members:change',
  'DELETE /api/v1/workspaces/:id/members/:member': 'members:change',
  'GET /api/v1/keys/:id': 'key:read',
  'PATCH /api/v1/keys/:id': 'own-keys:change',
  'POST /api/v1/keys/:id/rotate': 'own-keys:change',
  'POST /api/v1/keys/:id/revoke': 'own-keys:change',
  'POST /api/v1/keys/:id/override': 'keys:override',
  'GET /api/v1/users': 'users:read',
  'POST /api/v1/users': 'users:change',
  'DELETE /api/v1/users/:user': 'users:change',
  'GET /api/v1/service-accounts': 'service-accounts:read',
  'GET /api/v1/identities': 'identities:read',
  'GET /api/v1/identities/:id/accounts': 'identities:read',
  'POST /api/v1/identities': 'identities:change',
  'PATCH /api/v1/identities/:id': 'identities:change',
  'GET /api/v1/usage': 'usage:read',
  'GET /api/v1/tags': 'tags:read',
  'GET /api/v1/requests': 'requests:read',
  'GET /api/v1/requests/:id': 'requests:read',
  'GET /api/v1/models': 'models:read',
  'GET /api/v1/models/history': 'models:read',
  'GET /api/v1/models/vectors': 'vectors:read',
  'POST /api/v1/models/accept-vectors': 'vectors:accept',
  'GET /api/v1/backends': 'backends:read',
  'GET /api/v1/problems': 'problems:read',
  'GET /api/v1/top': 'problems:read',
  'GET /api/v1/audit': 'audit:read',
  'GET /api/v1/events': 'events:read',
  'POST /api/v1/playground/chat': 'playground:use',
  'POST /api/v1/playground/embeddings': 'playground:use',
} as const satisfies Readonly<Record<`${'GET' | 'POST' | 'PATCH' | 'DELETE'} /api/${string}`, Access>>;

const table: ReadonlyMap<string, Access> = new Map(Object.entries(accessTable));

/** The access of a route, such as `GET /api/v1/keys/:id`. Undefined: no such route. */
export function accessTo(route: string): Access | undefined {
  return table.get(route.replace(/^HEAD /, 'GET '));
}
