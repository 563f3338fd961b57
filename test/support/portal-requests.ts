import type { InjectOptions } from 'fastify';
import type { accessTable } from '../../src/portal/access.ts';
import { adminToken, type samplePortal } from './sample-portal.ts';

type Sample = Pick<Awaited<ReturnType<typeof samplePortal>>, 'workspace' | 'key' | 'member'>;

/** A request of each route that works for an admin, about the workspace "acme". */
export function portalRequests({
  workspace,
  key,
  member,
}: Sample): Readonly<Record<keyof typeof accessTable, InjectOptions>> {
  const api = '/api/v1';
  const acme = `${api}/workspaces/${workspace.id}`;
  return {
    'GET /api/openapi.json': { url: '/api/openapi.json' },
    'GET /api/v1/sign-in': { url: `${api}/sign-in` },
    'POST /api/v1/session': { method: 'POST', url: `${api}/session`, payload: { token: adminToken } },
    'POST /api/v1/invitation': {
      ...{ method: 'POST', url: `${api}/invitation`, payload: { token: 'none', password: 'correct horse battery' } },
    },
    'GET /api/v1/oidc/sign-in': { url: `${api}/oidc/sign-in` },
    'GET /api/v1/oidc/callback': { url: `${api}/oidc/callback` },
    'GET /api/v1/session': { url: `${api}/session` },
    'DELETE /api/v1/session': { method: 'DELETE', url: `${api}/session` },
    'GET /api/v1/workspaces': { url: `${api}/workspaces` },
    'POST /api/v1/workspaces': { method: 'POST', url: `${api}/workspaces`, payload: { name: 'new' } },
    'GET /api/v1/workspaces/:id': { url: acme },
    'PATCH /api/v1/workspaces/:id': { method: 'PATCH', url: acme, payload: { max_in_flight: 9 } },
    'GET /api/v1/workspaces/:id/credits': { url: `${acme}/credits` },
    'POST /api/v1/workspaces/:id/credits': { method: 'POST', url: `${acme}/credits`, payload: { amount: '1' } },
    'GET /api/v1/workspaces/:id/statements/:month': { url: `${acme}/statements/2026-07` },
    'GET /api/v1/workspaces/:id/alerts': { url: `${acme}/alerts` },
    'POST /api/v1/workspaces/:id/thresholds': {
      ...{ method: 'POST', url: `${acme}/thresholds`, payload: { percents: [90] } },
    },
    'GET /api/v1/workspaces/:id/tag-budgets': { url: `${acme}/tag-budgets` },
    'POST /api/v1/workspaces/:id/tag-budgets': {
      ...{ method: 'POST', url: `${acme}/tag-budgets` },
      payload: { tag: 'team=search', budget: { limit: '5', period: 'month' } },
    },
    'GET /api/v1/workspaces/:id/keys': { url: `${acme}/keys` },
    'POST /api/v1/workspaces/:id/keys': { method: 'POST', url: `${acme}/keys`, payload: {} },
    'GET /api/v1/workspaces/:id/members': { url: `${acme}/members` },
    'POST /api/v1/workspaces/:id/members': {
      ...{ method: 'POST', url: `${acme}/members`, payload: { address: 'new@example.com', role: 'viewer' } },
    },
    'PATCH /api/v1/workspaces/:id/members/:member': {
      ...{ method: 'PATCH', url: `${acme}/members/${member.id}`, payload: { role: 'member' } },
    },
    'DELETE /api/v1/workspaces/:id/members/:member': { method: 'DELETE', url: `${acme}/members/${member.id}` },
    'GET /api/v1/keys/:id': { url: `${api}/keys/${key.id}` },
    'PATCH /api/v1/keys/:id': { method: 'PATCH', url: `${api}/keys/${key.id}`, payload: { name: 'new' } },
    'POST /api/v1/keys/:id/rotate': { method: 'POST', url: `${api}/keys/${key.id}/rotate`, payload: {} },
    'POST /api/v1/keys/:id/override': {
      ...{ method: 'POST', url: `${api}/keys/${key.id}/override`, payload: { status: 'active' } },
    },
    'POST /api/v1/keys/:id/revoke': { method: 'POST', url: `${api}/keys/${key.id}/revoke` },
    'GET /api/v1/service-accounts': { url: `${api}/service-accounts?workspace=acme` },
    'GET /api/v1/identities': { url: `${api}/identities` },
    'GET /api/v1/identities/:id/accounts': { url: `${api}/identities/nothing/accounts` },
    'POST /api/v1/identities': {
      ...{ method: 'POST', url: `${api}/identities` },
      payload: { name: 'new', issuer: 'cluster', audience: 'weir', match: ['true'], workspace: 'acme' },
    },
    'PATCH /api/v1/identities/:id': { method: 'PATCH', url: `${api}/identities/nothing`, payload: { rate: 9 } },
    'GET /api/v1/usage': { url: `${api}/usage?workspace=acme` },
    'GET /api/v1/tags': { url: `${api}/tags?workspace=acme` },
    'GET /api/v1/requests': { url: `${api}/requests?workspace=acme` },
    'GET /api/v1/requests/:id': { url: `${api}/requests/nothing` },
    'GET /api/v1/models': { url: `${api}/models` },
    'GET /api/v1/models/history': { url: `${api}/models/history?model=a/b` },
    'GET /api/v1/models/vectors': { url: `${api}/models/vectors` },
    'POST /api/v1/models/accept-vectors': {
      ...{ method: 'POST', url: `${api}/models/accept-vectors`, payload: { model: 'a/b' } },
    },
    'GET /api/v1/backends': { url: `${api}/backends` },
    'GET /api/v1/problems': { url: `${api}/problems` },
    'GET /api/v1/top': { url: `${api}/top` },
    'GET /api/v1/audit': { url: `${api}/audit?workspace=acme` },
    'GET /api/v1/events': { url: `${api}/events`, payloadAsStream: true },
    'GET /api/v1/users': { url: `${api}/users` },
    'POST /api/v1/users': { method: 'POST', url: `${api}/users`, payload: { address: 'ann@example.com' } },
    'DELETE /api/v1/users/:user': { method: 'DELETE', url: `${api}/users/user_0` },
    'POST /api/v1/playground/chat': {
      method: 'POST',
      url: `${api}/playground/chat?workspace=${workspace.id}`,
      payload: { model: 'a/b', messages: [] },
    },
    'POST /api/v1/playground/embeddings': {
      method: 'POST',
      url: `${api}/playground/embeddings?workspace=${workspace.id}`,
      payload: { model: 'a/b', input: 'a' },
    },
  };
}
