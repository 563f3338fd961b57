// @suite both-databases
import { describe, expect, it } from 'vitest';
import { asBrowser, call, memberOf, samplePortal, signIn, withToken } from '../../test/support/sample-portal.ts';
import { sampleNow } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { sampleRefusal } from '../../test/support/sample-refusal.ts';
import { firstIdAt, unpackId } from '../books/core/packed-id.ts';
import { refusalRow } from '../books/core/refusal.ts';
import { writeRefusals } from '../books/ledger/refusals.ts';
import type { RefusedRequest } from '../core/refused-request.ts';
import type { OutcomeKind } from '../core/settled-request.ts';

const url = '/api/v1/requests';
const minute = 60_000;

interface Listed {
  readonly id: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly refused_in_minute: number | null;
}

const at = (moment: number): string => new Date(moment).toISOString();

const kinds: ReadonlyMap<number, OutcomeKind> = new Map([
  [3, 'failed'],
  [6, 'interrupted'],
  [8, 'cancelled'],
]);

/** Ten settled requests, one a minute, some not completed; between them refused ones. */
const ownId = unpackId(firstIdAt(sampleNow + 5 * minute), 'chat');

async function portalWithBoth() {
  const sample = await samplePortal();
  const { ids, settle, workspace, key } = sample;
  await settle(
    Array.from({ length: 10 }, (_, index) =>
      sampleOutcome({
        ...{ ...ids, requestId: index === 5 ? ownId : `r${index}`, startedAt: sampleNow + index * minute },
        kind: kinds.get(index) ?? 'completed',
        surface: index === 2 || index === 4 ? 'messages' : 'chat',
        fault: index === 6 ? 'status 503' : undefined,
        failure: index === 3 ? 'attempts_failed' : undefined,
        attemptLog: index === 3 ? '001 secret-a 10.0.0.1:80 2 - 15 status/500/overloaded' : undefined,
        correlationId: index === 3 ? '0b7c3c1e-5f07-4a4b-9b2e-1c2d3e4f5a6b' : `trace-${index}`,
      }),
    ),
  );
  const mine = { workspaceId: workspace.id, keyId: key.id, code: 'insufficient_funds', limit: 'balance' } as const;
  const others = { ...mine, workspaceId: sample.otherWorkspace.id, keyId: sample.otherKey.id };
  const refused: readonly Partial<RefusedRequest>[] = [
    { ...mine, requestId: 'q1', startedAt: sampleNow + 2.5 * minute, correlationId: 'asked', surface: 'messages' },
    { ...mine, requestId: 'q2', startedAt: sampleNow + 2.6 * minute, modelId: 'test/other' },
    { ...mine, requestId: 'q2b', startedAt: sampleNow + 2.7 * minute, modelId: 'test/other', correlationId: 'again' },
    { ...mine, requestId: 'q3', startedAt: sampleNow + 20 * minute, workspaceId: undefined, keyId: undefined },
    { ...others, requestId: 'q4', startedAt: sampleNow },
  ];
  for (const request of refused) await writeRefusals(sample.queries, [refusalRow(sampleRefusal(request))]);
  return sample;
}

async function pagesOf(server: Awaited<ReturnType<typeof samplePortal>>['server'], query: string, headers = {}) {
  const seen: Listed[] = [];
  let cursor = '';
  do {
    const { body } = await call(server, { url: `${url}?limit=2${query}${cursor}`, headers });
    const page = body as { readonly data: readonly Listed[]; readonly next_cursor: string | null };
    seen.push(...page.data);
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
  } while (cursor !== '' && seen.length < 50);
  return seen;
}

describe('the list of requests', () => {
  it('has refused requests between the settled ones, each once, and says why they failed', async () => {
    const { server } = await portalWithBoth();
    const all = await pagesOf(server, '');
    expect(all.map(({ id }) => id)).toEqual(
      ['q3', 'r9', 'r8', 'r7', 'r6', ownId, 'r4', 'r3', 'q2', 'q1', 'r2', 'r1'].concat(
        // Both began in the same millisecond.
        all.slice(-2).map(({ id }) => id),
      ),
    );
    expect(new Set(all.slice(-2).map(({ id }) => id))).toEqual(new Set(['q4', 'r0']));
    const reasons = new Map(all.map(({ id, reason }) => [id, reason]));
    expect(reasons.get('q1')).toBe('402, balance or budget used up, limit: balance of the workspace');
    expect(reasons.get('r3')).toBe('502, every attempt failed, last fault: HTTP 500, the engine reports overloaded');
    // Its row is of a version that kept only the fault.
    expect(reasons.get('r6')).toBe('last fault: HTTP 503');
    expect(reasons.get('r9')).toBeNull();
    const counts = all.filter(({ outcome }) => outcome === 'refused').map(({ id, refused_in_minute: n }) => [id, n]);
    expect(new Map(counts as [string, number][])).toEqual(new Map(Object.entries({ q3: 1, q2: 2, q1: 1, q4: 1 })));
    expect((await pagesOf(server, '&outcome=refused')).map(({ id }) => id)).toEqual(['q3', 'q2', 'q1', 'q4']);
    expect((await pagesOf(server, '&outcome=failed')).map(({ id }) => id)).toEqual(['r3']);
    // What the errors of usage count: neither cancelled nor refused ones.
    expect((await pagesOf(server, '&outcome=error')).map(({ id }) => id)).toEqual(['r6', 'r3']);
    expect((await pagesOf(server, '&outcome=settled')).map(({ id }) => id)).toEqual(
      all.filter(({ outcome }) => outcome !== 'refused').map(({ id }) => id),
    );
    expect((await pagesOf(server, '&surface=messages')).map(({ id }) => id)).toEqual(['r4', 'q1', 'r2']);
    expect((await pagesOf(server, '&surface=messages&outcome=failed')).map(({ id }) => id)).toEqual([]);
    const between = `&from=${at(sampleNow + 2 * minute)}&to=${at(sampleNow + 2.6 * minute)}`;
    expect((await pagesOf(server, between)).map(({ id }) => id)).toEqual(['q1', 'r2']);
  });

  it('shows an API key only its own requests, however it asks for others', async () => {
    const { server, accounts, settle, ids, text, otherKey, workspace } = await portalWithBoth();
    const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;
    const { key: neighbour } = await accounts.createKey({ workspace: workspace.id, rate: 1, burst: 1 }, by);
    const far = { keyId: neighbour.id, startedAt: sampleNow + 60 * minute, correlationId: 'of-neighbour' };
    const ofNeighbour = unpackId(firstIdAt(far.startedAt), 'chat');
    await settle([sampleOutcome({ ...ids, ...far, requestId: ofNeighbour })]);
    const headers = asBrowser(await signIn(server, { key: text }));
    const idsOf = async (query: string): Promise<readonly string[]> =>
      (await server.inject({ url: `${url}?limit=100${query}`, headers }))
        .json<{ data: readonly Listed[] }>()
        .data.map(({ id }) => id);
    const own = ['r9', 'r8', 'r7', 'r6', ownId, 'r4', 'r3', 'q2', 'q1', 'r2', 'r1', 'r0'];
    for (const query of ['', `&workspace=${workspace.id}`, `&key=${ids.keyId}`]) {
      expect(await idsOf(query)).toEqual(own);
    }
    for (const query of [`&search=${ofNeighbour}`, '&search=of-neighbour', '&search=q4'])
      expect(await idsOf(query)).toEqual([]);
    const csv = await server.inject({ url, headers: { ...headers, accept: 'text/csv' } });
    expect(csv.body).toContain('r9');
    expect(csv.body).not.toContain(ofNeighbour);
    const statusOf = async (path: string) => (await server.inject({ url: `${url}${path}`, headers })).statusCode;
    for (const key of [neighbour.id, otherKey.id]) expect(await statusOf(`?key=${key}`)).toBe(404);
    const details = [ownId, 'q1', ofNeighbour, 'q3', 'q4', 'of-neighbour'];
    expect(await Promise.all(details.map((id) => statusOf(`/${id}`)))).toEqual([200, 200, 404, 404, 404, 404]);
    // A person of the workspace sees both keys.
    const member = asBrowser(await memberOf({ accounts }, workspace.id));
    expect((await server.inject({ url: `${url}/${ofNeighbour}`, headers: member })).statusCode).toBe(200);
  });

  it('shows a member only its workspace, and nothing that an engine said', async () => {
    const sample = await portalWithBoth();
    const headers = asBrowser(await memberOf(sample, sample.workspace.id));
    const reply = await sample.server.inject({ url: `${url}?limit=100`, headers });
    const { data } = reply.json<{ data: readonly Listed[] }>();
    expect(data.map(({ id }) => id)).toEqual(['r9', 'r8', 'r7', 'r6', ownId, 'r4', 'r3', 'q2', 'q1', 'r2', 'r1', 'r0']);
    expect(data.find(({ id }) => id === 'r3')?.reason).toBe('502, every attempt failed, last fault: HTTP 500');
    expect(reply.body).not.toMatch(/overloaded|secret-a|10\.0\.0\.1/);
  });

  it('is searched by id and by x-request-id, a UUID or not, in the ledger and among the refused', async () => {
    const { server } = await portalWithBoth();
    for (const [search, ids] of [
      [ownId, [ownId]],
      ['trace-7', ['r7']],
      ['0b7c3c1e-5f07-4a4b-9b2e-1c2d3e4f5a6b', ['r3']],
      ['asked', ['q1']],
      ['q2', ['q2']],
      ['again', ['q2b']],
      ['q2b', ['q2b']],
      ['trace-7&outcome=failed', []],
      ['trace-7&surface=messages', []],
      [`${ownId}&surface=chat`, [ownId]],
      [`${ownId}&surface=messages`, []],
      ['asked&surface=chat', []],
      ['asked&surface=messages', ['q1']],
      ['nothing', []],
    ] as const) {
      expect([search, (await pagesOf(server, `&search=${search}`)).map(({ id }) => id)]).toEqual([search, ids]);
    }
  });

  it('is exported as CSV, the same requests as in the list, and names are no formulas', async () => {
    const { server, accounts, key } = await portalWithBoth();
    const by = { actor: { kind: 'command-line', name: 'tester' }, now: sampleNow } as const;
    await accounts.changeKey(key.id, { name: '=1+1' }, by);
    const reply = await server.inject({
      url: `${url}?workspace=acme`,
      headers: { ...withToken, accept: 'text/csv' },
    });
    expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [head = '', ...lines] = reply.body.trim().split('\n');
    const place = (name: string): number => head.split(',').indexOf(name);
    expect(lines.map((line) => line.split(',')[place('id')])).toEqual(
      (await pagesOf(server, '&workspace=acme')).map(({ id }) => id),
    );
    expect(lines[0]?.split(',')[place('key_name')]).toBe("'=1+1");
    const { body } = await call(server, { url: `/api/v1/usage?workspace=acme` });
    const { cost } = (body as { data: readonly { cost: string }[] }).data[0] ?? { cost: '' };
    const costs = lines.map((line) => line.split(',')[place('cost')] ?? '');
    const pico = (usd: string): bigint => BigInt(Math.round(Number(usd) * 1e12));
    expect(costs.reduce((sum, one) => sum + pico(one), 0n)).toBe(pico(cost));
  });
});

it('a request is shown from the books alone: one that was refused, and one that failed', async () => {
  const { server, settle, ids } = await portalWithBoth();
  const requestId = unpackId(firstIdAt(sampleNow + 30 * minute), 'chat');
  const attemptLog = '001 a 10.0.0.1:80 2 - 15 status/500';
  await settle([sampleOutcome({ ...ids, requestId, kind: 'failed', failure: 'attempts_failed', attemptLog })]);
  const detail = async (id: string) => (await call(server, { url: `${url}/${id}` })).body;
  const refused = {
    id: 'q1',
    source: 'ledger',
    outcome: 'refused',
    why: '402, balance or budget used up, limit: balance of the workspace',
    failure: { code: 'insufficient_funds', limit: 'balance' },
    attempts: [],
  };
  expect(await detail('q1')).toMatchObject({ request: null, story: { ...refused, refused_in_minute: 1 }, matches: [] });
  expect(await detail('again')).toMatchObject({ request: null, story: { id: 'q2b', refused_in_minute: 2 } });
  expect(await detail(requestId)).toMatchObject({
    request: { id: requestId, outcome: 'failed' },
    story: { source: 'ledger', attempts: [{ endpoint: '10.0.0.1:80', fault: { status: 500 } }] },
  });
  expect(await detail(ownId)).toMatchObject({ request: { id: ownId }, story: { source: 'ledger', attempts: null } });
});
