// Objects of the admin API. A test names the fields that it is about.
import type { AlertObject } from '../../../src/portal/api/alerts.ts';
import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { IdentityObject } from '../../../src/portal/api/identities.ts';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import type { PortalEvent } from '../../../src/portal/api/events.ts';
import type { MemberObject } from '../../../src/portal/api/members.ts';
import type { ListedRequestObject } from '../../../src/portal/api/requests.ts';
import type { OwnWorkspaceObject, SessionObject } from '../../../src/portal/api/session.ts';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import type { WorkspaceObject } from '../../../src/portal/api/workspaces.ts';

type ProblemObject = Extract<PortalEvent, { readonly name: 'health' }>['data']['problems'][number];

/** The moment of tests that set the clock. */
export const now = '2026-07-15T12:00:00.000Z';

export const workspace: WorkspaceObject = {
  ...{ id: 'ws_1', name: 'acme', status: 'active', balance: '25', max_in_flight: 256, credit_limit: '0' },
  ...{ labels: null, tokens_per_minute: null, tag_tokens_per_minute: null, not_enforced: null, declared_by: null },
};

const session: SessionObject = {
  ...{ role: 'admin', name: 'admin', workspaces: [], key_id: null },
  ...{ csrf_token: 'csrf', expires_at: null, identities: true, gateway_url: 'https://gateway.example/v1' },
};

export const adminSession: SessionObject = session;

/** A person with these rights in the workspace of the tests. */
export function memberSession(
  role: NonNullable<OwnWorkspaceObject['role']>,
  may: OwnWorkspaceObject['may'],
): SessionObject {
  return {
    ...session,
    role: 'member',
    name: 'Ada',
    workspaces: [{ id: workspace.id, name: workspace.name, role, may }],
  };
}

export const viewerSession = memberSession('viewer', ['keys:read', 'usage:read', 'requests:read']);

export function keyObject(given: Partial<KeyObject> = {}): KeyObject {
  return {
    ...{
      id: 'key_1',
      workspace: workspace.name,
      workspace_id: workspace.id,
      name: 'CI',
      prefix: 'sk-weir-3vKq',
    },
    ...{
      status: 'active',
      budget: null,
      budget_ends_at: null,
      spent: '0',
      thresholds: [80, 100],
      rate: 100,
      burst: 200,
    },
    ...{
      tokens_per_minute: null,
      not_enforced: null,
      expires_at: null,
      models: null,
      created_at: '2026-07-01T09:00:00.000Z',
      last_used_at: null,
    },
    ...{ made_by: { kind: 'portal-user', name: 'Ada' }, declared_by: null, may_change: true },
    ...given,
  };
}

export function identityObject(given: Partial<IdentityObject> = {}): IdentityObject {
  return {
    ...{ id: 'identity_1', name: 'search', status: 'active', issuer: 'cluster', audience: 'weir' },
    ...{ match: ['claims.sub != ""'], workspace: workspace.name, workspace_claim: null, each: 'subject', tags: {} },
    ...{ bound: false, budget: null, rate: 100, burst: 200, tokens_per_minute: null, not_enforced: null },
    ...{ models: null, declared_by: null },
    ...given,
  };
}

export function memberObject(given: Partial<MemberObject> = {}): MemberObject {
  return {
    ...{ id: 'member_1', address: 'ada@example.com', name: 'Ada', role: 'owner', source: 'invitation' },
    ...{ invited_by: { kind: 'admin-token', name: 'admin' }, since: now, last_sign_in_at: null },
    ...given,
  };
}

export function modelObject(given: Partial<ModelObject> = {}): ModelObject {
  return {
    ...{ id: 'qwen/qwen3-8b', aliases: [], listed: true, state: 'available', reason: null, conditions: [] },
    ...({ kind: 'chat', dimensions: null } as const),
    ...{ owned_by: null, context_length: 32_768, input_modalities: ['text'], reasoning: null },
    ...{ parameters: ['temperature', 'stop'], tools: true, routes: null },
    pricing: { prompt: '0.0000001', completion: '0.0000004', input_cache_read: '0.00000001' },
    ...{ availability: 1, min_availability: null, tokens_per_second_p50: 80, first_token_ms_p50: 120 },
    ...given,
  };
}

export function alertObject(given: Partial<AlertObject> = {}): AlertObject {
  return {
    ...{ id: 'alert_1', kind: 'budget', key: 'key_1', key_name: 'CI', tag: null, percent: 80 },
    ...{ used: '4.1', limit: '5', at: now, delivery: 'delivered' },
    ...given,
  };
}

export function problemObject(given: Partial<ProblemObject> = {}): ProblemObject {
  return {
    ...{ id: 'p1', object: 'Backend/gpu', kind: 'backend-down', model: null, since: now, severity: 'warning' },
    ...{ title: 'refuses its key', problem: 'Not healthy: gpu refuses the credential.' },
    action: 'Correct the key in the Secret of the Backend: docs/problems.md#causes',
    ...given,
  };
}

export function usageLine(given: Partial<UsageLineObject> = {}): UsageLineObject {
  return {
    ...{ hour: null, day: null, week: null, model: null, key: null, key_name: null, key_workspace: null },
    ...{ workspace: null, surface: null, tag: null, requests: 10, errors: 0, prompt_tokens: 900 },
    ...{ completion_tokens: 100, cached_tokens: 0, reasoning_tokens: 0, web_searches: 0, cost: '1.5' },
    ...{ first_token_p50_ms: 120, first_token_p95_ms: 400 },
    ...given,
  };
}

export function requestObject(given: Partial<ListedRequestObject> = {}): ListedRequestObject {
  return {
    ...{ id: 'chatcmpl-1', correlation_id: 'trace-1', workspace: workspace.name, key: 'key_1', key_name: 'CI' },
    ...{ model: 'qwen/qwen3-8b', route: 'qwen/qwen3-8b@gpu', surface: 'chat', stream: true, outcome: 'completed' },
    ...{ reason: null, cost: '0.0004', prompt_tokens: 120, completion_tokens: 30, cached_tokens: 0 },
    ...{ reasoning_tokens: null, web_searches: null, first_token_ms: 90, duration_ms: 700, attempts: 1, routes: 1 },
    ...{ started_at: now, counted_by: 'engine', estimated: false, tags: {} },
    ...given,
  } as ListedRequestObject;
}
