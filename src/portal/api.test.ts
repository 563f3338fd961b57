// @suite both-databases
import { describe, expect, it } from 'vitest';
import { operatorRefusals, type RefusalCode } from '../books/core/operator-refusals.ts';
import {
  adminToken,
  asBrowser,
  call,
  memberOf,
  samplePortal,
  signIn,
  withToken,
} from '../../test/support/sample-portal.ts';
import { sampleNow } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { sampleStory } from '../../test/support/sample-story.ts';
import type { Story } from '../telemetry/core/story.ts';

const api = '/api/v1';
const hour = 3_600_000;

describe('errors', () => {
  it('have the envelope of the service and name the field', async () => {
    const { server } = await samplePortal();
    for (const [request, status, field, message] of [
      [
        { method: 'POST', url: `${api}/workspaces`, payload: { name: 'new', credit: 'much' } },
        400,
        'credit',
        /expected an amount/,
      ],
      [{ method: 'POST', url: `${api}/workspaces`, payload: { name: 'a b' } }, 400, 'name', /cannot be the name/],
      [{ method: 'POST', url: `${api}/workspaces`, payload: { name: 'acme' } }, 409, 'name', /already a workspace/],
      [
        { method: 'POST', url: `${api}/workspaces/acme/keys`, payload: { budget: { limit: '-1', period: 'day' } } },
        400,
        'budget.limit',
        /amount/,
      ],
      [
        { method: 'POST', url: `${api}/workspaces/acme/keys`, payload: { models: ['no model'] } },
        400,
        'models',
        /neither a model/,
      ],
      [
        { method: 'POST', url: `${api}/workspaces/acme/keys`, payload: { expires_at: '2020-01-01' } },
        400,
        'expires_at',
        /has passed/,
      ],
      [
        { method: 'POST', url: `${api}/workspaces/acme/keys`, payload: { nme: 'x' } },
        400,
        'nme',
        /^nme: unknown field, expected one of: name, /,
      ],
      [{ method: 'PATCH', url: `${api}/workspaces/acme`, payload: {} }, 400, undefined, /expected status/],
      [
        { method: 'POST', url: `${api}/workspaces/acme/credits`, payload: { amount: 5 } },
        400,
        'amount',
        'amount: expected text, got a number',
      ],
      [
        { method: 'POST', url: `${api}/workspaces/acme/credits`, payload: {} },
        400,
        'amount',
        /required, expected text/,
      ],
      [
        { method: 'POST', url: `${api}/session`, payload: { token: 5 } },
        400,
        undefined,
        /expected either token or key/,
      ],
      [
        { method: 'POST', url: `${api}/workspaces/acme/credits`, payload: { amount: '-1' } },
        400,
        'note',
        /note with the reason/,
      ],
      [
        { method: 'POST', url: `${api}/workspaces/acme/credits`, payload: { amount: '-11', note: 'x' } },
        400,
        'amount',
        /books allow/,
      ],
      [
        { method: 'PATCH', url: `${api}/workspaces/nobody`, payload: { status: 'suspended' } },
        404,
        'workspace',
        /no workspace/,
      ],
      [{ url: `${api}/workspaces/nobody` }, 404, 'workspace', /no workspace/],
      [{ url: `${api}/keys/key_none` }, 404, 'key', /no key/],
      [{ url: `${api}/usage?by=day,colour` }, 400, 'by', /expected any of hour, day/],
      [{ url: `${api}/usage?by=day,day` }, 400, 'by', /each once/],
      [{ url: `${api}/usage?from=2026-07-01T12:30:00Z` }, 400, 'from', /beginning of a UTC hour/],
      [{ url: `${api}/workspaces?limit=0` }, 400, 'limit', /expected at least 1/],
      [{ url: `${api}/workspaces?limit=many` }, 400, 'limit', 'limit: expected a number, got something else'],
      [{ url: `${api}/requests?cursor=x` }, 400, 'cursor', /next_cursor/],
      [{ url: `${api}/audit?cursor=x` }, 400, 'cursor', /next_cursor/],
      [{ url: `${api}/usage?cursor=x` }, 400, 'cursor', /next_cursor/],
      [{ url: `${api}/workspaces/acme/keys?cursor=x` }, 400, 'cursor', /next_cursor/],
    ] as const) {
      const reply = await call(server, request);
      const { error } = reply.body as { error: { message: string; type: string; code: RefusalCode; field?: string } };
      expect([request.url, reply.status, error.field], error.message).toEqual([request.url, status, field]);
      expect(operatorRefusals[error.code][0]).toBe(status);
      expect(error.message).toMatch(message);
      expect(error.message).not.toMatch(/`weir|--/);
      expect(error.type).toBe('invalid_request_error');
    }
  });

  it('name a body that is no JSON, and a form of another site', async () => {
    const { server } = await samplePortal();
    const url = `${api}/workspaces`;
    for (const [type, status] of [
      ['application/json', 400],
      ['text/plain', 415],
      ['application/x-www-form-urlencoded', 415],
    ] as const) {
      const headers = { ...withToken, 'content-type': type };
      const reply = await server.inject({ method: 'POST', url, headers, payload: '{"name":' });
      expect([type, reply.statusCode]).toEqual([type, status]);
      expect(reply.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    }
  });
});

describe('workspaces and credits', () => {
  it('are made, changed and filled, and the audit trail names the author', async () => {
    const { server, clock } = await samplePortal();
    const made = await call(server, {
      method: 'POST',
      url: `${api}/workspaces`,
      payload: { name: 'web', credit: '2.50' },
    });
    expect(made).toMatchObject({
      status: 201,
      body: { name: 'web', status: 'active', balance: '2.5', max_in_flight: 256 },
    });
    const { id } = made.body as { id: string };
    const url = `${api}/workspaces/${id}`;
    expect(
      await call(server, { method: 'PATCH', url, payload: { status: 'suspended', max_in_flight: 3 } }),
    ).toMatchObject({ body: { status: 'suspended', max_in_flight: 3 } });
    clock.advance(1);
    const credited = await call(server, {
      method: 'POST',
      url: `${url}/credits`,
      payload: { amount: '-0.5', note: 'order 7' },
    });
    expect(credited).toMatchObject({
      status: 201,
      body: { credit: { amount: '-0.5', note: 'order 7' }, workspace: { balance: '2' } },
    });
    const credits = await call(server, { url: `${url}/credits` });
    expect(credits.body).toMatchObject({
      data: [{ amount: '-0.5' }, { amount: '2.5', note: null }],
      next_cursor: null,
    });
    const { data } = (await call(server, { url: `${api}/audit?workspace=${id}` })).body as {
      data: { action: string; actor: object }[];
    };
    expect(data.map(({ action }) => action)).toEqual([
      ...['workspace.credit', 'workspace.limits', 'workspace.suspend', 'workspace.create'],
    ]);
    for (const { actor } of data) expect(actor).toEqual({ kind: 'admin-token', name: 'admin token' });
  });

  it('get a credit once, however often it is sent, by its idempotency key', async () => {
    const { server } = await samplePortal();
    const url = `${api}/workspaces/acme/credits`;
    const send = (amount: string, key: string) =>
      call(server, { method: 'POST', url, payload: { amount, note: 'order 8' }, headers: { 'idempotency-key': key } });
    const replies = await Promise.all([send('1', 'a'), send('1', 'a'), send('1', 'a'), send('1', 'b')]);
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const ids = replies.map(({ body }) => (body as { credit: { id: string } }).credit.id);
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect((await call(server, { url: `${api}/workspaces/acme` })).body).toMatchObject({ balance: '12' });
    expect(await send('2', 'a')).toMatchObject({ status: 409, body: { error: { field: 'idempotency-key' } } });
  });

  it('are listed page by page', async () => {
    const { server, accounts } = await samplePortal();
    const by = { actor: { kind: 'command-line', name: 'x' }, now: sampleNow } as const;
    for (const name of ['b', 'c', 'd']) await accounts.createWorkspace({ name, credit: 0n, maxInFlight: 1 }, by);
    const names: string[] = [];
    let cursor = '';
    for (let pages = 0; pages < 9; pages += 1) {
      const { body } = await call(server, { url: `${api}/workspaces?limit=2${cursor}` });
      const { data, next_cursor: next } = body as { data: { name: string }[]; next_cursor: string | null };
      names.push(...data.map(({ name }) => name));
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(names).toEqual(['acme', 'b', 'c', 'd', 'other']);
  });
});

describe('keys', () => {
  it('show their text once, work for a sign-in, and are changed field by field', async () => {
    const { server } = await samplePortal();
    const url = `${api}/workspaces/acme/keys`;
    const payload = {
      name: 'CI',
      budget: { limit: '5', period: 'month' },
      expires_at: '2026-12-01',
      models: ['Qwen/*'],
    };
    const made = await call(server, { method: 'POST', url, payload });
    expect(made.body).toMatchObject({
      ...{ workspace: 'acme', name: 'CI', status: 'active', budget: { limit: '5', period: 'month' }, spent: '0' },
      ...{ expires_at: '2026-12-01T00:00:00.000Z', models: ['qwen/*'], rate: 100, burst: 200, last_used_at: null },
    });
    const { id, key, prefix } = made.body as { id: string; key: string; prefix: string };
    expect(key).toMatch(/^sk-weir-\w{49}$/);
    expect(key.startsWith(prefix)).toBe(true);
    expect(prefix).toHaveLength(12);
    for (const at of [`${api}/keys/${id}`, url, `${api}/audit`]) {
      const { body } = await call(server, { url: at });
      expect(JSON.stringify(body)).not.toContain(key);
    }
    const change = { name: null, budget: null, models: null, expires_at: null, rate: 7, status: 'suspended' };
    expect((await call(server, { method: 'PATCH', url: `${api}/keys/${id}`, payload: change })).body).toMatchObject({
      ...{ name: null, budget: null, models: null, expires_at: null, rate: 7, burst: 200, status: 'suspended' },
    });
    expect(made.body).toMatchObject({ thresholds: [50, 80, 95] });
    for (const [thresholds, set] of [
      ...[
        [
          [90, 10],
          [10, 90],
        ] as const,
        [[], []] as const,
        [null, [50, 80, 95]] as const,
      ],
    ]) {
      await call(server, { method: 'PATCH', url: `${api}/keys/${id}`, payload: { thresholds } });
      expect((await call(server, { url: `${api}/keys/${id}` })).body).toMatchObject({ thresholds: set, rate: 7 });
    }
    expect(
      await call(server, { method: 'PATCH', url: `${api}/keys/${id}`, payload: { thresholds: [0], rate: 8 } }),
    ).toMatchObject({ status: 400, body: { error: { field: expect.stringMatching(/thresholds/) } } });
    expect(
      (await call(server, { method: 'PATCH', url: `${api}/keys/${id}`, payload: { status: 'active' } })).body,
    ).toMatchObject({
      ...{ rate: 7, status: 'active' },
    });
    await call(server, { method: 'POST', url: `${api}/keys/${id}/revoke` });
    expect(
      await call(server, { method: 'PATCH', url: `${api}/keys/${id}`, payload: { name: 'x', status: 'active' } }),
    ).toMatchObject({
      status: 409,
      body: { error: { field: 'status' } },
    });
    // All of a change or nothing of it.
    expect((await call(server, { url: `${api}/keys/${id}` })).body).toMatchObject({ name: null, status: 'revoked' });
  });

  it('see their own settings and usage after a sign-in, and nothing else', async () => {
    const { server, settle, ids, key, text, otherKey } = await samplePortal();
    await settle([sampleOutcome({ ...ids, requestId: 'a' })]);
    const headers = asBrowser(await signIn(server, { key: text }));
    expect((await server.inject({ url: `${api}/session`, headers })).json()).toMatchObject({
      ...{ role: 'key', key_id: key.id, workspaces: [{ name: 'acme' }] },
    });
    expect((await server.inject({ url: `${api}/keys/${key.id}`, headers })).json()).toMatchObject({
      spent: '0.0000015',
    });
    expect((await server.inject({ url: `${api}/keys/${otherKey.id}`, headers })).statusCode).toBe(404);
    expect((await server.inject({ url: `${api}/usage?by=key`, headers })).json()).toMatchObject({
      data: [{ key: key.id, requests: 1, cost: '0.0000015' }],
    });
    for (const query of [`key=${otherKey.id}`, 'workspace=acme', 'workspace=other']) {
      expect((await server.inject({ url: `${api}/usage?${query}`, headers })).statusCode).toBeGreaterThanOrEqual(403);
    }
  });
});

it('keys with a spent budget are listed alone, and say when the budget begins again', async () => {
  const { server, settle, ids, key } = await samplePortal();
  await settle([sampleOutcome({ ...ids, requestId: 'a' })]);
  const url = `${api}/workspaces/acme/keys?spent=true`;
  const change = (payload: object) => call(server, { method: 'PATCH', url: `${api}/keys/${key.id}`, payload });
  const spent = async () => ((await call(server, { url })).body as { data: { id: string }[] }).data.map(({ id }) => id);
  await change({ budget: { limit: '1', period: 'month' } });
  expect(await spent()).toEqual([]);
  expect((await change({ budget: { limit: '0.0000015', period: 'month' } })).body).toMatchObject({
    budget_ends_at: '2026-08-01T00:00:00.000Z',
  });
  expect(await spent()).toEqual([key.id]);
  await change({ not_enforced: ['budget'] });
  expect(await spent()).toEqual([]);
  expect((await change({ budget: { limit: '1', period: 'total' } })).body).toMatchObject({ budget_ends_at: null });
});

describe('usage and requests', () => {
  it('are summed by the dimensions, with errors and times to the first token, as JSON and CSV', async () => {
    const { server, settle, ids } = await samplePortal();
    const at = sampleNow;
    await settle([
      ...Array.from({ length: 19 }, (_, index) =>
        sampleOutcome({ ...ids, requestId: `fast${index}`, startedAt: at + index, firstTokenMs: 90 }),
      ),
      sampleOutcome({ ...ids, requestId: 'slow', surface: 'messages', startedAt: at + hour, firstTokenMs: 900 }),
      sampleOutcome({
        ...ids,
        requestId: 'bad',
        kind: 'failed',
        startedAt: at + hour,
        firstTokenMs: undefined,
        cost: 0n,
      }),
    ]);
    const url = `${api}/usage?from=2026-07-01&to=2026-07-02`;
    const total = (await call(server, { url })).body as { data: Record<string, unknown>[] };
    expect(total.data).toHaveLength(1);
    expect(total.data[0]).toMatchObject({ requests: 21, errors: 1, cost: '0.00003', day: null });
    expect(total.data[0]?.['first_token_p50_ms']).toBeGreaterThan(50);
    expect(total.data[0]?.['first_token_p50_ms']).toBeLessThanOrEqual(100);
    const bySurface = (await call(server, { url: `${url}&by=surface,hour` })).body as {
      data: Record<string, unknown>[];
    };
    expect(bySurface.data.map((line) => [line['surface'], line['hour'], line['requests']])).toEqual([
      ['chat', '2026-07-01T00:00Z', 19],
      ['chat', '2026-07-01T01:00Z', 1],
      ['messages', '2026-07-01T01:00Z', 1],
    ]);
    expect(bySurface.data[2]?.['first_token_p95_ms']).toBeGreaterThan(800);
    expect(bySurface.data[1]?.['first_token_p95_ms']).toBeNull();
    const paged = (await call(server, { url: `${url}&by=hour&limit=1` })).body as { next_cursor: string };
    const rest = await call(server, { url: `${url}&by=hour&limit=1&cursor=${paged.next_cursor}` });
    expect(rest.body).toMatchObject({ data: [{ hour: '2026-07-01T01:00Z' }], next_cursor: null });
    const csv = await server.inject({ url: `${url}&by=day,key`, headers: { ...withToken, accept: 'text/csv' } });
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(csv.body.split('\n')[0]).toBe(
      'day,key,key_name,key_workspace,requests,errors,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,web_searches,cost,first_token_p50_ms,first_token_p95_ms',
    );
    expect(csv.body.split('\n')[1]).toMatch(new RegExp(`^2026-07-01,${ids.keyId},,acme,21,1,`));
  });

  it('are listed page by page, newest first, without a gap or a row twice, by outcome too', async () => {
    const { server, settle, ids } = await samplePortal();
    const made = Array.from({ length: 25 }, (_, index) =>
      sampleOutcome({
        ...{ ...ids, requestId: `r${index}`, startedAt: sampleNow + Math.floor(index / 5) * hour },
        kind: index % 5 === 0 ? 'failed' : 'completed',
      }),
    );
    await settle(made);
    for (const [query, count] of [
      ['', 25],
      ['&workspace=acme', 25],
      ['&outcome=failed', 5],
      ['&outcome=completed&model=QWEN/qwen3-8b', 20],
    ] as const) {
      const seen: string[] = [];
      let cursor = '';
      do {
        const { body } = await call(server, { url: `${api}/requests?limit=3${query}${cursor}` });
        const page = body as { data: { id: string; started_at: string }[]; next_cursor: string | null };
        seen.push(...page.data.map(({ id }) => id));
        cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
      } while (cursor !== '' && seen.length < 50);
      expect([query, seen.length, new Set(seen).size]).toEqual([query, count, count]);
    }
  });
});

describe('the story of a request', () => {
  it('is complete for an admin, and without names and faults of engines for a member', async () => {
    const fault = {
      ...({ kind: 'status', status: 500, engine_error: 'overloaded', about: 'messages' } as const),
      envoy_flags: 'UC',
      cause: 'full' as const,
    };
    const whole = sampleStory();
    const [attempt] = whole.attempts ?? [];
    if (attempt === undefined) throw new Error('the sample has no attempt');
    const { endpoint } = attempt;
    const failed = { ...attempt, route: 'test/model@b', backend: 'b', end: 'failed', fault } as const;
    const stories: Story[] = [];
    const sample = await samplePortal({ stories });
    stories.push({ ...whole, workspace: sample.workspace.id, attempts: [failed, attempt, failed] });
    const url = `${api}/requests/${whole.id}`;
    const seen = await call(sample.server, { url });
    const said = 'it is full (HTTP 500, about messages)';
    const whys = [said, null, said];
    expect(seen.body).toEqual({
      request: null,
      story: {
        ...stories[0],
        attempts: stories[0]?.attempts?.map((one, index) => ({ ...one, why_failed: whys[index] })),
        why: null,
        action: null,
      },
      matches: [],
    });
    const headers = asBrowser(await memberOf(sample, sample.workspace.id));
    const { story } = (await sample.server.inject({ url, headers })).json<{ story: Story }>();
    expect(story).toEqual({
      ...{ ...whole, workspace: sample.workspace.id, route: null, plan: null, why: null, action: null },
      attempts: ['route 1', 'route 2', 'route 1'].map((route, index) => ({
        ...{ ...attempt, route, backend: null, endpoint: null, end: index === 1 ? 'complete' : 'failed' },
        fault:
          index === 1
            ? null
            : { kind: 'status', status: 500, engine_error: null, about: null, envoy_flags: null, cause: null },
        why_failed: index === 1 ? null : 'status (HTTP 500)',
      })),
    });
    expect(JSON.stringify(story)).not.toMatch(new RegExp(`@|${endpoint}|overloaded`));
    const others = asBrowser(await memberOf(sample, sample.otherWorkspace.id));
    expect((await sample.server.inject({ url, headers: others })).statusCode).toBe(404);
  });

  it('is not hidden by a stranger or another workspace that sends its id as x-request-id', async () => {
    const stories: Story[] = [];
    const sample = await samplePortal({ stories });
    const own = { ...sampleStory(), workspace: sample.workspace.id };
    stories.push({
      ...sampleStory(),
      id: 'chatcmpl-theirs',
      correlation_id: own.id,
      workspace: sample.otherWorkspace.id,
    });
    stories.push({ ...sampleStory(), id: 'chatcmpl-stranger', correlation_id: own.id, workspace: null, key: null });
    stories.push(own);
    const url = `${api}/requests/${own.id}`;
    const owner = asBrowser(await memberOf(sample, sample.workspace.id));
    expect((await sample.server.inject({ url, headers: owner })).json()).toMatchObject({ story: { id: own.id } });
    expect((await call(sample.server, { url })).body).toMatchObject({ story: { id: own.id }, matches: [] });
  });

  it('is found by its x-request-id among the requests of the workspace alone, and several are listed', async () => {
    const stories: Story[] = [];
    const sample = await samplePortal({ stories });
    const sent = (id: string, workspace: string | null): Story => ({
      ...sampleStory(),
      id,
      workspace,
      correlation_id: 'same',
    });
    stories.push(sent('r4', null), sent('r3', sample.workspace.id), sent('r2', sample.otherWorkspace.id));
    stories.push(sent('r1', sample.workspace.id));
    const url = `${api}/requests/same`;
    const idsFor = async (workspaceId: string): Promise<unknown> => {
      const headers = asBrowser(await memberOf(sample, workspaceId));
      const { story, matches } = (await sample.server.inject({ url, headers })).json<{
        story: Story;
        matches: Story[];
      }>();
      return [story.id, matches.map(({ id }) => id)];
    };
    expect(await idsFor(sample.workspace.id)).toEqual(['r3', ['r3', 'r1']]);
    expect(await idsFor(sample.otherWorkspace.id)).toEqual(['r2', ['r2']]);
    const { body } = await call(sample.server, { url });
    expect(body).toMatchObject({ matches: [{ id: 'r4' }, { id: 'r3' }, { id: 'r2' }, { id: 'r1' }] });
  });
});

describe('signing in', () => {
  it('is refused after 30 failures from an address, but never the right token, and never a browser that is signed in', async () => {
    const { server, clock } = await samplePortal();
    const browser = await signIn(server, { token: adminToken });
    const wrong = async () =>
      (await server.inject({ method: 'POST', url: `${api}/session`, payload: { token: 'x' } })).statusCode;
    const statuses: number[] = [];
    for (let count = 0; count < 31; count += 1) statuses.push(await wrong());
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429]);
    expect((await server.inject({ url: `${api}/session`, headers: asBrowser(browser) })).statusCode).toBe(200);
    const again = await server.inject({
      ...{ method: 'POST', url: `${api}/session`, payload: { token: adminToken } },
      headers: asBrowser(browser),
    });
    expect(again.statusCode).toBe(201);
    expect((await call(server, { url: `${api}/session` })).status).toBe(200);
    const bearer = { authorization: 'Bearer wrong' };
    const refused = await server.inject({ url: `${api}/session`, headers: bearer });
    expect([refused.statusCode, Number(refused.headers['retry-after'])]).toEqual([429, 600]);
    clock.advance(600_000);
    expect(await wrong()).toBe(401);
  });

  it('gives a cookie that scripts and other sites do not get, for TLS alone where there is TLS', async () => {
    for (const [hops, proto, expected] of [
      [0, 'https', 'weir_session=x; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict'],
      [1, 'https', '__Host-weir_session=x; Max-Age=43200; Path=/; HttpOnly; Secure; SameSite=Strict'],
      [1, 'http', 'weir_session=x; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict'],
    ] as const) {
      const { server } = await samplePortal({}, { hops });
      const headers = { 'x-forwarded-proto': proto, 'x-forwarded-for': '203.0.113.9' };
      const reply = await server.inject({
        method: 'POST',
        url: `${api}/session`,
        headers,
        payload: { token: adminToken },
      });
      expect(String(reply.headers['set-cookie']).replace(/=[^;]+/, '=x')).toBe(expected);
    }
  });

  it('ends at once with its key, its hours, and its sign-out', async () => {
    const { server, accounts, key, text, clock, portal } = await samplePortal();
    const by = { actor: { kind: 'command-line', name: 'x' }, now: sampleNow } as const;
    const status = async (headers: Record<string, string>) =>
      (await server.inject({ url: `${api}/session`, headers })).statusCode;
    const left = asBrowser(await signIn(server, { token: adminToken }));
    const out = await server.inject({ method: 'DELETE', url: `${api}/session`, headers: left });
    expect([out.statusCode, String(out.headers['set-cookie'])]).toEqual([
      204,
      expect.stringContaining('Expires=Thu, 01 Jan 1970'),
    ]);
    expect(await status(left)).toBe(401);
    const ofKey = asBrowser(await signIn(server, { key: text }));
    expect(await status(ofKey)).toBe(200);
    await accounts.changeKey(key.id, { status: 'revoked' }, by);
    expect(await status(ofKey)).toBe(401);
    await expect(signIn(server, { key: text })).rejects.toThrow('not signed in');
    const old = asBrowser(await signIn(server, { token: adminToken }));
    clock.advance(12 * hour - 1);
    expect(await status(old)).toBe(200);
    clock.advance(1);
    expect(await status(old)).toBe(401);
    const replaced = asBrowser(await signIn(server, { token: adminToken }));
    Object.assign(portal, { adminToken: `${adminToken}-new` });
    expect(await status(replaced)).toBe(401);
  });
});
